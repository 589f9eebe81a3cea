"""The events that hold what leaves a document: searchable text, and each entry with all that belongs to it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES, Evidence
from memnet.domain.core.scope import RESERVED, DocumentKey, ETag, Json
from memnet.domain.events.event import MAX_DIGEST, Event
from memnet.domain.upkeep.maintenance import MaintenancePlan

ID_CHARS = 40
MAX_SERVICE_ID = 128

Part = tuple[str, dict[str, Any]]
"""The digest of one event, and what its evidence holds of the entries."""


def detail_events(
    plan: MaintenancePlan,
    key: DocumentKey,
    etag: ETag,
    rules: WriteRules,
    *,
    source_type: str,
    service_id: str,
    timestamp: str,
) -> list[Event]:
    """The events of a plan on the version `etag`, written at `timestamp`, of a document.

    They follow from the version and the entries alone, whoever makes them and when: a run that is repeated writes the
    same events again. Each holds its entries as `evidence.entries`, one too long for an event in several parts.
    """
    texts = {rule.section: rule.text_field for rule in rules.profile.upkeep_rules.get(rules.binding.binding_id, ())}
    filled = rules.binding.value_in(key)
    events = []
    for detail in plan.details:
        origin = {"namespace": key.namespace, "path": key.path, "etag": etag, "section": detail.section}
        room = MAX_EVIDENCE_BYTES - len(canonical({**origin, "entries": []}))
        for text, members in _parts(detail.entries, texts[detail.section], room):
            seed = canonical([key.blob_name, origin, text, members])
            events.append(
                Event(
                    event_id=f"{RESERVED}{source_type}-{sha256_hex(seed)[:ID_CHARS]}",
                    service_id=service_id[:MAX_SERVICE_ID],
                    timestamp=timestamp,
                    source_type=source_type,
                    digest=text,
                    project_ids=[] if filled is None else [filled],
                    evidence=Evidence.model_validate({**origin, **members}),
                )
            )
    return events


def entries_in(events: Sequence[Event]) -> list[Json]:
    """The entries that the events hold, put together again."""
    whole: list[Json] = []
    parts: dict[str, dict[int, str]] = defaultdict(dict)
    for event in events:
        members = event.evidence.members() if event.evidence else {}
        whole += members.get("entries", [])
        if "entry" in members:
            parts[members["entry"]][members["part"]] = event.digest
    texts = {name: "".join(text for _, text in sorted(found.items())) for name, found in parts.items()}
    return whole + [orjson.loads(text) for name, text in texts.items() if sha256_hex(text.encode()) == name]


def _parts(entries: Sequence[Json], text_field: str, room: int) -> Iterator[Part]:
    texts: list[str] = []
    held: list[Json] = []
    for entry in entries:
        text = _text(entry, text_field)
        if texts and not _fits([*texts, text], [*held, entry], room):
            yield _joined(texts), {"entries": held}
            texts, held = [], []
        if _fits([text], [entry], room):
            texts, held = [*texts, text], [*held, entry]
        else:
            yield from _slices(entry)
    if texts:
        yield _joined(texts), {"entries": held}


def _fits(texts: list[str], entries: list[Json], room: int) -> bool:
    return len(_joined(texts)) <= MAX_DIGEST and len(canonical(entries)) - len(b"[]") <= room


def _joined(texts: list[str]) -> str:
    return "\n".join(texts)


def _slices(entry: Json) -> Iterator[Part]:
    text = canonical(entry).decode()
    count = -(-len(text) // MAX_DIGEST)
    for part in range(count):
        piece = text[part * MAX_DIGEST : (part + 1) * MAX_DIGEST]
        yield piece, {"entry": sha256_hex(text.encode()), "part": part + 1, "parts": count}


def _text(entry: Json, text_field: str) -> str:
    text = entry.get(text_field) if isinstance(entry, dict) else entry
    return text if isinstance(text, str) and text.strip() else canonical(entry).decode()
