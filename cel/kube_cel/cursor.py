"""A place in a list of tokens, and the few ways in which the parser moves it."""

from typing import Final, NoReturn

import msgspec

from kube_cel.errors import ExpressionFault
from kube_cel.lexer import Token, TokenKind

KEYWORDS: Final = {"true": True, "false": False, "null": None}


class Cursor:
    """
    Where the parser stands: ``token`` comes next, and ``text`` is its text.

    The last token is of kind END and is never passed.
    """

    __slots__ = ("_position", "_tokens", "text", "token")

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self.token = tokens[0]
        self.text = self.token.text

    def ahead(self, count: int) -> Token:
        """The token that comes so many after the next one."""
        return self._tokens[self._position + count]

    def advance(self, count: int = 1) -> Token:
        """Take so many tokens; the first of them."""
        taken = self.token
        self._position += count
        self.token = self._tokens[self._position]
        self.text = self.token.text
        return taken

    def skip(self, text: str) -> bool:
        """Take the next token if it reads so; whether it did."""
        if self.text != text:
            return False
        self.advance()
        return True

    def expect(self, text: str) -> None:
        """Take the next token, which must read so."""
        if not self.skip(text):
            self.unexpected(f"'{text}'")

    def name(self) -> Token:
        """Take the next token, which must be a name and no keyword."""
        token = self.token
        if token.kind is not TokenKind.NAME or token.text in KEYWORDS or token.text == "in":
            self.unexpected("IDENTIFIER")
        return self.advance()

    def field(self) -> Token:
        """Take the next token, which must be a name, in backquotes or not."""
        if self.token.kind is not TokenKind.QUOTED_NAME:
            return self.name()
        token = self.advance()
        return msgspec.structs.replace(token, text=token.text[1:-1])

    def closes(self, bracket: str, *, after_first: bool) -> bool:
        """Step over what stands between elements; True behind the closing bracket."""
        if self.skip(bracket):
            return True
        if after_first:
            self.expect(",")
            return self.skip(bracket)
        if self.skip(","):
            self.expect(bracket)
            return True
        return False

    def unexpected(self, wanted: str) -> NoReturn:
        """Refuse the next token."""
        token = self.token
        raise ExpressionFault(
            token.offset, f"Syntax error: mismatched input '{token.text}' expecting {wanted}"
        )
