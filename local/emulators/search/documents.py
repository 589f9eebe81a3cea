"""Documents and the actions of a batch: from the request's JSON to what the index keeps."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from local.emulators.search.errors import SearchError, bad_request
from local.emulators.search.limits import ACTIONS_PER_BATCH, KEY_CHARACTERS, TERM_BYTES
from local.emulators.search.schema import EdmType, Field, IndexDefinition
from local.emulators.search.values import Vector, from_json, parse_vector

_KEY: Final = re.compile(r"[A-Za-z0-9_\-=]+")


class ActionType(StrEnum):
    """What to do with a document."""

    UPLOAD = "upload"
    MERGE = "merge"
    MERGE_OR_UPLOAD = "mergeOrUpload"
    DELETE = "delete"


@dataclass(frozen=True)
class Document:
    """A stored document; `values` has every field that is no vector, `vectors` the vectors it has."""

    key: str
    values: dict[str, Any]
    vectors: dict[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True)
class Action:
    """One action of a batch; the changes hold only what the request named."""

    type: ActionType
    key: str
    values: dict[str, Any]
    vectors: dict[str, Vector]


def parse_batch(body: object, definition: IndexDefinition) -> list[Action]:
    """Check a whole batch. Raises SearchError (400): as in Azure one wrong action refuses the batch."""
    actions = body.get("value") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(actions, list) or set(body) - {"value", "@odata.context"}:
        raise bad_request("The request is invalid. Details: The body must be an object with the list 'value'.")
    if not 1 <= len(actions) <= ACTIONS_PER_BATCH:
        raise bad_request(
            f"Found {len(actions)} indexing actions in the request. Please include between 1 and {ACTIONS_PER_BATCH} "
            "indexing actions in your request."
        )
    return [_action(position, action, definition) for position, action in enumerate(actions)]


def _action(position: int, body: object, definition: IndexDefinition) -> Action:
    if not isinstance(body, dict):
        raise _refused(position, "An indexing action must be an object.")
    try:
        kind = ActionType(body.get("@search.action") or ActionType.UPLOAD)
    except ValueError:
        raise _refused(position, f"Unknown indexing action '{body['@search.action']}'.") from None
    changes = {name: value for name, value in body.items() if name != "@search.action"}
    for name in changes:
        if name not in definition.fields:
            raise bad_request(
                f"The request is invalid. Details: The property '{name}' does not exist on type "
                "'search.documentFields'. Make sure to only use property names that are defined by the type."
            )
    key = parse_key(position, changes.get(definition.key.name))
    if kind is ActionType.DELETE:
        return Action(kind, key, {}, {})
    values = {
        name: _value(definition.fields[name], value)
        for name, value in changes.items()
        if not definition.fields[name].is_vector
    }
    vectors = {
        name: _vector(position, definition.fields[name], value)
        for name, value in changes.items()
        if definition.fields[name].is_vector
    }
    return Action(kind, key, values, vectors)


def parse_key(position: int, key: object) -> str:
    """Check the key of an action. Raises SearchError (400)."""
    if key is None or key == "":
        raise _refused(position, "Document key cannot be missing or empty.", "MissingKeyField")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise _refused(
            position,
            f"Invalid document key: '{key}'. Keys can only contain letters, digits, underscore (_), dash (-), or equal "
            "sign (=). If the keys in your source data contain other characters, we recommend encoding them with a "
            "URL-safe version of Base64 before uploading them to your index.",
            "InvalidDocumentKey",
        )
    if key.startswith("_"):
        raise _refused(
            position,
            f"Invalid document key: '{key}'. Keys cannot start with a leading underscore.",
            "InvalidDocumentKey",
        )
    if len(key) > KEY_CHARACTERS:
        raise _refused(
            position,
            f"Invalid document key: '{key}'. Keys cannot be longer than {KEY_CHARACTERS} characters.",
            "InvalidDocumentKey",
        )
    return key


def _value(declared: Field, value: Any) -> Any:
    """Return a value, a list of values, or None for null. Raises SearchError (400)."""
    if not declared.collection:
        return None if value is None else _single(declared, value)
    if value is None:
        raise bad_request(
            f"The request is invalid. Details: A null value was found for the property named '{declared.name}', which "
            f"has the expected type '{declared.type_name}[Nullable=False]'. The expected type does not allow null "
            "values."
        )
    if not isinstance(value, list):
        raise _mistyped(declared, value)
    return [_single(declared, element) for element in value]


def _single(declared: Field, value: Any) -> Any:
    try:
        return from_json(declared.type, value)
    except ValueError:
        raise _mistyped(declared, value) from None


def _mistyped(declared: Field, value: object) -> SearchError:
    return bad_request(
        f"The request is invalid. Details: Cannot convert the literal '{str(value)[:100]}' to the expected type "
        f"'{declared.type_name}' (property '{declared.name}')."
    )


def _vector(position: int, declared: Field, value: Any) -> Vector:
    try:
        return parse_vector(declared, value)
    except ValueError as error:
        raise _refused(position, str(error), code="OperationNotAllowed") from None


def uploaded(action: Action, definition: IndexDefinition) -> Document:
    """Return the document an upload makes: what is not named is null, or empty for a collection."""
    values = {**empty_values(definition.fields), **action.values}
    return Document(action.key, values, action.vectors)


def merged(action: Action, document: Document) -> Document:
    """Return the document a merge makes of an existing one: what is named is replaced whole."""
    return Document(action.key, {**document.values, **action.values}, {**document.vectors, **action.vectors})


def empty_values(fields: Mapping[str, Field]) -> dict[str, Any]:
    """Return the values of a document of which nothing is known."""
    return {name: [] if found.collection else None for name, found in fields.items() if not found.is_vector}


def oversized_term(document: Document, fields: Mapping[str, Field]) -> str | None:
    """Return the name of a field with a string too long to filter, sort or facet by, or None."""
    for name, value in document.values.items():
        declared = fields[name]
        exact = declared.filterable or declared.sortable or declared.facetable
        if declared.type is EdmType.STRING and exact:
            texts = value if declared.collection else [value or ""]
            if any(len(text) * 4 > TERM_BYTES and len(text.encode()) > TERM_BYTES for text in texts):
                return name
    return None


def _refused(position: int, message: str, detail: str = "", code: str = "InvalidRequestParameter") -> SearchError:
    return bad_request(f"The request is invalid. Details: actions : {position}: {message}", detail=detail, code=code)
