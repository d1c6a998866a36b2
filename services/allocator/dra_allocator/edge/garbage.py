"""How seldom Python looks for garbage among what the allocator knows: millions of things that stay.

Facts and shapes are no garbage collector's business (`gc=False`), and what is freed is freed at once,
by its last reference. What is left to look for are cycles, of which the allocator makes next to none.
"""

import gc
from typing import Final

THRESHOLDS: Final = (50_000, 20, 50)
"""New objects before garbage is looked for among them, then among ever older ones."""


def collect_seldom() -> None:
    """From here on and seldom, and only what is new: what is there by now stays."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
