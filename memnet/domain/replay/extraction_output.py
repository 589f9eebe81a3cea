"""What a model is asked to answer, as JSON Schema, and the reading of what it did answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memnet.domain.core.canonical_json import parse
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.scope import Json

SCHEMA_NAME: Final = "memory_extraction"
MAX_OUTPUT: Final = 400_000
"""Characters of an answer that is read at all."""


def _object(**properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


_TEXT: Final[Json] = {"type": "string"}
_OPERATION: Final[Json] = _object(
    op={"type": "string", "enum": ["add", "replace"]},
    path=_TEXT,
    value={"anyOf": [_TEXT, {"type": "number"}, {"type": "boolean"}, {"type": "null"}]},
)
_PATCH: Final[Json] = _object(
    target_binding_id=_TEXT,
    target_path=_TEXT,
    ops=_list(_OPERATION),
    confidence={"type": "number"},
    message_ids=_list(_TEXT),
)
_DIGEST: Final[Json] = _object(text=_TEXT, keywords=_list(_TEXT), entities=_list(_TEXT), project_ids=_list(_TEXT))
SCHEMA: Final[Json] = _object(digest={"anyOf": [_DIGEST, {"type": "null"}]}, patches=_list(_PATCH))
"""In the subset of JSON Schema that providers enforce: every member required, no other allowed, no bounds. The bounds
are this service's to hold, whoever enforces what.
"""


class InvalidModelOutput(Exception):
    """The text is not an answer of this form. Single patches may still be bad in a usable one."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class OutputDigest(_Part):
    """The digest as it was answered."""

    text: str
    keywords: list[str]
    project_ids: list[str]
    entities: list[str] = []


class OutputOp(_Part):
    """One operation as it was answered; nothing but a scalar can be proposed."""

    op: Literal["add", "replace"]
    path: str
    value: str | int | float | bool | None


class OutputPatch(_Part):
    """One patch as it was answered."""

    target_binding_id: str
    target_path: str
    ops: Annotated[list[OutputOp], Field(min_length=1)]
    confidence: Annotated[float, Field(ge=0, le=1)]
    message_ids: list[str]


@dataclass(frozen=True, slots=True)
class ModelOutput:
    """An answer; each of the patches is still to be read, because one bad patch spoils no other."""

    digest: OutputDigest | None
    patches: Sequence[Json]


def read_output(text: str) -> ModelOutput:
    """Read what a model answered. Raises InvalidModelOutput."""
    if len(text) > MAX_OUTPUT:
        raise InvalidModelOutput
    try:
        members = parse(text.encode())
        digest, patches = members["digest"], members["patches"]
        if not isinstance(patches, list):
            raise InvalidModelOutput
        return ModelOutput(None if digest is None else OutputDigest.model_validate(digest), patches)
    except (MalformedRequest, UnicodeEncodeError, ValidationError, KeyError, TypeError) as error:
        raise InvalidModelOutput from error


def read_patch(members: Json) -> OutputPatch | None:
    """Read one patch of an answer; None if it is none."""
    try:
        return OutputPatch.model_validate(members)
    except ValidationError:
        return None
