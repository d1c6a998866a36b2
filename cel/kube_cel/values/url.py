"""URLs, taken apart as Go's ``url.ParseRequestURI`` does."""

import re
from typing import Final

from kube_cel.errors import EvaluationError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)\Z", re.DOTALL)
_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PORT: Final = re.compile(r"(?::[0-9]*)?\Z")
_USER: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*\Z")
_HOST_BYTES: Final = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"%\x80-\U0010ffff]*\Z")
_PATH_PLAIN: Final = re.compile(r"[A-Za-z0-9\-._~$&+,/:;=@!'()*\[\]]")
_SPACE_AND_BELOW: Final = 0x20
_DELETE: Final = 0x7F


class Url:
    """The parts of a URL; ``path`` and ``host`` are unescaped."""

    __slots__ = ("host", "path", "query", "scheme", "text")

    def __init__(self, text: str, scheme: str, host: str, path: str, query: str) -> None:
        self.text = text
        self.scheme = scheme
        self.host = host
        self.path = path
        self.query = query


def parse_url(text: str) -> Url:
    """
    The parts of the text. Raises ``EvaluationError`` if it is no URL.

    The text is read twice, as in Kubernetes: as a request, which knows no fragment and
    refuses relative URLs, then without its fragment for the parts.
    """
    whole = parse_request(text)
    stem, mark, fragment = text.partition("#")
    if _BAD_ESCAPE.search(fragment):
        raise _fault(text, "invalid URL escape")
    return parse_request(stem) if mark and stem else whole


def parse_request(text: str) -> Url:
    """The parts of the text as a request has them, a fragment taken for a part of the rest."""
    if any(ord(c) < _SPACE_AND_BELOW or ord(c) == _DELETE for c in text):
        raise _fault(text, "invalid control character in URL")
    if not text:
        raise _fault(text, "empty url")
    if text == "*":
        return Url(text, "", "", "*", "")
    scheme, rest = _split_scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(text, scheme, "", "", query)
        raise _fault(text, "invalid URI for request")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        host = _host(text, authority)
        rest = slash + path
    return Url(text, scheme, host, _unescape(text, rest), query)


def _split_scheme(text: str) -> tuple[str, str]:
    if text[0] == ":":
        raise _fault(text, "missing protocol scheme")
    found = _SCHEME.match(text)
    return (found[1].lower(), found[2]) if found else ("", text)


def _host(text: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if at and (not _USER.match(user) or _BAD_ESCAPE.search(user)):
        raise _fault(text, "net/url: invalid userinfo")
    if host.startswith("["):
        inside, bracket, port = host.rpartition("]")
        if not bracket:
            raise _fault(text, "missing ']' in host")
        _check_port(text, port)
        address, percent, zone = inside.partition("%25")
        return f"{_unescape_host(text, address)}{_unescape(text, percent + zone)}]{port}"
    colon = host.rfind(":")
    if colon >= 0:
        _check_port(text, host[colon:])
    return _unescape_host(text, host)


def _check_port(text: str, port: str) -> None:
    if not _PORT.match(port):
        raise _fault(text, f"invalid port {port!r} after host")


def _unescape_host(text: str, host: str) -> str:
    if not _HOST_BYTES.match(host) or " " in host:
        raise _fault(text, "invalid character in host name")
    if "%" in host and any(int(code, 16) < 0x80 for code in re.findall("%([0-9A-Fa-f]{2})", host)):  # noqa: PLR2004 - ASCII
        raise _fault(text, "invalid URL escape in host")
    return _unescape(text, host)


def _unescape(text: str, part: str) -> str:
    if "%" not in part:
        return part
    if _BAD_ESCAPE.search(part):
        raise _fault(text, "invalid URL escape")
    return unescaped(part)


def unescaped(part: str) -> str:
    """The part with every ``%xx`` replaced."""
    raw = _ESCAPE.sub(lambda found: bytes((int(found[1], 16),)), part.encode())
    return raw.decode(errors="replace")


def escaped_path(path: str) -> str:
    """The path with what may not stand in one escaped again."""
    return "".join(
        c if _PATH_PLAIN.match(c) else "".join(f"%{b:02X}" for b in c.encode()) for c in path
    )


def query_values(query: str) -> dict[str, list[str]]:
    """The values of each name; pairs that cannot be read are left out."""
    values: dict[str, list[str]] = {}
    for pair in query.split("&"):
        if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
            continue
        name, _, value = pair.partition("=")
        name, value = (unescaped(part.replace("+", " ")) for part in (name, value))
        values.setdefault(name, []).append(value)
    return values


def _fault(text: str, message: str) -> EvaluationError:
    return EvaluationError(
        f"URL parse error during conversion from string: parse {text!r}: {message}"
    )
