"""
Turns tokens into a syntax tree by precedence climbing, expanding macros on the way.

Holds the two limits of Kubernetes' parser: how many expressions may stand inside one
another, and how many operators and members may be chained.
"""

from typing import Final

import msgspec

from kube_cel import literals, macros, syntax
from kube_cel.cursor import KEYWORDS, Cursor
from kube_cel.depths import Depths
from kube_cel.errors import ExpressionFault
from kube_cel.lexer import Token, TokenKind, tokenize
from kube_cel.stack import make_room
from kube_cel.syntax import Call, Entry, Field, Ident, ListLiteral, MapLiteral, Node, Select

MAX_LENGTH: Final = 100_000
"""Code points that the engine reads; the API allows 10,240 bytes and checks that itself."""
MAX_NESTING: Final = 250
_RESERVED: Final = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_LOOSEST: Final = 1
_JUNCTION: Final = 2
"""Operators up to this strength join any number of terms into one call."""
_OPERATORS: Final = {
    "||": (1, "_||_"),
    "&&": (2, "_&&_"),
    "==": (3, "_==_"),
    "!=": (3, "_!=_"),
    "<": (3, "_<_"),
    "<=": (3, "_<=_"),
    ">": (3, "_>_"),
    ">=": (3, "_>=_"),
    "in": (3, "@in"),
    "+": (4, "_+_"),
    "-": (4, "_-_"),
    "*": (5, "_*_"),
    "/": (5, "_/_"),
    "%": (5, "_%_"),
}
_OPENING: Final = "([{?"
_NUMBERS: Final = (TokenKind.INT, TokenKind.FLOAT)
_NOT_AN_OPERATOR: Final = (0, "")


def parse(text: str) -> Node:
    """
    The syntax tree of an expression.

    Raises ``ExpressionFault`` for what is not CEL or is over a limit.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionFault(-1, f"expression code point size exceeds limit: {MAX_LENGTH}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ExpressionFault(error.start, "half of a surrogate pair is no character") from None
    return Parser(tokenize(text), _most_nested(text)).parse()


def _most_nested(text: str) -> int:
    """How deep brackets and conditionals can stand in one another, at most."""
    return min(sum(map(text.count, _OPENING)), MAX_NESTING + 1)


class Parser:
    """One pass over the tokens of one expression."""

    def __init__(self, tokens: list[Token], levels: int) -> None:
        self._at = Cursor(tokens)
        self._levels = levels
        self._nesting = 0
        self._new = macros.NodeMaker()
        self._depths = Depths()

    def parse(self) -> Node:
        """The whole text as one expression."""
        make_room(self._levels)
        node = self._expression()
        if self._at.token.kind is not TokenKind.END:
            self._at.unexpected("'<EOF>'")
        make_room(self._levels + self._depths.deepest)
        return node

    def _expression(self) -> Node:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise ExpressionFault(-1, f"expression recursion limit exceeded: {MAX_NESTING}")
        node = self._binary(_LOOSEST)
        if self._at.text == "?":
            offset = self._at.advance().offset
            chosen = self._binary(_LOOSEST)
            self._at.expect(":")
            other = self._expression()
            node = self._depths.chained(self._new.call(offset, "_?_:_", node, chosen, other))
        self._nesting -= 1
        return node

    def _binary(self, floor: int) -> Node:
        """Operands joined by operators that bind at least as tightly as the floor."""
        left = self._unary()
        while True:
            strength, function = _OPERATORS.get(self._at.text, _NOT_AN_OPERATOR)
            if strength < floor:
                return left
            if strength <= _JUNCTION:
                left = self._junction(left, strength, function)
            else:
                offset = self._at.advance().offset
                right = self._binary(strength + 1)
                left = self._depths.chained(self._new.call(offset, function, left, right))

    def _junction(self, first: Node, strength: int, function: str) -> Node:
        terms, offset, operator = [first], -1, self._at.text
        while self._at.text == operator:
            offset = self._at.advance().offset
            terms.append(self._binary(strength + 1))
        return self._depths.joined(self._new.call(offset, function, *terms))

    def _unary(self) -> Node:
        sign = self._at.text
        if sign not in ("!", "-") or self._at_negative_number():
            return self._member(self._primary())
        offset, count = self._at.token.offset, 0
        while self._at.skip(sign):
            count += 1
        operand = self._member(self._primary())
        if count % 2 == 0:
            return operand
        function = "!_" if sign == "!" else "-_"
        return self._depths.joined(self._new.call(offset, function, operand))

    def _at_negative_number(self) -> bool:
        return self._at.text == "-" and self._at.ahead(1).kind in _NUMBERS

    def _member(self, node: Node) -> Node:
        while True:
            match self._at.text:
                case ".":
                    node = self._dotted(node, self._at.advance())
                case "[":
                    node = self._indexed(node, self._at.advance())
                case _:
                    return node

    def _dotted(self, operand: Node, dot: Token) -> Node:
        optional = self._at.skip("?")
        name = self._at.field()
        if optional:
            field = self._new.literal(name.offset, name.text)
            return self._depths.chained(self._new.call(dot.offset, "_?._", operand, field))
        if name.kind is TokenKind.QUOTED_NAME or self._at.text != "(":
            return self._depths.chained(Select(self._new.next_id(), dot.offset, operand, name.text))
        opening = self._at.advance()
        arguments = self._arguments()
        call = Call(self._new.next_id(), opening.offset, name.text, arguments, operand)
        return self._depths.chained(call, macros.expand(call, self._new))

    def _indexed(self, operand: Node, bracket: Token) -> Node:
        function = "_[?_]" if self._at.skip("?") else "_[_]"
        index = self._expression()
        self._at.expect("]")
        return self._depths.chained(self._new.call(bracket.offset, function, operand, index))

    def _primary(self) -> Node:
        token = self._at.token
        match token.kind:
            case TokenKind.NAME:
                return self._named(self._at.advance())
            case TokenKind.OPERATOR | TokenKind.END | TokenKind.QUOTED_NAME:
                return self._bracketed(token)
            case _:
                self._at.advance()
                return self._new.literal(token.offset, literals.literal_value(token))

    def _bracketed(self, token: Token) -> Node:
        if token.text not in ("(", "[", "{", ".") and not self._at_negative_number():
            self._at.unexpected("an expression")
        self._at.advance()
        match token.text:
            case "(":
                node = self._expression()
                self._at.expect(")")
                return node
            case "[":
                return self._list(token)
            case "{":
                return self._map(token)
            case ".":
                name = self._at.name()
                return self._named(msgspec.structs.replace(name, text=f".{name.text}"))
            case _:
                number = literals.literal_value(self._at.advance(), negative=True)
                return self._new.literal(token.offset, number)

    def _named(self, token: Token) -> Node:
        if token.text in KEYWORDS:
            return self._new.literal(token.offset, KEYWORDS[token.text])
        if token.text == "in":
            raise ExpressionFault(token.offset, "Syntax error: mismatched input 'in'")
        message = self._message_name(token)
        if message is not None:
            return self._message(token, message)
        if token.text in _RESERVED:
            raise ExpressionFault(token.offset, f"reserved identifier: {token.text}")
        if self._at.text != "(":
            return Ident(self._new.next_id(), token.offset, token.text)
        opening = self._at.advance()
        arguments = self._arguments()
        name = token.text.removeprefix(".")
        call = Call(self._new.next_id(), opening.offset, name, arguments)
        expanded = macros.expand(call, self._new) if name is token.text else call
        return self._depths.joined(call, expanded)

    def _message_name(self, first: Token) -> str | None:
        """``a.b`` if what follows is ``a.b{``; the position then stands at the brace."""
        count, parts = 0, [first.text]
        while self._at.ahead(count).text == ".":
            part = self._at.ahead(count + 1)
            if part.kind is not TokenKind.NAME:
                return None
            parts.append(part.text)
            count += 2
        if self._at.ahead(count).text != "{":
            return None
        self._at.advance(count)
        return ".".join(parts)

    def _message(self, token: Token, name: str) -> Node:
        self._at.expect("{")
        fields: list[Field] = []
        while not self._at.closes("}", after_first=bool(fields)):
            optional = self._at.skip("?")
            field = self._at.field().text
            self._at.expect(":")
            fields.append(Field(field, self._expression(), optional))
        node = syntax.MessageLiteral(self._new.next_id(), token.offset, name, tuple(fields))
        return self._depths.joined(node)

    def _list(self, bracket: Token) -> Node:
        elements: list[Node] = []
        optional: set[int] = set()
        while not self._at.closes("]", after_first=bool(elements)):
            if self._at.skip("?"):
                optional.add(len(elements))
            elements.append(self._expression())
        number = self._new.next_id()
        return self._depths.joined(
            ListLiteral(number, bracket.offset, tuple(elements), frozenset(optional))
        )

    def _map(self, brace: Token) -> Node:
        entries: list[Entry] = []
        while not self._at.closes("}", after_first=bool(entries)):
            optional = self._at.skip("?")
            key = self._expression()
            self._at.expect(":")
            entries.append(Entry(key, self._expression(), optional))
        return self._depths.joined(MapLiteral(self._new.next_id(), brace.offset, tuple(entries)))

    def _arguments(self) -> tuple[Node, ...]:
        arguments: list[Node] = []
        if self._at.skip(")"):
            return ()
        arguments.append(self._expression())
        while self._at.skip(","):
            arguments.append(self._expression())
        self._at.expect(")")
        return tuple(arguments)
