"""What a URL asks for: kind, place and options. Reads text, decides nothing."""

from collections.abc import Mapping
from typing import Final

import msgspec

from dra_devcluster.api.errors import ApiError, no_such_path
from dra_devcluster.api.resources import BY_PATH, NAMESPACES, Key, Resource
from dra_devcluster.api.schema import Strictness
from dra_devcluster.api.selectors import Predicate, both, field_selector, label_selector

TRUE_WORDS: Final = ("1", "true")


class Target(msgspec.Struct, frozen=True):
    """The object, or the collection if there is no name, that a path names."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> Key:
        """The place of the named object."""
        return Key(self.namespace, self.name)


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """The options after the question mark that this server knows."""

    selects: Predicate
    watch: bool = False
    bookmarks: bool = False
    initial_events: bool = False
    resource_version: str = ""
    version_match: str = ""
    timeout_seconds: float | None = None
    strictness: Strictness = Strictness.WARN
    dry_run: bool = False
    continues: str = ""


def parse_path(path: str) -> Target:
    """The target of ``/api/v1/...`` or ``/apis/GROUP/VERSION/...``. Raises NotFound (404)."""
    parts = [part for part in path.split("/") if part]
    group, version, rest = ("", parts[1:2], parts[2:])
    if parts[:1] == ["apis"]:
        group, version, rest = parts[1], parts[2:3], parts[3:]
    namespace = ""
    if rest[:1] == ["namespaces"] and rest[2:] and rest[2] not in NAMESPACES.subresources:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *more = [*rest, "", "", ""]
    resource = BY_PATH.get((group, "".join(version), plural))
    if resource is None or any(more) or (namespace and not resource.namespaced):
        raise no_such_path()
    if subresource and subresource not in resource.subresources:
        raise no_such_path()
    if name and resource.namespaced and not namespace:
        raise no_such_path()
    return Target(resource, namespace, name, subresource)


def parse_query(query: Mapping[str, str], kind: str) -> Query:
    """The options of a request; a name of its own is only a field selector. Raises 400."""
    timeout = query.get("timeoutSeconds")
    try:
        seconds = float(timeout) if timeout else None
        strictness = Strictness(query.get("fieldValidation") or "Warn")
    except ValueError as wrong:
        raise ApiError(400, f"invalid query parameter: {wrong}") from wrong
    dry_run = query.get("dryRun", "")
    if dry_run not in ("", "All"):
        raise ApiError(400, f'invalid dryRun value "{dry_run}": must be "All"')
    return Query(
        selects=both(
            field_selector(query.get("fieldSelector", ""), kind),
            label_selector(query.get("labelSelector", "")),
        ),
        watch=query.get("watch", "") in TRUE_WORDS,
        bookmarks=query.get("allowWatchBookmarks", "") in TRUE_WORDS,
        initial_events=query.get("sendInitialEvents", "") in TRUE_WORDS,
        resource_version=query.get("resourceVersion", ""),
        version_match=query.get("resourceVersionMatch", ""),
        timeout_seconds=seconds,
        strictness=strictness,
        dry_run=dry_run == "All",
        continues=query.get("continue", ""),
    )


def parse_version(text: str) -> int:
    """A resourceVersion as number, 0 for none. Raises BadRequest (400)."""
    if not text:
        return 0
    if not text.isdigit():
        raise ApiError(400, f'Invalid value: "{text}": resourceVersion must be a number')
    return int(text)
