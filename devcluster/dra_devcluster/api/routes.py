"""HTTP around the cluster: which method on which path is which verb.

Nothing is decided here; a request is read, the cluster asked, its answer written.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from dra_devcluster.api import discovery, openapi
from dra_devcluster.api.answers import answer, deleted, encode, shown, shown_list, wants_table
from dra_devcluster.api.apply import APPLY, apply
from dra_devcluster.api.binding import bind
from dra_devcluster.api.cluster import Cluster, WriteOptions
from dra_devcluster.api.deletion import deletion_from
from dra_devcluster.api.errors import ApiError, no_such_path, too_large
from dra_devcluster.api.logs import serve_log
from dra_devcluster.api.patch import json_patch, merge_patch
from dra_devcluster.api.requests import Query, Target, parse_path, parse_query, parse_version
from dra_devcluster.api.resources import DRA_GROUP
from dra_devcluster.api.strategic import strategic_merge_patch
from dra_devcluster.api.watch import watch

CLUSTER: Final = web.AppKey("cluster", Cluster)
BOUND: Final = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
Verb = Callable[[web.Request, Target, Query], Awaitable[web.StreamResponse]]
PATCHES: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "application/json-patch+json": json_patch,
    "application/merge-patch+json": merge_patch,
    "application/strategic-merge-patch+json": strategic_merge_patch,
}


def application(cluster: Cluster) -> web.Application:
    """The whole server as an aiohttp application; it owns no socket and no task."""
    app = web.Application(middlewares=[refusals], client_max_size=4 * 1024 * 1024)
    app[CLUSTER] = cluster
    documents: Mapping[str, Callable[[], Any]] = {
        "/version": discovery.version,
        "/api/v1": lambda: discovery.resource_list(""),
        f"/apis/{DRA_GROUP}": discovery.group,
        f"/apis/{DRA_GROUP}/v1": lambda: discovery.resource_list(DRA_GROUP),
        "/openapi/v3": openapi.index,
        "/openapi/v3/api/v1": lambda: openapi.document(""),
        f"/openapi/v3/apis/{DRA_GROUP}/v1": lambda: openapi.document(DRA_GROUP),
    }
    for path, document in documents.items():
        app.router.add_get(path, _document(document))
    app.router.add_get("/api", _discovery(discovery.core_versions, ""))
    app.router.add_get("/apis", _discovery(discovery.groups, DRA_GROUP))
    for path in ("/readyz", "/livez", "/healthz"):
        app.router.add_get(path, ready)
    app.router.add_route("*", "/{path:apis?/.+}", serve)
    return app


def _document(document: Callable[[], Any]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def respond(_request: web.Request) -> web.Response:
        return answer(document())

    return respond


def _discovery(
    plain: Callable[[], Any], group: str
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def respond(request: web.Request) -> web.Response:
        if "as=APIGroupDiscoveryList" not in request.headers.get("Accept", ""):
            return answer(plain())
        headers = {"Content-Type": discovery.AGGREGATED}
        return web.Response(body=encode(discovery.aggregated(group)), headers=headers)

    return respond


async def ready(_request: web.Request) -> web.Response:
    """Up means ready: there is nothing to wait for."""
    return web.Response(text="ok")


@web.middleware
async def refusals(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Turn what was raised into the Status object that a client expects."""
    try:
        return await handler(request)
    except ApiError as refusal:
        return answer(refusal.status(), refusal.code)
    except web.HTTPNotFound:
        return answer(no_such_path().status(), 404)
    except web.HTTPRequestEntityTooLarge as large:
        too_large = ApiError(413, f"{large}", reason="RequestEntityTooLarge")
        return answer(too_large.status(), 413)


async def serve(request: web.Request) -> web.StreamResponse:
    """Any request for a kind."""
    target = parse_path(request.path)
    query = parse_query(request.query, target.resource.kind)
    verbs = SUBRESOURCES.get(target.subresource) or (OBJECT if target.name else COLLECTION)
    verb = verbs.get(request.method)
    if verb is None:
        raise ApiError(405, "the server does not allow this method on the requested resource")
    return await verb(request, target, query)


async def read_body(request: web.Request) -> Any:
    """The JSON in the request, None if empty. Raises BadRequest (400) or 415."""
    if request.content_type not in (
        *PATCHES,
        APPLY,
        "application/json",
        "application/octet-stream",
    ):
        message = f"the body of the request was in an unknown format: {request.content_type}"
        raise ApiError(415, message)
    body = await request.read()
    try:
        return msgspec.json.decode(body) if body else None
    except msgspec.DecodeError as wrong:
        raise ApiError(400, f"invalid character in the request's JSON: {wrong}") from wrong


def options_of(target: Target, query: Query) -> WriteOptions:
    """How a write through this target is to be taken."""
    return WriteOptions(
        strictness=query.strictness,
        dry_run=query.dry_run,
        subresource=target.subresource,
        warnings=[],
    )


async def list_or_watch(request: web.Request, target: Target, query: Query) -> web.StreamResponse:
    """GET on a collection."""
    if query.watch:
        return await stream(request, target, query)
    store = request.app[CLUSTER].store
    wanted = parse_version(query.resource_version)
    if wanted > store.revision:
        raise too_large(wanted, store.revision)
    if query.continues:
        raise ApiError(400, "invalid continue token: this server never gives one out")
    if query.version_match == "Exact" and wanted != store.revision:
        raise ApiError(410, "The resourceVersion for the provided list is too old.")
    objects = list(filter(query.selects, store.scan(target.resource, target.namespace)))
    return answer(shown_list(request, target.resource, objects, str(store.revision)))


async def stream(request: web.Request, target: Target, query: Query) -> web.StreamResponse:
    """A watch, one JSON document a line, until its time is over or the client goes."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    as_table = wants_table(request)
    async for sent in watch(request.app[CLUSTER], target, query):
        plain = not as_table or sent.type in ("ERROR", "BOOKMARK")
        shape = sent.object if plain else shown(request, target.resource, sent.object)
        await response.write(encode({"type": sent.type, "object": shape}) + b"\n")
    return response


async def get(request: web.Request, target: Target, _query: Query) -> web.StreamResponse:
    """GET on an object."""
    found = request.app[CLUSTER].get(target.resource, target.key)
    return answer(shown(request, target.resource, found))


async def create(request: web.Request, target: Target, query: Query) -> web.StreamResponse:
    """POST on a collection."""
    options = options_of(target, query)
    body = await read_body(request)
    if target.resource.namespaced and not target.namespace:
        raise ApiError(405, "the server does not allow this method on the requested resource")
    created = request.app[CLUSTER].create(target.resource, target.namespace, body, options)
    return answer(shown(request, target.resource, created), 201, options.warnings)


async def put(request: web.Request, target: Target, query: Query) -> web.StreamResponse:
    """PUT on an object or on its status."""
    options = options_of(target, query)
    body = await read_body(request)
    stored = request.app[CLUSTER].replace(target.resource, target.key, body, options)
    return answer(shown(request, target.resource, stored), 200, options.warnings)


async def patch(request: web.Request, target: Target, query: Query) -> web.StreamResponse:
    """PATCH on an object or on its status, in one of three formats, or a manifest to apply."""
    cluster, options = request.app[CLUSTER], options_of(target, query)
    merge = PATCHES.get(request.content_type)
    if merge is None and request.content_type != APPLY:
        known = ", ".join((*PATCHES, APPLY))
        raise ApiError(415, f"{request.content_type} is not served here: known are {known}")
    body = await read_body(request)
    if merge is None:
        code, stored = apply(cluster, target, body, options, request.query)
    else:
        code = 200
        stored = cluster.change(target.resource, target.key, lambda old: merge(old, body), options)
    return answer(shown(request, target.resource, stored), code, options.warnings)


async def delete(request: web.Request, target: Target, query: Query) -> web.StreamResponse:
    """DELETE on an object: answers with what it was, or for some kinds only that it is gone."""
    deletion = deletion_from(await read_body(request), request.query, dry_run=query.dry_run)
    last = request.app[CLUSTER].delete(target.resource, target.key, deletion)
    if not target.resource.returns_deleted and not last["metadata"].get("finalizers"):
        return answer(deleted(target.resource, last))
    return answer(shown(request, target.resource, last))


async def delete_all(request: web.Request, target: Target, query: Query) -> web.StreamResponse:
    """DELETE on a collection: everything that the selectors select."""
    cluster = request.app[CLUSTER]
    deletion = deletion_from(await read_body(request), request.query, dry_run=query.dry_run)
    objects = list(filter(query.selects, cluster.scan(target.resource, target.namespace)))
    for obj in objects:
        where = Target(
            target.resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
        )
        cluster.delete(target.resource, where.key, deletion)
    return answer(shown_list(request, target.resource, objects, str(cluster.store.revision)))


async def bind_pod(request: web.Request, target: Target, _query: Query) -> web.StreamResponse:
    """POST on a pod's binding."""
    bind(request.app[CLUSTER], target.key, await read_body(request))
    return answer(BOUND, 201)


async def log(request: web.Request, target: Target, _query: Query) -> web.StreamResponse:
    """GET on a pod's log."""
    return await serve_log(request, request.app[CLUSTER], target.key)


COLLECTION: Final[Mapping[str, Verb]] = {
    "GET": list_or_watch,
    "POST": create,
    "DELETE": delete_all,
}
OBJECT: Final[Mapping[str, Verb]] = {"GET": get, "PUT": put, "PATCH": patch, "DELETE": delete}
SUBRESOURCES: Final[Mapping[str, Mapping[str, Verb]]] = {
    "status": {"GET": get, "PUT": put, "PATCH": patch},
    "finalize": {"PUT": put},
    "binding": {"POST": bind_pod},
    "log": {"GET": log},
}
