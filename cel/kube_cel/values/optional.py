"""Values that may be absent."""

from typing import Final


class Optional:
    """A value, or none: ``value`` is then ABSENT."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    @property
    def present(self) -> bool:
        """Whether there is a value."""
        return self.value is not ABSENT


class _Absent:
    """The one thing that no expression can have as a value."""

    __slots__ = ()


ABSENT: Final = _Absent()
NONE: Final = Optional(ABSENT)
