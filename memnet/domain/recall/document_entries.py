"""The entries of a document as candidates, read from the document as it is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.path_policy import ROOT, lies_within
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.statement_rules import Statements
from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.core.json_types import text_member
from memnet.domain.core.scope import Actor, DocumentKey, ETag, Json
from memnet.domain.documents.claim import claim_of
from memnet.domain.documents.entry import evidence_of, is_expired, rule_of
from memnet.domain.documents.question_choice import is_outdated
from memnet.domain.events.event import Event
from memnet.domain.events.kept_entries import entries_in
from memnet.domain.history.entries import Said, closed_entries, entries_of
from memnet.domain.history.origin import Origin, traced
from memnet.domain.recall.candidate import Candidate, CandidateKind, EntryPlace
from memnet.domain.replay.snapshot import snapshot_key, uri_of

_UNKNOWN = Origin(sequence=0, timestamp="", is_known=False)
_ENTITIES = "entities"


def entries_of_document(
    key: DocumentKey, etag: ETag, content: Json, rules: WriteRules, actor: Actor
) -> list[Candidate]:
    """Return the entries of a document, of every state, in the order of the document."""
    pending = [] if rules.pending_section is None else [rules.pending_section]
    said = entries_of(traced(content, _UNKNOWN), [rules], pending, actor)
    return [
        replace(_candidate(one, key, etag, rules), is_outdated=is_outdated(one.value, content, rules.section_rules))
        for one in said
    ]


def entries_of_events(events: Sequence[Event], key: DocumentKey, section: str, rules: WriteRules) -> list[Candidate]:
    """Return the closed statements that upkeep moved from a section to an event, given with the event's other parts."""
    first = events[0]
    etag = ETag(str(first.evidence_members.get("etag", "")))
    found = closed_entries(entries_in(events), section, [rules], first.timestamp)
    return [
        replace(_candidate(said, key, etag, rules), key=f"event/{first.event_id}/{number}", event_id=first.event_id)
        for number, said in enumerate(found)
    ]


def unexpired(found: Sequence[Candidate], rules: WriteRules, now: datetime) -> Sequence[Candidate]:
    """Return the entries that have not expired by `now`."""
    ending = [rule for rule in rules.section_rules if rule.expires_field is not None]
    if not ending:
        return found
    places = {rule.section: rule for rule in ending}
    return [
        one
        for one in found
        if one.place is None
        or one.place.section not in places
        or not is_expired(one.value, places[one.place.section], now)
    ]


def _candidate(said: Said, key: DocumentKey, etag: ETag, rules: WriteRules) -> Candidate:
    section = said.place[:-1] if said.place[-1].isdecimal() else said.place
    rule = rule_of(section, rules.section_rules)
    place = EntryPlace(
        binding_id=rules.binding.binding_id,
        namespace=key.namespace,
        path=key.path,
        etag=etag,
        section=pointer_text(section),
        pointer=pointer_text((ROOT, *said.place)),
        entry_id=said.entry_id,
    )
    guidance = rules.profile.guidance_sections.get(rules.binding.binding_id, ())
    return Candidate(
        key=f"entry/{key.namespace}/{key.path}{place.pointer}",
        kind=CandidateKind.ENTRY,
        text=said.text,
        said_at=said.validity.valid_from or said.last_verified_at,
        place=place,
        state=said.state,
        validity=said.validity,
        value=said.value,
        subject=None if rule.statements is None else text_member(said.value, rule.statements.about[0]),
        attributes=() if rule.statements is None else _each(said.value, _attributes(rule.statements)),
        stated=None if rule.statements is None else text_member(said.value, rule.statements.value_field),
        claim=claim_of(said.value, rule),
        entities=_texts(said.value, _ENTITIES),
        confidence=said.confidence,
        importance=said.importance,
        is_guidance=any(lies_within(said.place, pointer(one)) for one in guidance),
        **_source(said.value, rule, key),
    )


def _attributes(statements: Statements) -> Sequence[str]:
    """Return what a statement is about besides its subject; the code of a claimant says nothing about it."""
    return [name for name in statements.about[1:] if name != statements.claimed_by_field]


def _source(value: Json, rule: SectionUpkeep, key: DocumentKey) -> Mapping[str, Any]:
    """Return the conversation and the messages that the entry cites first, and `also` the others."""
    cited = []
    for item in evidence_of(value, rule):
        conversation_id, messages = text_member(item, "conversation_id"), _texts(item, "message_ids")
        if conversation_id is not None and messages:
            uri = text_member(item, "snapshot_uri") or _uri(key, conversation_id, text_member(item, "snapshot_id"))
            cited.append({"conversation_id": conversation_id, "message_ids": messages, "snapshot_uri": uri})
    return {**cited[0], "also": cited[1:]} if cited else {}


def _uri(key: DocumentKey, conversation_id: str, snapshot_id: str | None) -> str | None:
    try:
        return None if snapshot_id is None else uri_of(snapshot_key(key.scope, conversation_id, snapshot_id))
    except InvalidIdentifier:
        return None


def _each(value: Json, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(found for name in names if (found := text_member(value, name)) is not None)


def _texts(value: Json, name: str) -> tuple[str, ...]:
    found = value.get(name) if isinstance(value, dict) else None
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()
