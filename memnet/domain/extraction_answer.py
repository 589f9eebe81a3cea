"""What a model is asked to answer, as JSON Schema, and the reading of what it did answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memnet.domain.document import Json
from memnet.domain.errors import MalformedRequest
from memnet.domain.json_text import parse

SCHEMA_NAME: Final = "memory_extraction"
MAX_ANSWER: Final = 400_000
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


class UnusableAnswer(Exception):
    """The text is not an answer of this form. Single patches may still be bad in a usable one."""


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class AnsweredDigest(_Part):
    """The digest as it was answered."""

    text: str
    keywords: list[str]
    project_ids: list[str]
    entities: list[str] = []


class AnsweredOp(_Part):
    """One operation as it was answered; nothing but a scalar can be proposed."""

    op: Literal["add", "replace"]
    path: str
    value: str | int | float | bool | None


class AnsweredPatch(_Part):
    """One patch as it was answered."""

    target_binding_id: str
    target_path: str
    ops: Annotated[list[AnsweredOp], Field(min_length=1)]
    confidence: Annotated[float, Field(ge=0, le=1)]
    message_ids: list[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; each of the patches is still to be read, because one bad patch spoils no other."""

    digest: AnsweredDigest | None
    patches: Sequence[Json]


def read_answer(text: str) -> Answer:
    """Read what a model answered. Raises UnusableAnswer."""
    if len(text) > MAX_ANSWER:
        raise UnusableAnswer
    try:
        members = parse(text.encode())
        digest, patches = members["digest"], members["patches"]
        if not isinstance(patches, list):
            raise UnusableAnswer
        return Answer(None if digest is None else AnsweredDigest.model_validate(digest), patches)
    except (MalformedRequest, UnicodeEncodeError, ValidationError, KeyError, TypeError) as error:
        raise UnusableAnswer from error


def read_patch(members: Json) -> AnsweredPatch | None:
    """Read one patch of an answer; None if it is none."""
    try:
        return AnsweredPatch.model_validate(members)
    except ValidationError:
        return None
