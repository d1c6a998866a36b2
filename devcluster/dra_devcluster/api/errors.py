"""Refusals as Kubernetes writes them: a Status object with a reason, a code and a message.

Clients branch on the reason and on the code, people read the message, so both follow
kube-apiserver to the letter. Only refusals live here; a bug of ours stays a plain exception.
"""

import json
from typing import Any

from dra_devcluster.api.resources import Object, Resource

REASONS = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    503: "ServiceUnavailable",
    500: "InternalError",
    504: "Timeout",
}


class ApiError(Exception):
    """The request was refused; ``status()`` is what the client is told. The caller must act."""

    def __init__(
        self, code: int, message: str, *, reason: str = "", details: Object | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason or REASONS[code]
        self.details = details

    def status(self) -> Object:
        """The Status object for the response body or for an ERROR event of a watch."""
        status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details:
            status["details"] = self.details
        status["code"] = self.code
        return status


class FieldError(Exception):
    """One field breaks a rule; collected into one ``Invalid`` answer by the caller."""

    def __init__(self, field: str, problem: str, *, reason: str = "FieldValueInvalid") -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem
        self.reason = reason


def forbidden_field(field: str, why: str) -> FieldError:
    """The field may not be set, or not be changed, in this situation."""
    return FieldError(field, f"Forbidden: {why}", reason="FieldValueForbidden")


def required_field(field: str, why: str = "") -> FieldError:
    """The field is missing."""
    problem = f"Required value: {why}" if why else "Required value"
    return FieldError(field, problem, reason="FieldValueRequired")


def invalid_field(field: str, value: Any, why: str) -> FieldError:
    """The field's value breaks a rule."""
    return FieldError(field, f"Invalid value: {_shown(value)}: {why}")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "null" if value is None else str(value)


def _details(resource: Resource, name: str, kind: str) -> Object:
    details: Object = {"name": name, "group": resource.group, "kind": kind}
    return {field: value for field, value in details.items() if value}


def not_found(resource: Resource, name: str) -> ApiError:
    """No object of that name."""
    message = f'{resource.qualified} "{name}" not found'
    return ApiError(404, message, details=_details(resource, name, resource.plural))


def no_such_path() -> ApiError:
    """Nothing is served at this path."""
    return ApiError(404, "the server could not find the requested resource")


def already_exists(resource: Resource, name: str) -> ApiError:
    """The name is taken."""
    message = f'{resource.qualified} "{name}" already exists'
    details = _details(resource, name, resource.plural)
    return ApiError(409, message, reason="AlreadyExists", details=details)


def conflict(resource: Resource, name: str, why: str = "") -> ApiError:
    """The object is not what the caller thinks it is; read again and retry."""
    why = why or (
        "the object has been modified; please apply your changes to the latest version and try"
        " again"
    )
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return ApiError(409, message, details=_details(resource, name, resource.plural))


def forbidden(resource: Resource, name: str, why: str) -> ApiError:
    """Policy refuses this; a retry will not help."""
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    return ApiError(403, message, details=_details(resource, name, resource.plural))


def invalid(resource: Resource, name: str, problems: list[FieldError]) -> ApiError:
    """The object breaks one or more rules, all of them named."""
    texts = [str(problem) for problem in problems]
    listing = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = _details(resource, name, resource.kind)
    details["causes"] = [
        {"reason": problem.reason, "message": problem.problem, "field": problem.field}
        for problem in problems
    ]
    return ApiError(422, f'{qualified} "{name}" is invalid: {listing}', details=details)


def patch_refused(why: str) -> ApiError:
    """A JSON patch does not apply, for one because a ``test`` failed."""
    message = "the server rejected our request due to an error in our request"
    return ApiError(422, message, details={"causes": [{"message": why}]})


def too_large(asked: int, current: int) -> ApiError:
    """The version does not exist yet."""
    message = "Too large resource version"
    cause = {"reason": "ResourceVersionTooLarge", "message": message}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return ApiError(504, f"Timeout: {message}: {asked}, current: {current}", details=details)


def expired(asked: int, oldest: int) -> ApiError:
    """The history no longer reaches back to that version: list again."""
    return ApiError(410, f"too old resource version: {asked} ({oldest})")
