"""What the API server is: its version, the paths of the watched kinds, which features are on."""

from typing import Final

import msgspec
import structlog

from dra_api_bridge.core.features import is_on, probes
from dra_api_bridge.core.objects import Kind
from dra_api_bridge.core.requests import PatchType, Request
from dra_api_bridge.edge.api import Api, ApiRefusedError, message_of, read
from dra_shared.kube.devices import ResourceSlice

RESOURCE_GROUP: Final = "/apis/resource.k8s.io"
USABLE: Final = ("v1", "v1beta2")
"""Versions of one shape. v1beta1 differs and is served by no release without v1beta2."""

TAINT_RULE_VERSIONS: Final = ("v1", "v1beta2", "v1alpha3")
NOT_FOUND: Final = 404
INVALID: Final = (400, 422)
TOO_MANY: Final = 429
SERVER_ERROR: Final = 500

_log = structlog.get_logger()


class NotServedError(Exception):
    """The API server does not serve what dra-ledger needs: the operator must enable it."""


class Served(msgspec.Struct, frozen=True):
    """Where things are: the path of resource.k8s.io, a path for each kind, and the version."""

    resource_api: str
    paths: dict[Kind, str]
    major: str
    minor: str
    version: str


class _Version(msgspec.Struct, rename="camel"):
    git_version: str
    major: str = ""
    minor: str = ""


class _Resource(msgspec.Struct):
    name: str


class _Resources(msgspec.Struct):
    resources: list[_Resource]


async def discover(api: Api) -> Served:
    """What is served now; raises NotServedError that names what is missing, and Api's errors."""
    version = await api.get("/version", _Version)
    served = {each: await _resources(api, each) for each in TAINT_RULE_VERSIONS}
    needed = {Kind.CLAIMS, Kind.CLASSES, Kind.SLICES}
    usable = next((each for each in USABLE if needed <= served[each]), None)
    if usable is None:
        raise NotServedError(
            f"API server {version.git_version} serves resource.k8s.io in none of "
            f"{', '.join(USABLE)}: enable it with --runtime-config, or use Kubernetes 1.34 or later"
        )
    paths = {kind: f"/api/v1/{kind}" for kind in (Kind.NAMESPACES, Kind.NODES, Kind.PODS)}
    paths |= {kind: f"{RESOURCE_GROUP}/{usable}/{kind}" for kind in needed}
    rules = (each for each in TAINT_RULE_VERSIONS if Kind.TAINT_RULES in served[each])
    if (found := next(rules, None)) is not None:
        paths[Kind.TAINT_RULES] = f"{RESOURCE_GROUP}/{found}/{Kind.TAINT_RULES}"
    return Served(
        f"{RESOURCE_GROUP}/{usable}", paths, version.major, version.minor, version.git_version
    )


async def _resources(api: Api, version: str) -> frozenset[str]:
    try:
        found = await api.get(f"{RESOURCE_GROUP}/{version}", _Resources)
    except ApiRefusedError as error:
        if error.status == NOT_FOUND:
            return frozenset()
        raise
    return frozenset(each.name for each in found.resources)


async def server_version(api: Api) -> str:
    """Which release answers just now; raises Api's errors."""
    return (await api.get("/version", _Version)).git_version


async def probe_features(api: Api, resource_api: str) -> dict[str, bool]:
    """For each feature that could be tried, whether it is on. Nothing is stored by trying.

    Raises Api's errors; a server that is too busy or only starting gives no verdict.
    """
    path = f"{resource_api}/resourceslices?dryRun=All"
    found: dict[str, bool] = {}
    for name, probe in probes().items():
        body = msgspec.json.encode(probe)
        answer = await api.send(Request("POST", path, PatchType.WHOLE, body))
        if answer.status in INVALID:
            found[name] = False
        elif answer.status == TOO_MANY or answer.status >= SERVER_ERROR:
            raise ApiRefusedError(f"POST {path}", answer.status, message_of(answer.body))
        elif answer.is_error:
            _log.warning("feature not tried", feature=name, status=answer.status)
        else:
            found[name] = is_on(probe, read(f"POST {path}", answer.body, ResourceSlice))
    return found
