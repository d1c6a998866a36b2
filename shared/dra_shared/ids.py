"""Names of things on the wire: ids and subject tokens. No parsing of anything else.

Node, driver and pool names contain dots, which NATS reads as token borders: they are escaped
here and nowhere else.
"""

import hashlib
import re
from typing import Final

import msgspec

NO_NODE: Final = "_"
"""Subject token where a fact concerns no node; no escaped name looks like it."""


class DeviceId(msgspec.Struct, frozen=True, order=True, gc=False):
    """Names one device in the cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        """`driver/pool/device`, as people write it."""
        return f"{self.driver}/{self.pool}/{self.device}"


class ObjectRef(msgspec.Struct, frozen=True, order=True, gc=False):
    """Names one namespaced Kubernetes object, this very one and no successor of the same name."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        """`namespace/name`, as people write it."""
        return f"{self.namespace}/{self.name}"


class BadSubjectTokenError(ValueError):
    """A subject token that `escape` never makes: the subject was not written by us."""


def escape(name: str) -> str:
    """A name as one subject token: `_` becomes `_u`, `.` `_d`, any other odd character `_x<hex>_`."""
    if _PLAIN.fullmatch(name):
        return name
    return "".join(c if _PLAIN.fullmatch(c) else _escape_character(c) for c in name) or "_e"


def unescape(token: str) -> str:
    """The name that `escape` made the token from; raises BadSubjectTokenError for others."""
    if not _ESCAPED.fullmatch(token):
        raise BadSubjectTokenError(token)
    return _ESCAPE.sub(_unescape_one, token)


def digest(*parts: str) -> str:
    """A short, stable name derived from the parts: 16 hex digits of BLAKE2."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


_PLAIN: Final = re.compile(r"[A-Za-z0-9:-]+")
_ESCAPE: Final = re.compile(r"_(?:u|d|e|x([0-9a-f]+)_)")
_ESCAPED: Final = re.compile(r"(?:[A-Za-z0-9:-]|_(?:u|d|e|x[0-9a-f]+_))+")


def _escape_character(character: str) -> str:
    return {"_": "_u", ".": "_d"}.get(character, f"_x{ord(character):x}_")


def _unescape_one(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return {"_u": "_", "_d": ".", "_e": ""}[match[0]]
