"""The examples of the repository, as objects to create."""

from pathlib import Path
from typing import Any, Final

import yaml

EXAMPLES: Final = Path(__file__).resolve().parents[3] / "examples"
CLASS: Final = "deviceclass-gpu.yaml"


class NoExamplesError(Exception):
    """The examples are not where they were looked for; the caller must say where they are."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} does not hold the examples; name the folder `examples` of a checkout "
            "of dra-ledger with --examples"
        )


def load(folder: Path, numbers: range) -> list[dict[str, Any]]:
    """The class and the examples with these numbers, in order; raises NoExamplesError."""
    files = [folder / CLASS]
    for number in numbers:
        files += sorted(folder.glob(f"{number:02}-*.yaml")) or [folder / f"{number:02}"]
    if not all(file.is_file() for file in files):
        raise NoExamplesError(folder)
    return [obj for file in files for obj in yaml.safe_load_all(file.read_text())]
