"""How an answer is written: JSON, a Table where kubectl asks for one, warnings as headers."""

from typing import Any, Final

import msgspec
from aiohttp import web

from dra_devcluster.api.resources import Object, Resource
from dra_devcluster.api.tables import table
from dra_devcluster.api.timestamps import utc_now

JSON: Final = "application/json"
encode = msgspec.json.Encoder().encode


def wants_table(request: web.Request) -> bool:
    """Whether the client would rather have a Table."""
    return "as=Table" in request.headers.get("Accept", "")


def answer(body: Any, code: int = 200, warnings: list[str] | None = None) -> web.Response:
    """The body as JSON; each warning is one ``Warning`` header."""
    response = web.Response(body=encode(body), status=code, content_type=JSON)
    for warning in warnings or []:
        quoted = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{quoted}"')
    return response


def shown(request: web.Request, resource: Resource, obj: Object) -> Object:
    """One object as the client wants it."""
    if not wants_table(request):
        return obj
    return table(resource, [obj], obj["metadata"]["resourceVersion"], utc_now())


def shown_list(
    request: web.Request, resource: Resource, objects: list[Object], version: str
) -> Object:
    """A list of objects as the client wants it."""
    if wants_table(request):
        return table(resource, objects, version, utc_now())
    return {
        "kind": f"{resource.kind}List",
        "apiVersion": resource.api_version,
        "metadata": {"resourceVersion": version},
        "items": objects,
    }


def deleted(resource: Resource, obj: Object) -> Object:
    """What a client is told when a deleted object is already gone."""
    metadata = obj["metadata"]
    details = {"name": metadata["name"], "group": resource.group, "kind": resource.plural}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {**{key: word for key, word in details.items() if word}, "uid": metadata["uid"]},
    }
