"""What a model is given by the stages `rewrite` and `rerank`, and what of its answers is used.

The question and the candidates are quoted as data, as conversations are. Only short queries, or the numbers of
candidates that were shown, can come of an answer.
"""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from memnet.domain.core.model_output import read_as
from memnet.domain.core.scope import Json
from memnet.domain.core.text import strip_invisible
from memnet.domain.recall.candidate import Candidate
from memnet.domain.replay.prompt_input import quoted_line

MAX_QUERY: Final = 300
"""Characters of a query."""
MAX_TEXT: Final = 1_000
"""Characters of a candidate that a model is given."""
MAX_OUTPUT: Final = 10_000
"""The longest output that is read, in characters."""
QUERIES_NAME: Final = "recall_queries"
ORDER_NAME: Final = "recall_order"


def _object(name: str, items: Json) -> Json:
    """Return a schema in the subset that providers enforce."""
    members = {name: {"type": "array", "items": items}}
    return {"type": "object", "properties": members, "required": [name], "additionalProperties": False}


QUERIES_SCHEMA: Final = _object("queries", {"type": "string"})
ORDER_SCHEMA: Final = _object("order", {"type": "integer"})


class _Output(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Queries(_Output):
    queries: list[Annotated[str, Field(max_length=MAX_QUERY)]]


class _Order(_Output):
    order: list[int]


def compose_question(text: str) -> str:
    """Return the material of `rewrite`."""
    return "\n".join(["<question>", quoted_line({"question": text}), "</question>"])


def compose_candidates(text: str, candidates: Sequence[Candidate]) -> str:
    """Return the material of `rerank`; the candidates are numbered from 1."""
    lines = [quoted_line({"candidate": at, "text": one.text[:MAX_TEXT]}) for at, one in enumerate(candidates, 1)]
    return "\n".join([compose_question(text), "<candidates>", *lines, "</candidates>"])


def read_queries(output: str, asked: str, most: int) -> list[str] | None:
    """Return up to `most` queries, each once and on one line, without the question itself; None: unusable output."""
    found = read_as(_Queries, output, MAX_OUTPUT)
    if found is None:
        return None
    queries = [strip_invisible(query) for query in found.queries]
    return [query for query in dict.fromkeys(queries) if query and query != asked][:most]


def read_order(output: str, candidates: Sequence[Candidate]) -> list[str] | None:
    """Return the keys of the numbered candidates that were shown, each once; None: unusable output."""
    found = read_as(_Order, output, MAX_OUTPUT)
    if found is None:
        return None
    return [candidates[number - 1].key for number in dict.fromkeys(found.order) if 0 < number <= len(candidates)]
