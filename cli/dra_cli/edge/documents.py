"""YAML files as documents. What they mean is not asked here."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar, Final

import yaml

from dra_cli.core.manifests import BadManifestError, Document

STDIN: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json")


TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # either is one
    """Reads times as the text that they are in Kubernetes; ten times faster where libyaml is."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, form) for tag, form in resolvers if tag != TIMESTAMP]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class NoManifestsError(Exception):
    """What was named holds no manifests; the caller must name something else."""


def documents(names: Iterable[str]) -> Iterator[Document]:
    """All documents of files, of the YAML files directly in folders, of stdin for `-`, in order.

    Raises NoManifestsError, and BadManifestError for what is no YAML.
    """
    for name in names:
        if name == STDIN:
            yield from _parsed("stdin", sys.stdin.buffer.read())
        for path in _files(Path(name)) if name != STDIN else ():
            try:
                text = path.read_bytes()
            except OSError as error:
                raise NoManifestsError(f"{path} cannot be read: {error.strerror}") from error
            yield from _parsed(str(path), text)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES)
    if not found:
        raise NoManifestsError(f"the folder {path} has no file that ends in {', '.join(SUFFIXES)}")
    return found


def _parsed(file: str, text: bytes) -> Iterator[Document]:
    number = 0
    try:
        for content in yaml.load_all(text, _Loader):
            number += 1
            yield Document(file, number, content)
    except yaml.YAMLError as error:
        where = Document(file, number + 1, None)
        raise BadManifestError(where, f"is no YAML: {' '.join(str(error).split())}") from error
