"""CDI files (Container Device Interface) as a container runtime applies them, as far as pods show.

Environment, device nodes and mounts are worked out; hooks and network devices are not looked at.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

SUFFIXES: Final = (".json", ".yaml")


class CdiError(Exception):
    """A device id that no file explains, or a file that cannot be read. The driver must act."""


class Edits(msgspec.Struct, frozen=True):
    """What the files change in one container."""

    environment: tuple[tuple[str, str], ...] = ()
    device_nodes: tuple[str, ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    """Host path and container path."""

    def __add__(self, other: "Edits") -> "Edits":
        return Edits(
            self.environment + other.environment,
            self.device_nodes + other.device_nodes,
            self.mounts + other.mounts,
        )


def edits_for(ids: Iterable[str], folder: Path) -> Edits:
    """What these CDI devices add to a container, in the order a runtime applies them.

    A spec's own edits come once, before those of its first device. Raises ``CdiError`` naming every
    id that no file in the folder explains.
    """
    specs = list(_specs(folder))
    edits, used, missing = Edits(), set[str](), []
    for qualified in dict.fromkeys(ids):
        found = _find(qualified, specs)
        if found is None:
            missing.append(qualified)
            continue
        path, spec, device = found
        if path not in used:
            edits += _read_edits(spec)
            used.add(path)
        edits += _read_edits(device)
    if missing:
        raise CdiError(f"unresolvable CDI devices {', '.join(missing)}: looked in {folder}")
    return edits


def _specs(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.suffix not in SUFFIXES or path.name.startswith("."):
            continue
        try:
            text = path.read_bytes()
            spec = msgspec.json.decode(text) if path.suffix == ".json" else yaml.safe_load(text)
            yield str(path), dict(spec)
        except FileNotFoundError:
            continue
        except (ValueError, TypeError, yaml.YAMLError) as wrong:
            problem = f"{path} is not a CDI file: {wrong}"
            raise CdiError(problem) from wrong


def _find(
    qualified: str, specs: list[tuple[str, dict[str, Any]]]
) -> tuple[str, dict[str, Any], dict[str, Any]] | None:
    kind, _, name = qualified.partition("=")
    for path, spec in specs:
        for device in spec.get("devices", []):
            if (spec.get("kind"), device.get("name")) == (kind, name):
                return path, spec, device
    return None


def _read_edits(part: dict[str, Any]) -> Edits:
    edits = part.get("containerEdits") or {}
    pairs = (entry.partition("=") for entry in edits.get("env") or [])
    return Edits(
        tuple((name, value) for name, _, value in pairs),
        tuple(node["path"] for node in edits.get("deviceNodes") or []),
        tuple((one["hostPath"], one["containerPath"]) for one in edits.get("mounts") or []),
    )
