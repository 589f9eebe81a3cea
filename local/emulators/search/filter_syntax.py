"""`$filter` text into a syntax tree: exactly the grammar that Azure AI Search publishes, case-sensitive.

Source: "OData expression syntax reference for Azure AI Search". Whatever is outside that grammar is a syntax error,
so that nothing is ever half understood. Types and fields are checked afterwards, in `filter_types`.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from local.emulators.search.errors import SearchError, bad_expression, bad_request
from local.emulators.search.limits import FILTER_CLAUSES, NESTING


@dataclass(frozen=True)
class Literal:
    """A constant; `kind` is string, time, integer, float, boolean or null, `text` as written (strings unquoted)."""

    kind: str
    text: str


@dataclass(frozen=True)
class Path:
    """A field, or a lambda's range variable."""

    name: str


@dataclass(frozen=True)
class Call:
    """A function call."""

    function: str
    arguments: tuple["Node", ...]


@dataclass(frozen=True)
class Quantified:
    """`field/any(x: body)`, `field/all(x: body)`, or `field/any()` when there is no body."""

    field: str
    quantifier: str
    variable: str
    body: "Node | None"


@dataclass(frozen=True)
class Comparison:
    """`left operator right`."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True)
class Negation:
    """`not operand`."""

    operand: "Node"


@dataclass(frozen=True)
class Junction:
    """Operands joined by `and` or by `or`."""

    operator: str
    operands: tuple["Node", ...]


Node = Literal | Path | Call | Quantified | Comparison | Negation | Junction

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
    |(?P<string>'(?:[^']|'')*')
    |(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)(?![\w.:]))
    |(?P<infinity>-INF(?!\w))
    |(?P<float>[+-]?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)(?![\w.]))
    |(?P<integer>[+-]?\d+(?![\w.]))
    |(?P<name>[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)?)
    |(?P<sign>[(),:/])""",
    re.VERBOSE | re.ASCII,
)
_COMPARATORS: Final = {"eq", "ne", "gt", "lt", "ge", "le"}
_RESERVED: Final = _COMPARATORS | {"and", "or", "not", "true", "false", "null", "NaN", "INF"}
_WORDS: Final = {"true": "boolean", "false": "boolean", "null": "null", "NaN": "float", "INF": "float"}


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int


def parse(text: str) -> Node:
    """Read a filter. Raises SearchError (400) when it is not one, or is too large."""
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0
        self._clauses = 0
        self._depth = 0

    def parse(self) -> Node:
        found = self._junction()
        if self._peek().kind != "end":
            raise _syntax_error(self._text, self._peek().position)
        return found

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _accept(self, text: str, kind: str) -> bool:
        if self._peek().text == text and self._peek().kind == kind:
            self._next += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._accept(sign, "sign"):
            raise _syntax_error(self._text, self._peek().position)

    def _junction(self) -> Node:
        """Read operands joined by `or`, each of them operands joined by `and`."""
        self._depth += 1
        if self._depth > NESTING:
            raise bad_request("The filter is nested too deeply.\r\nParameter name: $filter")
        alternatives = [self._conjunction()]
        while self._accept("or", "name"):
            alternatives.append(self._conjunction())
        self._depth -= 1
        return alternatives[0] if len(alternatives) == 1 else Junction("or", tuple(alternatives))

    def _conjunction(self) -> Node:
        operands = [self._comparison()]
        while self._accept("and", "name"):
            operands.append(self._comparison())
        return operands[0] if len(operands) == 1 else Junction("and", tuple(operands))

    def _comparison(self) -> Node:
        self._clauses += 1
        if self._clauses > FILTER_CLAUSES:
            raise bad_request(
                f"The filter has more than {FILTER_CLAUSES} clauses; use search.in for a list of values."
                "\r\nParameter name: $filter"
            )
        left = self._unary()
        if self._peek().kind != "name" or self._peek().text not in _COMPARATORS:
            return left
        operator = self._take()
        if isinstance(left, Negation):
            raise bad_expression(
                "A unary operator with an incompatible type was detected. Put the operand of 'not' in parentheses.",
                "$filter",
            )
        return Comparison(operator.text, left, self._primary())

    def _unary(self) -> Node:
        negations = 0
        while self._accept("not", "name"):
            negations += 1
            if negations > NESTING:
                raise bad_request("The filter is nested too deeply.\r\nParameter name: $filter")
        operand = self._primary()
        for _ in range(negations):
            operand = Negation(operand)
        return operand

    def _primary(self) -> Node:
        token = self._take()
        if token.kind == "sign" and token.text == "(":
            inner = self._junction()
            self._expect(")")
            return inner
        if token.kind == "string":
            return Literal("string", token.text[1:-1].replace("''", "'"))
        if token.kind in ("time", "integer", "float"):
            return Literal(token.kind, token.text)
        if token.kind == "infinity":
            return Literal("float", token.text)
        if token.kind == "name":
            return self._named(token)
        raise _syntax_error(self._text, token.position)

    def _named(self, token: _Token) -> Node:
        if token.text in _WORDS:
            return Literal(_WORDS[token.text], token.text)
        if token.text in _RESERVED:
            raise _syntax_error(self._text, token.position)
        if self._accept("(", "sign"):
            return self._call(token.text)
        if "." in token.text:
            raise _syntax_error(self._text, token.position)
        if self._accept("/", "sign"):
            return self._quantified(token.text)
        return Path(token.text)

    def _call(self, function: str) -> Call:
        arguments: list[Node] = []
        if not self._accept(")", "sign"):
            arguments.append(self._primary())
            while self._accept(",", "sign"):
                arguments.append(self._primary())
            self._expect(")")
        return Call(function, tuple(arguments))

    def _quantified(self, field: str) -> Quantified:
        quantifier = self._take()
        if quantifier.kind != "name" or quantifier.text not in ("any", "all"):
            raise bad_expression(f"'{field}/{quantifier.text}' is not a path of this index.", "$filter")
        self._expect("(")
        if quantifier.text == "any" and self._accept(")", "sign"):
            return Quantified(field, "any", "", None)
        variable = self._take()
        if variable.kind != "name" or variable.text in _RESERVED or "." in variable.text:
            raise _syntax_error(self._text, variable.position)
        self._expect(":")
        body = self._junction()
        self._expect(")")
        return Quantified(field, quantifier.text, variable.text, body)


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise _syntax_error(text, position)
        if match.lastgroup != "space":
            found.append(_Token(match.lastgroup, match[0], position))
        position = match.end()
    _check_gaps(text, found)
    return [*found, _Token("end", "", len(text))]


def _check_gaps(text: str, tokens: list[_Token]) -> None:
    """Two words or literals need white space between them: `1eq` is neither a number nor an operator."""
    for before, after in pairwise(tokens):
        touching = before.position + len(before.text) == after.position
        if touching and before.kind != "sign" and after.kind != "sign":
            raise _syntax_error(text, after.position)


def _syntax_error(text: str, position: int) -> SearchError:
    shown = text if len(text) <= 200 else text[:200] + "…"
    return bad_expression(f"Syntax error at position {position} in '{shown}'.", "$filter")
