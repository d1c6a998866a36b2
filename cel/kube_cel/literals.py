"""The value that a literal token stands for: numbers, strings with their escapes, bytes."""

import re
from typing import Final

from kube_cel.errors import ExpressionFault
from kube_cel.lexer import Token, TokenKind
from kube_cel.values.numbers import INT_MAX, INT_MIN, UINT_MAX, Uint

_ESCAPES: Final = re.compile(
    r"\\(?:([abfnrtv\"'\\?`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"
    r"|([0-3][0-7]{2}))"
)
_CONTROL: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_SURROGATES: Final = range(0xD800, 0xE000)
_LAST_CODE_POINT: Final = 0x10FFFF


def literal_value(token: Token, *, negative: bool = False) -> object:
    """The value of a literal token, negated for a number with a minus before it."""
    match token.kind:
        case TokenKind.INT:
            return _int(token, -1 if negative else 1)
        case TokenKind.UINT:
            return _uint(token)
        case TokenKind.FLOAT:
            return _double(token, -1.0 if negative else 1.0)
        case TokenKind.STRING:
            return _string(token)
        case _:
            return _bytes(token)


def _int(token: Token, sign: int) -> int:
    value = sign * int(token.text, 16 if token.text[:2] == "0x" else 10)
    if not INT_MIN <= value <= INT_MAX:
        raise ExpressionFault(token.offset, "invalid int literal")
    return value


def _uint(token: Token) -> Uint:
    value = int(token.text[:-1], 16 if token.text[:2] == "0x" else 10)
    if value > UINT_MAX:
        raise ExpressionFault(token.offset, "invalid uint literal")
    return Uint(value)


def _double(token: Token, sign: float) -> float:
    value = sign * float(token.text)
    if value in (float("inf"), float("-inf")):
        raise ExpressionFault(token.offset, "invalid double literal")
    return value


def _content(text: str) -> tuple[str, bool]:
    """What stands between the quotes, and whether it is raw."""
    raw = text[0] in "rR"
    body = text[1:] if raw else text
    width = 3 if body[:3] in ('"""', "'''") and len(body) > 5 else 1  # noqa: PLR2004 - two triple quotes
    return body[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _string(token: Token) -> str:
    body, raw = _content(token.text)
    if raw or "\\" not in body:
        return body

    def unescape(found: re.Match[str]) -> str:
        simple, hex2, hex4, hex8, octal = found.groups()
        if simple is not None:
            return _CONTROL.get(simple, simple)
        code = int(octal, 8) if octal is not None else int(hex2 or hex4 or hex8, 16)
        if code in _SURROGATES or code > _LAST_CODE_POINT:
            raise ExpressionFault(token.offset, "invalid unicode code point")
        return chr(code)

    return _ESCAPES.sub(unescape, body)


def _bytes(token: Token) -> bytes:
    body, raw = _content(token.text[1:])
    if raw or "\\" not in body:
        return body.encode()
    parts: list[bytes] = []
    position = 0
    for found in _ESCAPES.finditer(body):
        parts.append(body[position : found.start()].encode())
        simple, hex2, hex4, hex8, octal = found.groups()
        if hex4 or hex8:
            raise ExpressionFault(token.offset, "unicode escape in a bytes literal")
        if simple is not None:
            parts.append(_CONTROL.get(simple, simple).encode())
        else:
            parts.append(bytes((int(octal, 8) if octal is not None else int(hex2, 16),)))
        position = found.end()
    parts.append(body[position:].encode())
    return b"".join(parts)
