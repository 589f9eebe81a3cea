"""Fill the template of a profile, which makes an entry of a proposed text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from memnet.domain.core.scope import Json

ID: Final = "$id"
TEXT: Final = "$text"
PLACEHOLDERS: Final = frozenset({ID, TEXT, "$confidence", "$evidence", "$time", "$date"})
MARK: Final = "$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The values of the placeholders."""

    id: str
    text: str
    confidence: float
    evidence: Mapping[str, Any]
    time: str
    """The source time, as `domain.timestamps` writes it."""

    def values(self) -> dict[str, Json]:
        """Return the values by placeholder."""
        return {
            ID: self.id,
            TEXT: self.text,
            "$confidence": self.confidence,
            "$evidence": dict(self.evidence),
            "$time": self.time,
            "$date": self.time[: len("2026-02-14")],
        }


def fill(template: Json, entry: Entry) -> Json:
    """Return the template with every placeholder, at any depth, replaced by its value."""
    return _filled(template, entry.values())


def renew(old: Json, template: Json, entry: Entry) -> Json:
    """Return the entry that replaces `old`, with its id and the members that the template lacks."""
    new = fill(template, entry)
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    kept_ids = {name: old[name] for name, value in template.items() if value == ID and name in old}
    return {**old, **new, **kept_ids}


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


def kept_by_service(template: Mapping[str, Json]) -> frozenset[str]:
    """Return the members that only the service sets: those with other placeholders than $text."""
    return frozenset(name for name, value in template.items() if any(found != TEXT for found in placeholders(value)))


def _filled(template: Json, values: Mapping[str, Json]) -> Json:
    if isinstance(template, str):
        return values.get(template, template)
    if isinstance(template, dict):
        return {name: _filled(value, values) for name, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, values) for value in template]
    return template
