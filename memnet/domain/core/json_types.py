"""Types of JSON values that several areas share."""

from dataclasses import fields
from typing import Annotated, Any

from pydantic import BeforeValidator

Record = dict[str, Any]
"""One audit record, as memnet.domain.documents.audit_record builds it."""


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integer = Annotated[int, BeforeValidator(_whole)]
"""For strict models, which take no other float for an integer (JSON Schema 2020-12 Validation, section 6.1.1)."""


def members_of(record: Any, *without: str) -> dict[str, Any]:
    """Return the members of a dataclass by name, as they are, but not those in `without`."""
    return {field.name: getattr(record, field.name) for field in fields(record) if field.name not in without}


def known_members(record: Any) -> dict[str, Any]:
    """Return the members of a dataclass that are not None."""
    return present(**members_of(record))


def present(**members: Any) -> dict[str, Any]:
    """Return the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def text_member(value: Any, name: str | None) -> str | None:
    """Return a member of an object, if it is a text."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None
