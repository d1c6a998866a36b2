"""What an answer of the API server means for a write."""

import msgspec
import pytest

from dra_api_bridge.edge.api import Answer, message_of
from dra_api_bridge.edge.writer import Verdict, verdict

PATCH_DOES_NOT_APPLY = "the server rejected our request due to an error in our request"


def an_answer(status: int, message: str = "") -> Answer:
    return Answer(status, msgspec.json.encode({"kind": "Status", "message": message}))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, Verdict.TAKEN),
        (201, Verdict.TAKEN),
        (409, Verdict.STALE),
        (404, Verdict.STALE),
        (422, Verdict.REFUSED),
        (403, Verdict.REFUSED),
        (400, Verdict.REFUSED),
        (413, Verdict.REFUSED),
        (408, Verdict.AGAIN),
        (429, Verdict.AGAIN),
        (500, Verdict.AGAIN),
        (503, Verdict.AGAIN),
    ],
)
def test_every_status_has_one_meaning(status: int, expected: Verdict) -> None:
    assert verdict(an_answer(status, "why")) is expected


def test_a_json_patch_that_does_not_apply_means_that_our_view_is_old() -> None:
    assert verdict(an_answer(422, PATCH_DOES_NOT_APPLY)) is Verdict.STALE


def test_a_body_that_is_no_status_is_its_own_message() -> None:
    assert message_of(b"<html>bad gateway</html>") == "<html>bad gateway</html>"


def test_what_cannot_be_created_for_want_of_its_namespace_is_refused() -> None:
    assert verdict(an_answer(404, "namespaces not found"), creates=True) is Verdict.REFUSED
    assert verdict(an_answer(404, "gone"), creates=False) is Verdict.STALE
