"""What a model is given to join statements in one text each, and which of its texts are used.

The statements are quoted as data. A text is used only if every word and number of it occurs in the statements that it
joins, so that it says nothing that was not said.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from memnet.domain.core.model_output import read_as
from memnet.domain.core.scope import Json
from memnet.domain.core.text import normalize, strip_invisible
from memnet.domain.core.words import plain_words, stem, words
from memnet.domain.documents.model_order import is_order
from memnet.domain.replay.prompt_input import quoted_line
from memnet.domain.upkeep.consolidation import Joint
from memnet.domain.upkeep.near_statements import have_the_same_names
from memnet.domain.upkeep.turning_words import count_turning_words

SCHEMA_NAME: Final = "joined_statements"
MAX_JOINTS: Final = 10
"""Texts of one call; the others wait for a later run."""
MAX_MATERIAL: Final = 60_000
"""Characters of the material of one call."""
MAX_TEXT: Final = 1_000
"""Characters of a text."""
MAX_OUTPUT: Final = 40_000
"""The longest output that is read, in characters."""
SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {
        "joined": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"group": {"type": "integer"}, "text": {"type": "string"}},
                "required": ["group", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["joined"],
    "additionalProperties": False,
}
"""The output, in the subset of JSON Schema that providers enforce."""


class _Output(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Joined(_Output):
    group: int
    text: Annotated[str, Field(max_length=MAX_TEXT)]


class _Answer(_Output):
    joined: list[_Joined]


@dataclass(frozen=True, slots=True)
class MergedTexts:
    """The texts that are used, by the key of their joint, and how many were refused."""

    texts: Mapping[str, str]
    refused: int


def compose(joints: Sequence[Joint]) -> tuple[str, int]:
    """Return the material, a group of statements on each line, and how many of the joints fit."""
    lines: list[str] = []
    left = MAX_MATERIAL
    for number, joint in enumerate(joints[:MAX_JOINTS], 1):
        line = quoted_line({"group": number, "statements": list(joint.texts)})
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join(["<groups>", *lines, "</groups>"]), len(lines)


def is_usable(output: str) -> bool:
    """Whether an output can be read."""
    return read_as(_Answer, output, MAX_OUTPUT) is not None


def read_output(output: str, joints: Sequence[Joint]) -> MergedTexts:
    """Return the texts of the numbered joints that were shown, the first one for each."""
    answer = read_as(_Answer, output, MAX_OUTPUT)
    texts: dict[str, str] = {}
    refused = 0
    for one in () if answer is None else answer.joined:
        joint = joints[one.group - 1] if 0 < one.group <= len(joints) else None
        if joint is None or joint.key in texts:
            continue
        text = strip_invisible(one.text)
        if is_traced(text, joint):
            texts[joint.key] = text
        else:
            refused += 1
    return MergedTexts(texts, refused)


def is_traced(text: str, joint: Joint) -> bool:
    """Whether a text says what its statements say and nothing else.

    Every word and number of it occurs in them, at least as often; it states the value of the one that stays, it has
    their names and numbers and no word that turns it around, and it is no order to a model.
    """
    said = Counter(word for source in (*joint.texts, *joint.values) for word in normalize(source).split())
    found = Counter(normalize(text).split())
    if not found or not found <= said or is_order(text):
        return False
    known, first = set(map(stem, plain_words(text))), joint.texts[0]
    if count_turning_words(text) != count_turning_words(first) or not have_the_same_names(text, first):
        return False
    marks = [word for word in normalize(joint.stated).split() if not word.isalpha()]
    return all(word in known for word in words(joint.stated)) and all(word in found for word in marks)
