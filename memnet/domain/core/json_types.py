"""Types of JSON values that several areas share."""

from typing import Annotated, Any

from pydantic import BeforeValidator

Record = dict[str, Any]
"""One audit record, as memnet.domain.documents.audit_record builds it."""


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integer = Annotated[int, BeforeValidator(_whole)]
"""For strict models, which take no other float for an integer (JSON Schema 2020-12 Validation, section 6.1.1)."""
