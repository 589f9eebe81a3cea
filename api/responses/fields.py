"""The models of successful responses, for the OpenAPI document: the fields that several of them share.

The routes send bytes; no response passes through these models. A field of type `Omitted` may be missing.
"""

from typing import Annotated, TypeAlias, TypeVar

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from memnet.domain.core.scope import Json

T = TypeVar("T")
Absent: TypeAlias = Annotated[None, SkipJsonSchema()]
Omitted: TypeAlias = T | Absent
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
OptionalTime = Annotated[str | None, Field(json_schema_extra={"format": "date-time"})]
Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(ge=0)]
Object = dict[str, Json]


class Page(BaseModel):
    """One page of a list."""

    next_cursor: str | None


class Located(BaseModel):
    """A row that names a document."""

    namespace: str
    path: str
