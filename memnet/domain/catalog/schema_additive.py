"""Prove that a schema version is additive: all content of the older version is valid.

The proof compares the two texts keyword by keyword and allows a short list of changes. It is sound, not complete: some
harmless changes are refused. Within `not`, `if`, `oneOf` and `contains` a wider schema can make the whole narrower, so
only annotations may change there.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions

from memnet.domain.catalog.schema_shape import ANNOTATIONS, find
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.core.violations import Problem

ADDITIVE_TO = "x-additive-to"
"""The top-level member that names the older version."""

UP = frozenset({"maxLength", "maxItems", "maxProperties", "maxContains", "maximum", "exclusiveMaximum"})
DOWN = frozenset({"minLength", "minItems", "minProperties", "minContains", "minimum", "exclusiveMinimum"})
"""The limits that an additive version may raise, and those it may lower."""
FREE = (ANNOTATIONS - {"$anchor"}) | {"$id", "$schema"}
WIDENING = (
    *("items", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties"),
    *("then", "else"),
)
"""Keywords whose schema may change additively."""
CHANGED = "was changed: an additive version may add optional properties, widen limits and add enum values"


def check_additive(older: dict[str, Any], newer: dict[str, Any]) -> list[Problem]:
    """Return every change from `older` to `newer` that is not allowed. Both must be valid schemas."""
    return list(_Comparison(older, newer).compare(older, newer, "", exact=False))


class _Comparison:
    """Two texts of one schema. References within a text are followed in both."""

    def __init__(self, older: dict[str, Any], newer: dict[str, Any]) -> None:
        self._older, self._newer = older, newer
        self._seen: set[tuple[str, bool]] = set()

    def compare(self, older: Json, newer: Json, at: str, *, exact: bool) -> Iterator[Problem]:
        """Yield the problems at `at`; with `exact`, every change except annotations."""
        if not (isinstance(older, dict) and isinstance(newer, dict)):
            if older is not newer:
                yield Problem(at, CHANGED)
            return
        for keyword in sorted(_asserting(older) | _asserting(newer)):
            place = at + pointer_text([keyword])
            if keyword == "properties":
                yield from self._properties(older, newer, place, exact=exact)
            elif keyword not in older:
                yield Problem(place, "is new: the older version has no such rule here")
            elif keyword not in newer:
                yield Problem(place, "is gone: the older version has this rule")
            else:
                yield from self._keyword(keyword, older[keyword], newer[keyword], place, exact=exact)

    def _keyword(self, keyword: str, older: Json, newer: Json, at: str, *, exact: bool) -> Iterator[Problem]:
        if keyword in WIDENING:
            yield from self.compare(older, newer, at, exact=exact)
        elif keyword in ("not", "if", "contains"):
            yield from self.compare(older, newer, at, exact=True)
        elif keyword in ("allOf", "anyOf", "prefixItems", "oneOf"):
            yield from self._list(older, newer, at, exact=exact or keyword == "oneOf")
        elif keyword in ("patternProperties", "dependentSchemas"):
            yield from self._named(older, newer, at, exact=exact)
        elif keyword == "$ref":
            yield from self._reference(older, newer, at, exact=exact)
        elif keyword in ("$dynamicRef", "$dynamicAnchor"):
            yield Problem(at, "cannot be proven: use $ref")
        elif keyword in ("required", "type") and _values(older) == _values(newer):
            return
        elif not _same(older, newer) and (exact or not _is_wider(keyword, older, newer)):
            yield Problem(at, CHANGED)

    def _list(self, older: list[Json], newer: list[Json], at: str, *, exact: bool) -> Iterator[Problem]:
        if len(older) != len(newer):
            yield Problem(at, CHANGED)
            return
        for index, (one, other) in enumerate(zip(older, newer, strict=True)):
            yield from self.compare(one, other, f"{at}/{index}", exact=exact)

    def _named(
        self, older: Mapping[str, Json], newer: Mapping[str, Json], at: str, *, exact: bool
    ) -> Iterator[Problem]:
        if older.keys() != newer.keys():
            yield Problem(at, CHANGED)
            return
        for name in older:
            yield from self.compare(older[name], newer[name], at + pointer_text([name]), exact=exact)

    def _properties(self, older: dict[str, Any], newer: dict[str, Any], at: str, *, exact: bool) -> Iterator[Problem]:
        before, after = older.get("properties", {}), newer.get("properties", {})
        for name in before:
            place = at + pointer_text([name])
            if name not in after:
                yield Problem(place, "is gone: the older version has this property")
            else:
                yield from self.compare(before[name], after[name], place, exact=exact)
        for name in sorted(after.keys() - before.keys()):
            schema = after[name]
            takes_all = schema is True or (isinstance(schema, dict) and not _asserting(schema))
            if exact:
                yield Problem(at + pointer_text([name]), CHANGED)
            elif not (_is_closed(older, name) or takes_all):
                yield Problem(
                    at + pointer_text([name]),
                    "is new in an object that is open: the older version takes any value there",
                )

    def _reference(self, older: str, newer: str, at: str, *, exact: bool) -> Iterator[Problem]:
        if older != newer:
            yield Problem(at, CHANGED)
        elif newer.startswith("#") and (newer, exact) not in self._seen:
            self._seen.add((newer, exact))
            before, after = find(newer[1:], self._older), find(newer[1:], self._newer)
            if before is None or after is None:
                yield Problem(at, CHANGED)
            else:
                yield from self.compare(before[1], after[1], after[0], exact=exact)


def _asserting(schema: dict[str, Any]) -> set[str]:
    return {keyword for keyword in schema if keyword not in FREE and not keyword.startswith("x-")}


def _is_closed(schema: dict[str, Any], name: str) -> bool:
    return schema.get("additionalProperties") is False and not any(
        Draft202012Validator({"pattern": pattern}, pattern_options=RegexOptions()).is_valid(name)
        for pattern in schema.get("patternProperties", {})
    )


def _is_wider(keyword: str, older: Json, newer: Json) -> bool:
    if keyword in UP:
        return bool(newer >= older)
    if keyword in DOWN:
        return bool(newer <= older)
    return keyword == "enum" and _values(older) <= _values(newer)


def _values(value: Json) -> frozenset[bytes]:
    return frozenset(canonical(one) for one in (value if isinstance(value, list) else [value]))


def _same(older: Json, newer: Json) -> bool:
    return canonical(older) == canonical(newer)
