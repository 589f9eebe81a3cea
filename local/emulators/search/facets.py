"""Facets: the values of a field among the documents found, with their counts.

`field,count:N,sort:count|-count|value|-value` and, for numbers and times, `field,values:a|b|c`. Intervals are refused.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from local.emulators.search.errors import SearchError, bad_request, not_supported
from local.emulators.search.schema import EdmType, Field
from local.emulators.search.values import Value, comparable, from_json, sort_number

_SORTS: Final = {"count", "-count", "value", "-value"}
_RANGED: Final = {EdmType.INT32, EdmType.INT64, EdmType.DOUBLE, EdmType.DATE_TIME_OFFSET}
DEFAULT_COUNT: Final = 10


@dataclass(frozen=True)
class Facet:
    """One facet expression."""

    field: Field
    count: int = DEFAULT_COUNT
    sort: str = "count"
    boundaries: tuple[Value, ...] = ()


def parse_facet(text: str, fields: Mapping[str, Field]) -> Facet:
    """Read a facet expression. Raises SearchError (400 or 501)."""
    name, *parameters = (part.strip() for part in text.split(","))
    field = fields.get(name)
    if field is None:
        raise _refused(f"Could not find a property named '{name}' on type 'search.document'.")
    if not field.facetable:
        raise _refused(f"'{name}' is not a facetable field. Only facetable fields can be used in facet expressions.")
    found: dict[str, str] = {}
    for parameter in parameters:
        key, colon, value = parameter.partition(":")
        if not colon or key in found:
            raise _refused(f"'{parameter}' is not a parameter of a facet, or is there twice.")
        found[key] = value
    return _facet(field, found)


def _facet(field: Field, parameters: dict[str, str]) -> Facet:
    for key in parameters:
        if key in ("interval", "timeoffset"):
            raise not_supported(f"the facet parameter '{key}'")
        if key not in ("count", "sort", "values"):
            raise _refused(f"Unknown facet parameter '{key}'.")
    if "values" in parameters and len(parameters) > 1:
        raise _refused("The facet parameter 'values' cannot be combined with others.")
    count, sort = parameters.get("count", str(DEFAULT_COUNT)), parameters.get("sort", "count")
    if not (count.isascii() and count.isdigit() and 1 <= int(count) <= 2**31 - 1):
        raise _refused(f"The facet's count '{count}' is not a number from 1.")
    if sort not in _SORTS:
        raise _refused(f"A facet cannot be sorted by '{sort}'.")
    boundaries = _boundaries(field, parameters["values"]) if "values" in parameters else ()
    return Facet(field, int(count), sort, boundaries)


def _boundaries(field: Field, text: str) -> tuple[Value, ...]:
    if field.type not in _RANGED:
        raise _refused(f"The facet parameter 'values' needs numbers or times; '{field.name}' has none.")
    try:
        found = tuple(_boundary(field.type, part.strip()) for part in text.split("|"))
    except ValueError:
        raise _refused(f"The boundaries '{text}' do not fit the type '{field.type}'.") from None
    numbers = [comparable(field.type, boundary) for boundary in found]
    if numbers != sorted(set(numbers)):
        raise _refused("The boundaries of a facet must rise.")
    return found


def _boundary(edm_type: EdmType, text: str) -> Value:
    if edm_type is EdmType.DATE_TIME_OFFSET:
        return from_json(edm_type, text)
    return from_json(edm_type, float(text) if edm_type is EdmType.DOUBLE else int(text))


def count_facet(facet: Facet, documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the facet's buckets; a document counts once in a bucket."""
    if facet.boundaries:
        return _ranges(facet, documents)
    counts: Counter[Value] = Counter()
    for document in documents:
        value = document[facet.field.name]
        if facet.field.collection:
            counts.update(set(value))
        elif value is not None:
            counts[value] += 1
    ordered = sorted(counts.items(), key=lambda entry: _order(facet.field, entry[0]))
    if facet.sort == "-value":
        ordered.reverse()
    elif facet.sort != "value":
        ordered.sort(key=lambda entry: entry[1], reverse=facet.sort == "count")
    return [{"value": value, "count": count} for value, count in ordered[: facet.count]]


def _order(field: Field, value: Value) -> Any:
    return value if field.type is EdmType.STRING else sort_number(field.type, value)


def _ranges(facet: Facet, documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    edges: Sequence[Value | None] = (None, *facet.boundaries, None)
    buckets = []
    for low, high in pairwise(edges):
        bucket: dict[str, Any] = {"count": sum(_falls(facet.field, document, low, high) for document in documents)}
        if low is not None:
            bucket["from"] = low
        if high is not None:
            bucket["to"] = high
        buckets.append(bucket)
    return buckets


def _falls(field: Field, document: Mapping[str, Any], low: Value | None, high: Value | None) -> bool:
    found = document[field.name]
    numbers = [comparable(field.type, value) for value in (found if field.collection else [found]) if value is not None]
    least = -math.inf if low is None else comparable(field.type, low)
    limit = math.inf if high is None else comparable(field.type, high)
    return any(least <= number and (number < limit or high is None) for number in numbers)


def _refused(message: str) -> SearchError:
    return bad_request(f"{message}\r\nParameter name: facet", detail="InvalidFacet")
