"""A register read the other way round: the keys whose values name something.

Often nobody asks, and to read all values takes long. So it is worked out when somebody asks first,
and kept in step from then on.
"""

from collections.abc import Callable, Hashable, ItemsView, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
N = TypeVar("N", bound=Hashable)


class Backwards(Generic[N, K]):
    """Keys by what their values name. `names`: what one value names."""

    def __init__(self, names: Callable[[Any], Iterable[N]]) -> None:
        self._names = names
        self._keys: dict[N, set[K]] | None = None

    def read(self, items: Callable[[], ItemsView[K, Any]]) -> Mapping[N, AbstractSet[K]]:
        """The keys by name. `items` gives all of the register, and is asked once."""
        if self._keys is None:
            self._keys = {}
            for key, value in items():
                self.note(key, None, value)
        return self._keys

    def note(self, key: K, old: Any, new: Any) -> None:
        """The key's value is another one now; None is no value."""
        if self._keys is None:
            return
        for name in set(self._names(old)) if old is not None else ():
            self._keys[name].discard(key)
            if not self._keys[name]:
                del self._keys[name]
        if new is not None:
            for name in self._names(new):
                self._keys.setdefault(name, set()).add(key)
