"""Every name becomes one subject token, and comes back."""

from hypothesis import given
from hypothesis import strategies as st

from dra_shared.ids import escape, unescape


@given(st.text())
def test_escaping_is_reversible(name: str) -> None:
    assert unescape(escape(name)) == name


@given(st.text())
def test_an_escaped_name_is_one_subject_token(name: str) -> None:
    assert not set(escape(name)) & set(".*> \t\r\n")
    assert escape(name)


@given(st.text(), st.text())
def test_different_names_are_different_tokens(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


def test_common_names_stay_readable() -> None:
    assert escape("gpu.example.com") == "gpu_dexample_dcom"
    assert escape("worker-0") == "worker-0"
