"""The body of a search request, checked against the index: what is asked for, or the error Azure answers with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from local.emulators.search.errors import SearchError, bad_expression, bad_request, not_supported
from local.emulators.search.filter_types import Predicate, compile_filter
from local.emulators.search.limits import LARGEST_SKIP, ORDER_BY_CLAUSES
from local.emulators.search.query_syntax import Operator
from local.emulators.search.schema import Field, Json
from local.emulators.search.vector_request import VectorQuery, parse_vector_queries

_MEMBERS: Final = {
    "search",
    "filter",
    "orderby",
    "select",
    "searchFields",
    "count",
    "top",
    "skip",
    "searchMode",
    "vectorQueries",
}
_LACKING: Final = {
    "queryType",
    "vectorFilterMode",
    "minimumCoverage",
    "scoringStatistics",
    "sessionId",
    "debug",
    "facets",
    "highlight",
    "highlightPreTag",
    "highlightPostTag",
    "scoringProfile",
    "scoringParameters",
    "semanticConfiguration",
    "semanticErrorHandling",
    "semanticMaxWaitInMilliseconds",
    "semanticQuery",
    "answers",
    "captions",
}


@dataclass(frozen=True)
class OrderBy:
    """One clause of `orderby`; the field is None for `search.score()`."""

    field: Field | None
    descending: bool


@dataclass(frozen=True)
class SearchRequest:
    """A checked search."""

    text: str | None
    operator: Operator
    search_fields: tuple[Field, ...]
    filter: Predicate | None
    order_by: tuple[OrderBy, ...]
    select: tuple[Field, ...]
    vectors: tuple[VectorQuery, ...]
    count: bool
    top: int | None
    skip: int


def parse_search(body: object, fields: Mapping[str, Field]) -> SearchRequest:
    """Check a search request. Raises SearchError: 400 as Azure, 501 for what the emulator lacks."""
    if not isinstance(body, dict):
        raise bad_request("The request is invalid. Details: The body must be an object.")
    _check_members(body)
    return SearchRequest(
        text=_string(body, "search"),
        operator=Operator.AND if _choice(body, "searchMode", ("any", "all")) == "all" else Operator.OR,
        search_fields=_search_fields(body, fields),
        filter=_filter(body, fields),
        order_by=_order_by(body, fields),
        select=parse_select(_string(body, "select"), fields),
        vectors=parse_vector_queries(body.get("vectorQueries"), fields),
        count=_flag(body, "count"),
        top=_number(body, "top", None),
        skip=_number(body, "skip", LARGEST_SKIP) or 0,
    )


def parse_select(text: str | None, fields: Mapping[str, Field]) -> tuple[Field, ...]:
    """Return the selected fields, all retrievable ones when nothing is selected. Raises SearchError (400)."""
    retrievable = tuple(field for field in fields.values() if field.retrievable)
    names = _names(text)
    if not names or "*" in names:
        return retrievable
    chosen = [_known(name, fields, "$select") for name in names]
    for field in chosen:
        if not field.retrievable:
            raise bad_expression(
                f"'{field.name}' is not a retrievable field. Only retrievable fields can be used in select "
                "expressions.",
                "$select",
            )
    return tuple(field for field in retrievable if field in chosen)


def _check_members(body: Json) -> None:
    for member, value in body.items():
        if member in _LACKING:
            if value not in (None, [], "none", "simple"):
                raise not_supported(f"the search parameter '{member}'")
        elif member not in _MEMBERS:
            raise bad_request(
                f"The request is invalid. Details: parameters : The parameter '{member}' in the request payload is not "
                "a valid parameter for the operation 'search'."
            )


def _search_fields(body: Json, fields: Mapping[str, Field]) -> tuple[Field, ...]:
    names = _names(_string(body, "searchFields"))
    if not names:
        return tuple(field for field in fields.values() if field.searchable and not field.is_vector)
    chosen = dict.fromkeys(_known(name, fields, "searchFields") for name in names)
    for field in chosen:
        if not field.searchable or field.is_vector:
            raise bad_request(
                f"The field '{field.name}' in the search field list is not searchable.\r\nParameter name: searchFields"
            )
    return tuple(chosen)


def _filter(body: Json, fields: Mapping[str, Field]) -> Predicate | None:
    text = _string(body, "filter")
    return compile_filter(text, fields) if text is not None and text.strip() else None


def _order_by(body: Json, fields: Mapping[str, Field]) -> tuple[OrderBy, ...]:
    clauses = _names(_string(body, "orderby"))
    if len(clauses) > ORDER_BY_CLAUSES:
        raise bad_request(f"There can be at most {ORDER_BY_CLAUSES} clauses.\r\nParameter name: $orderby")
    return tuple(_clause(clause, fields) for clause in clauses)


def _clause(text: str, fields: Mapping[str, Field]) -> OrderBy:
    name, _, direction = text.partition(" ")
    direction = direction.strip()
    if direction not in ("", "asc", "desc"):
        raise bad_expression(f"Syntax error in '{text}'.", "$orderby")
    if name == "search.score()":
        return OrderBy(None, direction == "desc")
    if name.startswith("geo."):
        raise not_supported("geo.distance in orderby")
    field = _known(name, fields, "$orderby")
    if not field.sortable:
        raise bad_expression(
            f"'{name}' is not a sortable field. Only sortable fields can be used in orderby expressions.", "$orderby"
        )
    return OrderBy(field, direction == "desc")


def _known(name: str, fields: Mapping[str, Field], parameter: str) -> Field:
    field = fields.get(name)
    if field is None:
        raise bad_expression(
            f"Could not find a property named '{name}' on type 'search.document'.", parameter, detail="UnknownField"
        )
    return field


def _names(text: str | None) -> list[str]:
    return [] if text is None or not text.strip() else [part.strip() for part in text.split(",")]


def _string(body: Json, member: str) -> str | None:
    value = body.get(member)
    if value is None or isinstance(value, str):
        return value
    raise _wrong_type(member, "a string")


def _choice(body: Json, member: str, choices: tuple[str, ...]) -> str | None:
    value = _string(body, member)
    if value is None or value in choices:
        return value
    raise bad_request(f"'{value}' is not one of {', '.join(choices)}.\r\nParameter name: {member}")


def _flag(body: Json, member: str) -> bool:
    value = body.get(member)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise _wrong_type(member, "true or false")


def _number(body: Json, member: str, largest: int | None) -> int | None:
    value: Any = body.get(member)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong_type(member, "a whole number")
    if value < 0 or (largest is not None and value > largest):
        limit = f"between 0 and {largest}" if largest is not None else "at least 0"
        raise bad_request(f"The value must be {limit}.\r\nParameter name: ${member}")
    return value


def _wrong_type(member: str, expected: str) -> SearchError:
    return bad_request(f"The request is invalid. Details: parameters : The parameter '{member}' must be {expected}.")
