"""A place in a list of tokens, and the few ways in which the parser moves it."""

from typing import Final, NoReturn

from kube_cel.errors import ExpressionFault
from kube_cel.lexer import Token, TokenKind

KEYWORDS: Final = {"true": True, "false": False, "null": None}


class Cursor:
    """Where the parser stands. The last token is of kind END and is never passed."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0

    @property
    def text(self) -> str:
        """The text of the token that comes next."""
        return self.tokens[self.position].text

    def advance(self) -> Token:
        """Take the next token."""
        token = self.tokens[self.position]
        self.position += 1
        return token

    def skip(self, text: str) -> bool:
        """Take the next token if it reads so; whether it did."""
        if self.tokens[self.position].text != text:
            return False
        self.position += 1
        return True

    def expect(self, text: str) -> None:
        """Take the next token, which must read so."""
        if not self.skip(text):
            self.unexpected(f"'{text}'")

    def name(self) -> Token:
        """Take the next token, which must be a name and no keyword."""
        token = self.tokens[self.position]
        if token.kind is not TokenKind.NAME or token.text in KEYWORDS or token.text == "in":
            self.unexpected("IDENTIFIER")
        return self.advance()

    def field(self) -> Token:
        """Take the next token, which must be a name, in backquotes or not."""
        token = self.tokens[self.position]
        if token.kind is not TokenKind.QUOTED_NAME:
            return self.name()
        self.position += 1
        return token._replace(text=token.text[1:-1])

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
        token = self.tokens[self.position]
        raise ExpressionFault(
            token.offset, f"Syntax error: mismatched input '{token.text}' expecting {wanted}"
        )
