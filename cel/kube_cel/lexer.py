"""
Splits the text of an expression into tokens, longest match first.

Knows characters only: which token may follow which is the parser's business.
"""

import re
from enum import StrEnum
from typing import Final, NamedTuple

from kube_cel.errors import ExpressionFault


class TokenKind(StrEnum):
    """What a token is to the grammar."""

    FLOAT = "float"
    UINT = "uint"
    INT = "int"
    BYTES = "bytes"
    STRING = "string"
    NAME = "name"
    QUOTED_NAME = "quoted"
    OPERATOR = "operator"
    END = "end"


class Token(NamedTuple):
    """One token and where it starts, in code points."""

    kind: TokenKind
    text: str
    offset: int


_ESCAPE: Final = (
    r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
)


def _quoted(quote: str) -> str:
    long = quote * 3
    cooked = rf"{long}(?:{_ESCAPE}|[^\\])*?{long}|{quote}(?:{_ESCAPE}|[^\\{quote}\n\r])*{quote}"
    raw = rf"[rR](?:{long}[\s\S]*?{long}|{quote}[^{quote}\n\r]*{quote})"
    return f"{raw}|{cooked}"


_STRING: Final = rf"(?:{_quoted(chr(34))}|{_quoted(chr(39))})"
_TOKEN: Final = re.compile(
    r"(?P<skip>(?:[\t \r\n\f]|//[^\n]*)+)"
    r"|(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<uint>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
    rf"|(?P<bytes>[bB]{_STRING})"
    rf"|(?P<string>{_STRING})"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<quoted>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<operator>&&|\|\||[=!<>]=|[-+*/%!<>?:.,()\[\]{}])"
)


def tokenize(text: str) -> list[Token]:
    """
    The tokens of the text, closed by one of kind END.

    Raises ``ExpressionFault`` at the first character that begins no token.
    """
    tokens: list[Token] = []
    position, end = 0, len(text)
    match_at = _TOKEN.match
    kinds = _KINDS
    while position < end:
        found = match_at(text, position)
        if found is None:
            raise ExpressionFault(
                position, f"Syntax error: token recognition error at: '{text[position]}'"
            )
        kind = kinds.get(found.lastgroup)
        if kind is not None:
            tokens.append(Token(kind, found[0], position))
        position = found.end()
    tokens.append(Token(TokenKind.END, "<EOF>", end))
    return tokens


_KINDS: Final[dict[str | None, TokenKind]] = {
    kind.value: kind for kind in TokenKind if kind is not TokenKind.END
}
