"""Which way to fold the log this release has: a digest of the source that decides it.

Nobody has to remember to raise a number: any change to a fact, to the fold, or to what reads and
writes JSON makes older snapshots unfit, at the price of one replay.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import msgspec

from dra_allocator.core import fold, replay
from dra_shared import events, ids, kube


def reducer_version() -> str:
    """The digest: equal for releases that make the same registers of the same log."""
    return ids.digest(msgspec.__version__, *map(inspect.getsource, _modules()))


def _modules() -> Iterator[ModuleType]:
    yield from (replay, ids)
    for package in (fold, events, kube):
        for found in iter_modules(package.__path__, f"{package.__name__}."):
            yield import_module(found.name)
