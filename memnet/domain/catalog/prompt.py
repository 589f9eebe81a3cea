"""A prompt: the instructions of a model that extracts memory. Released versions are immutable."""

from dataclasses import dataclass

from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.violations import Problem

MAX_PROMPT = 20_000
"""Characters. Every replay sends them to the model."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of a prompt. `sha256` is the hash of the file."""

    prompt_id: str
    version: str
    text: str
    sha256: str


def read_prompt(prompt_id: str, version: str, data: bytes) -> Prompt | Problem:
    """Parse the bytes of a prompt file, or return the problem."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Problem("", "The file is not UTF-8.")
    if not text.strip():
        return Problem("", "is empty")
    if len(text) > MAX_PROMPT:
        return Problem("", f"has {len(text)} characters, more than {MAX_PROMPT}")
    if any(not (character.isprintable() or character in "\n\t") for character in text):
        return Problem("", "contains an invisible character, which a reviewer would miss")
    return Prompt(prompt_id, version, text, sha256_hex(data))
