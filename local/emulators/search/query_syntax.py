"""Azure's simple query syntax: the algorithm of Lucene's SimpleQueryParser, without fuzzy and slop.

`+` and, `|` or, `-` not, `"phrase"`, `prefix*`, parentheses, `\\` escapes. There is no precedence between `+` and
`|`: a change of operator makes everything before it one operand. Text that is not well formed is never refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from local.emulators.search.errors import bad_request
from local.emulators.search.limits import NESTING, PREFIX_CHARACTERS, SEARCH_CHARACTERS, SEARCH_CLAUSES, TERM_BYTES


class Operator(Enum):
    """How the operands of a Boolean query combine."""

    AND = "and"
    OR = "or"


@dataclass(frozen=True)
class MatchAll:
    """Every document, with score 1."""


@dataclass(frozen=True)
class MatchNone:
    """No document: nothing of the text was left after analysis."""


@dataclass(frozen=True)
class Word:
    """Text without white space; analysis may still make several terms of it."""

    text: str


@dataclass(frozen=True)
class Phrase:
    """Terms that stand side by side in this order."""

    text: str


@dataclass(frozen=True)
class Prefix:
    """Every term that begins so; always with score 1."""

    text: str


@dataclass(frozen=True)
class Not:
    """Every document the operand does not match, with score 1, as in Lucene."""

    operand: "Query"


@dataclass(frozen=True)
class Combined:
    """Operands joined by one operator; the scores add up."""

    operator: Operator
    operands: tuple["Query", ...]


Query = MatchAll | MatchNone | Word | Phrase | Prefix | Not | Combined

_SPACE: Final = " \t\n\r"
_ENDS_WORD: Final = set(_SPACE + '"|+()')


def parse(text: str, default: Operator, has_terms: Callable[[str], bool]) -> Query:
    """Read a search text. `has_terms` says whether analysis leaves anything of a word or phrase; if not, it is dropped.

    Raises SearchError (400) when a limit is exceeded.
    """
    if len(text) > SEARCH_CHARACTERS:
        raise bad_request(f"The search text is longer than {SEARCH_CHARACTERS} characters.\r\nParameter name: search")
    if text.strip(_SPACE) in ("", "*"):
        return MatchAll()
    return _Parser(text, default, has_terms).parse(0, len(text), 0) or MatchNone()


class _Level:
    """The tree that one pair of parentheses builds."""

    def __init__(self, default: Operator) -> None:
        self._default = default
        self._previous: Operator | None = None
        self.top: Query | None = None
        self.depth = 0
        self.pending: Operator | None = None
        self.negations = 0

    def operator(self, operator: Operator) -> None:
        """Note an operator; only the first one between two operands counts."""
        if self.pending is None and self.top is not None:
            self.pending = operator

    def add(self, branch: Query | None, depth: int) -> None:
        """Join one more operand to the tree."""
        if branch is not None:
            operand = Not(branch) if self.negations % 2 else branch
            self.top = operand if self.top is None else self._joined(self.top, operand)
            self.depth = max(self.depth, depth + 1)
            if self.depth > NESTING:
                raise bad_request("The search text is nested too deeply.\r\nParameter name: search")
        self.pending = None

    def _joined(self, top: Query, operand: Query) -> Query:
        operator = self.pending or self._default
        same = operator is self._previous and isinstance(top, Combined)
        self._previous = operator
        if same and isinstance(top, Combined):
            return Combined(operator, (*top.operands, operand))
        self.depth += 1
        return Combined(operator, (top, operand))


class _Parser:
    def __init__(self, text: str, default: Operator, has_terms: Callable[[str], bool]) -> None:
        self._text = text
        self._default = default
        self._has_terms = has_terms
        self._clauses = 0
        self._unclosed = 0

    def parse(self, index: int, end: int, nesting: int) -> Query | None:
        """Read `text[index:end]`."""
        if nesting > NESTING:
            raise bad_request("The search text is nested too deeply.\r\nParameter name: search")
        level = _Level(self._default)
        while index < end:
            character = self._text[index]
            if character == "-":
                level.negations += 1
                index += 1
                continue
            index = self._step(level, character, index, end, nesting)
            level.negations = 0
        return level.top

    def _step(self, level: _Level, character: str, index: int, end: int, nesting: int) -> int:
        if character == "(":
            return self._group(level, index, end, nesting)
        if character == '"':
            return self._phrase(level, index, end)
        if character in "+|":
            level.operator(Operator.AND if character == "+" else Operator.OR)
            return index + 1
        if character == ")" or character in _SPACE:
            return index + 1
        return self._word(level, index, end)

    def _group(self, level: _Level, index: int, end: int, nesting: int) -> int:
        close = self._closing(index + 1, end)
        if close is None:
            self._unclosed += 1
            if self._unclosed > NESTING:
                raise bad_request("The search text has too many open parentheses.\r\nParameter name: search")
            return index + 1
        inner = self.parse(index + 1, close, nesting + 1)
        level.add(inner, _depth(inner))
        return close + 1

    def _closing(self, index: int, end: int) -> int | None:
        open_groups, in_phrase = 1, False
        while index < end:
            character = self._text[index]
            if character == "\\":
                index += 1
            elif character == '"':
                in_phrase = not in_phrase
            elif character in "()" and not in_phrase:
                open_groups += 1 if character == "(" else -1
                if open_groups == 0:
                    return index
            index += 1
        return None

    def _phrase(self, level: _Level, index: int, end: int) -> int:
        found: list[str] = []
        position = index + 1
        while position < end:
            character = self._text[position]
            if character == "\\" and position + 1 < end:
                position += 1
                found.append(self._text[position])
            elif character == '"':
                text = "".join(found)
                level.add(self._counted(Phrase(text)) if self._has_terms(text) else None, 0)
                return position + 1
            else:
                found.append(character)
            position += 1
        return index + 1

    def _word(self, level: _Level, index: int, end: int) -> int:
        found: list[str] = []
        starred = False
        while index < end and self._text[index] not in _ENDS_WORD:
            starred = self._text[index] == "*"
            if self._text[index] == "\\":
                index += 1
                if index == end:
                    break
            found.append(self._text[index])
            index += 1
        level.add(self._leaf("".join(found), starred=starred), 0)
        return index

    def _leaf(self, text: str, *, starred: bool) -> Query | None:
        if starred and len(text) > 1:
            if len(text) - 1 > PREFIX_CHARACTERS:
                raise bad_request(f"A prefix is longer than {PREFIX_CHARACTERS} characters.\r\nParameter name: search")
            return self._counted(Prefix(text[:-1]))
        if len(text.encode("utf-8", "surrogatepass")) > TERM_BYTES:
            raise bad_request(f"A search term is longer than {TERM_BYTES} bytes.\r\nParameter name: search")
        return self._counted(Word(text)) if self._has_terms(text) else None

    def _counted(self, leaf: Word | Phrase | Prefix) -> Query:
        self._clauses += 1
        if self._clauses > SEARCH_CLAUSES:
            raise bad_request(f"The search text has more than {SEARCH_CLAUSES} clauses.\r\nParameter name: search")
        return leaf


def _depth(query: Query | None) -> int:
    if isinstance(query, Not):
        return 1 + _depth(query.operand)
    if isinstance(query, Combined):
        return 1 + max(map(_depth, query.operands))
    return 0
