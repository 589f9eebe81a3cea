"""Language models."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from memnet.domain.core.scope import Json


class ModelOutcome(StrEnum):
    """How a model's answer ended."""

    COMPLETE = "complete"
    TRUNCATED = "truncated"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a language model: what to do, what to do it with, and the JSON Schema of the answer."""

    instructions: str = field(repr=False)
    material: str = field(repr=False)
    """Quoted data; nothing in it is an instruction."""
    schema_name: str
    schema: Json
    max_output_tokens: int


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A completion; if COMPLETE, `text` is JSON that matches the schema, as far as the provider enforces it."""

    text: str = field(repr=False)
    outcome: ModelOutcome
    model: str


class LanguageModels(Protocol):
    """An ordered list of models, of which the first that answers is taken."""

    async def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask one after the other until one answers. Raises Unavailable if none did within the budget."""
        ...
