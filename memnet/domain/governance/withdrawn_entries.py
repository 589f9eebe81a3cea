"""The entries that upkeep moved to events: which of them rest on a source, and the event without these."""

from collections.abc import Mapping, Sequence
from typing import Any

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.evidence import POINTERS, Evidence
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import ALSO, evidence_with
from memnet.domain.events.event import MAX_DIGEST, Event
from memnet.domain.events.kept_entries import ENTRIES, whole_entries
from memnet.domain.governance.source import Source, parts_of
from memnet.domain.governance.withdrawn import Fate

ID_CHARS = 40
_NAMES = frozenset({*POINTERS, "replay_id", "extraction"})


def fate_of_event(event: Event, source: Source) -> Fate | None:
    """Return what happens to an event when a source is taken back; None: nothing, it does not rest on it."""
    if event.event_id == source.event_id or source.acted(event.service_id, event.timestamp):
        return Fate.REMOVE
    if source.cites({**event.evidence_members, "snapshot_uri": event.snapshot_uri}):
        return Fate.REMOVE
    left = strip_entries(whole_entries(event), source)
    if left is None:
        return None
    return Fate.STRIP if left else Fate.REMOVE


def strip_entries(entries: Sequence[Json], source: Source) -> list[Json] | None:
    """Return the entries without what rests on a source; None if nothing does.

    An entry goes if all its evidence names the source. One with other evidence stays without that of the source. Of an
    entry without evidence nothing is known, so it stays.
    """
    left = [kept for entry in entries if (kept := _stripped(entry, source)) is not None]
    return None if left == list(entries) else left


def _stripped(entry: Json, source: Source) -> Json:
    if not isinstance(entry, dict):
        return entry
    changed = {}
    for name, member in entry.items():
        if not isinstance(member, dict) or _NAMES.isdisjoint(member) or not source.cites(member):
            continue
        parts = [_without_also(part) for part in parts_of(member)]
        kept = [part for part in parts if part and not source.cites(part)]
        if not kept:
            return None
        changed[name] = evidence_with(kept)
    return {**entry, **changed}


def _without_also(part: Mapping[str, Json]) -> dict[str, Any]:
    return {name: member for name, member in part.items() if name != ALSO}


def with_entries(event: Event, entries: Sequence[Json], texts: Sequence[str]) -> Event:
    """Return the event that replaces one of upkeep and holds only these entries; `texts` are those of its digest.

    Its id follows from the replaced event and the entries, and begins as that of the replaced one.
    """
    evidence = {**event.evidence_members, ENTRIES: list(entries)}
    kind = event.event_id.rpartition("-")[0]
    return event.model_copy(
        update={
            "event_id": f"{kind}-{sha256_hex(canonical([event.event_id, list(entries)]))[:ID_CHARS]}",
            "digest": "\n".join(texts)[:MAX_DIGEST] or event.source_type,
            "evidence": Evidence.model_validate(evidence),
        }
    )
