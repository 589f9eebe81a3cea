"""Fill the template of a profile, which makes an entry of a proposal."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from memnet.domain.core.scope import Json

ID: Final = "$id"
TEXT: Final = "$text"
SAID: Final = "$said"
"""The value of a member that a proposal fills; its schema is that of the section's items."""
TOPIC: Final = "$topic"
CLAIMANT: Final = "$claimant"
"""The code of the claimant of the turn."""
PLACEHOLDERS: Final = frozenset({ID, TEXT, SAID, TOPIC, CLAIMANT, "$confidence", "$evidence", "$time", "$date"})
MARK: Final = "$"
SCALARS: Final[tuple[str, ...]] = ("string", "number", "integer", "boolean")
"""The types that a member with $said may have, besides null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The values of the placeholders."""

    id: str
    text: str
    confidence: float
    evidence: Mapping[str, Any]
    time: str
    """The source time, as `domain.timestamps` writes it."""
    said: Mapping[str, Json] = field(default_factory=dict)
    """The proposed values of the members with $said; the entry lacks the others."""
    topic: str | None = None
    """The topic of the turn; None: the entry lacks the member."""
    claimed_by: str | None = None
    """The code of the claimant; None: the entry lacks the member."""

    def values(self) -> dict[str, Json]:
        """Return the values by placeholder."""
        return {
            ID: self.id,
            TEXT: self.text,
            TOPIC: self.topic,
            CLAIMANT: self.claimed_by,
            "$confidence": self.confidence,
            "$evidence": dict(self.evidence),
            "$time": self.time,
            "$date": self.time[: len("2026-02-14")],
        }


def fill(template: Json, entry: Entry) -> Json:
    """Return the template with every placeholder, at any depth, replaced by its value."""
    if not isinstance(template, dict):
        return _filled(template, entry.values())
    said = set(said_members(template))
    filled = {
        name: entry.said.get(name) if name in said else _filled(template[name], entry.values()) for name in template
    }
    optional = {name for name, value in template.items() if value in (SAID, TOPIC, CLAIMANT)}
    return {name: value for name, value in filled.items() if value is not None or name not in optional}


def renew(old: Json, template: Json, entry: Entry) -> Json:
    """Return the entry that replaces `old`, with its id and the members that the template lacks."""
    new = fill(template, entry)
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    kept_ids = {name: old[name] for name, value in template.items() if value == ID and name in old}
    kept = {name: value for name, value in old.items() if template.get(name) != SAID}
    return {**kept, **new, **kept_ids}


def placeholders(template: Json) -> Iterator[str]:
    """Yield every text in the template that has the form of a placeholder."""
    if isinstance(template, str):
        if template.startswith(MARK):
            yield template
    elif isinstance(template, dict):
        for value in template.values():
            yield from placeholders(value)
    elif isinstance(template, list):
        for value in template:
            yield from placeholders(value)


def text_member(template: Mapping[str, Json]) -> str:
    """Return the member that takes the text."""
    return next((name for name, value in template.items() if value == TEXT), "text")


def said_members(template: Mapping[str, Json]) -> list[str]:
    """Return the members that a proposal fills, in order."""
    return [name for name, value in template.items() if value == SAID]


def kept_by_service(template: Mapping[str, Json]) -> frozenset[str]:
    """Return the members that only the service sets: those with other placeholders than $text and $said."""
    proposed = {TEXT, SAID}
    return frozenset(name for name, value in template.items() if set(placeholders(value)) - proposed)


def _filled(template: Json, values: Mapping[str, Json]) -> Json:
    if isinstance(template, str):
        return values.get(template, template)
    if isinstance(template, dict):
        return {name: _filled(value, values) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, values) for value in template]
    return template
