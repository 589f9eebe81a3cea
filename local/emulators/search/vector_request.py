"""The vector queries of a search request."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from local.emulators.search.errors import SearchError, bad_request, not_supported
from local.emulators.search.limits import DEFAULT_K, LARGEST_K, VECTOR_FIELDS_PER_QUERY
from local.emulators.search.schema import Field, Json
from local.emulators.search.values import Vector, parse_vector

_MEMBERS: Final = {"kind", "vector", "k", "fields", "exhaustive", "weight"}
_LACKING: Final = {"oversampling", "text", "url", "base64Image", "queryRewrites", "threshold", "filterOverride"}


@dataclass(frozen=True)
class VectorQuery:
    """One vector against one field; a query over several fields becomes several of these."""

    field: Field
    vector: Vector
    k: int
    weight: float


def parse_vector_queries(body: object, fields: Mapping[str, Field]) -> tuple[VectorQuery, ...]:
    """Check the vector queries. Raises SearchError (400 or 501)."""
    if body is None:
        return ()
    if not isinstance(body, list) or not all(isinstance(entry, dict) for entry in body):
        raise _refused("The vector queries must be a list of objects.")
    found = tuple(query for entry in body for query in _queries(entry, fields))
    if len(found) > VECTOR_FIELDS_PER_QUERY:
        raise _refused(f"A request can have at most {VECTOR_FIELDS_PER_QUERY} vector fields.")
    return found


def _queries(body: Json, fields: Mapping[str, Field]) -> list[VectorQuery]:
    _check_members(body)
    names = body.get("fields")
    if not isinstance(names, str) or not names.strip():
        raise _refused("A vector query needs 'fields'.", "vectorQueries.fields")
    chosen = [_vector_field(name.strip(), fields) for name in names.split(",")]
    k, weight = _k(body), _weight(body)
    try:
        return [VectorQuery(field, parse_vector(field, body.get("vector")), k, weight) for field in chosen]
    except ValueError as error:
        raise _refused(str(error), "vectorQueries.vector") from None


def _check_members(body: Json) -> None:
    if body.get("kind") in ("text", "imageUrl", "imageBinary"):
        raise not_supported(f"vector queries of kind '{body['kind']}': it has no vectorizer")
    if body.get("kind") != "vector":
        raise _refused("A vector query needs the kind 'vector'.", "vectorQueries.kind")
    for member, value in body.items():
        if member in _LACKING:
            if value is not None:
                raise not_supported(f"the member '{member}' of a vector query")
        elif member not in _MEMBERS:
            raise _refused(f"The member '{member}' of a vector query is unknown.")
    if not isinstance(body.get("exhaustive"), bool | None):
        raise _refused("'exhaustive' must be true or false.", "vectorQueries.exhaustive")


def _vector_field(name: str, fields: Mapping[str, Field]) -> Field:
    field = fields.get(name)
    if field is None:
        raise bad_request(f"Unknown field '{name}' in vector field list.", detail="UnknownField")
    if not field.is_vector:
        raise _refused(f"The field '{name}' in the vector field list is not a vector field.", "vector.fields")
    return field


def _k(body: Json) -> int:
    value: Any = body.get("k")
    if value is None:
        return DEFAULT_K
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_K:
        raise _refused(f"The value must be between 1 and {LARGEST_K}.", "vectorQueries.k")
    return value


def _weight(body: Json) -> float:
    value: Any = body.get("weight")
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise _refused("The weight must be a number above 0.", "vectorQueries.weight")
    return float(value)


def _refused(message: str, parameter: str = "vectorQueries") -> SearchError:
    return bad_request(f"{message}\r\nParameter name: {parameter}", detail="InvalidVectorQuery")
