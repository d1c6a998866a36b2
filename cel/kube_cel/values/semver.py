"""Semantic versions, with the order of semver.org: build metadata does not count."""

import re
from typing import Final

from kube_cel.errors import EvaluationError

_UINT64: Final = 2**64
_NUMBER: Final = re.compile(r"[0-9]+\Z")
_IDENTIFIER: Final = re.compile(r"[0-9A-Za-z-]+\Z")


class Semver:
    """A parsed version. ``order`` sorts as versions do."""

    __slots__ = ("build", "major", "minor", "order", "patch", "prerelease")

    def __init__(
        self, core: tuple[int, int, int], prerelease: tuple[str | int, ...], build: str
    ) -> None:
        self.major, self.minor, self.patch = core
        self.prerelease = prerelease
        self.build = build
        ranks = tuple((0, p, "") if p.__class__ is int else (1, 0, p) for p in prerelease)
        self.order = (core, not prerelease, ranks)

    def __eq__(self, other: object) -> bool:
        """Whether the two say the same, build metadata included; CEL's ``==`` is by order."""
        return isinstance(other, Semver) and self.order == other.order and self.build == other.build

    def __hash__(self) -> int:
        return hash((self.order, self.build))


def parse_semver(text: str) -> Semver:
    """The version that the text says. Raises ``EvaluationError`` for any other text."""
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) < 3:  # noqa: PLR2004 - major, minor, patch
        raise EvaluationError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    return Semver(
        (major, minor, _number(patch, "patch")),
        tuple(_identifier(p) for p in prerelease.split(".")) if dash else (),
        ".".join(_build(p) for p in build.split(".")) if plus else "",
    )


def normalized(text: str) -> str:
    """The text without a leading v and leading zeros, with missing numbers as 0."""
    text = text.removeprefix("v")
    parts = text.split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[i] = stripped if stripped and stripped[0].isdigit() else "0" + stripped
    if len(parts) < 3:  # noqa: PLR2004 - major, minor, patch
        if any(sign in parts[-1] for sign in "+-"):
            raise EvaluationError("Short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _number(text: str, what: str) -> int:
    if not _NUMBER.match(text):
        raise EvaluationError(f"Invalid character(s) found in {what} number {text!r}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{what} number must not contain leading zeroes {text!r}")
    value = int(text) if len(text) < 21 else _UINT64  # noqa: PLR2004 - longest 64-bit number
    if value >= _UINT64:
        raise EvaluationError(f"parsing {text!r}: value out of range")
    return value


def _identifier(text: str) -> str | int:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if _NUMBER.match(text):
        return _number(text, "prerelease")
    if not _IDENTIFIER.match(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {text!r}")
    return text


def _build(text: str) -> str:
    if not _IDENTIFIER.match(text):
        raise EvaluationError(f"Invalid character(s) found in build meta data {text!r}")
    return text
