"""
Splits the text of an expression into tokens, longest match first.

Knows characters only: which token may follow which is the parser's business.
"""

import re
from enum import StrEnum
from typing import Final

import msgspec

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


class Token(msgspec.Struct, frozen=True, gc=False):
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
    r"(?:[\t \r\n\f]+|//[^\n]*)*+(?:"
    r"(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<uint>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
    rf"|(?P<bytes>[bB]{_STRING})"
    rf"|(?P<string>{_STRING})"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<quoted>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<operator>&&|\|\||[=!<>]=|[-+*/%!<>?:.,()\[\]{}])"
    r"|(?P<end>\Z)"
    r"|(?P<wrong>))"
)
"""What separates tokens, then one token; ``wrong`` where none begins."""
_KINDS: Final = {kind.value: kind for kind in TokenKind}


def tokenize(text: str) -> list[Token]:
    """
    The tokens of the text, closed by one of kind END.

    Raises ``ExpressionFault`` at the first character that begins no token.
    """
    tokens: list[Token] = []
    for found in _TOKEN.finditer(text):
        group = found.lastgroup or "wrong"
        kind = _KINDS.get(group)
        if kind is None:
            position = found.end()
            raise ExpressionFault(
                position, f"Syntax error: token recognition error at: '{text[position]}'"
            )
        if kind is TokenKind.END:
            break
        token = found[group]
        tokens.append(Token(kind, token, found.end() - len(token)))
    tokens.append(Token(TokenKind.END, "<EOF>", len(text)))
    return tokens
