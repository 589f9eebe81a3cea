"""An integer as JSON Schema counts it: 163.0 is one."""

from typing import Annotated

from pydantic import BeforeValidator


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integer = Annotated[int, BeforeValidator(_whole)]
"""For strict models, which take no other float for an integer (JSON Schema 2020-12 Validation, section 6.1.1)."""
