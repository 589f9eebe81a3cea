"""Maintain documents by the upkeep rules of profiles: compact them, and keep them fresh.

Plan, prove that nothing durable is lost, write the events, then change the document in one audited patch. How
statements that say the same become one is in `consolidation`.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from memnet.domain.catalog.catalog import ProtectedSections, WriteRules, protected_sections
from memnet.domain.catalog.rules import WORTH
from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import (
    CatalogConflict,
    DocumentNotFound,
    ErasureRunning,
    ETagMismatch,
    HistoryCorrupt,
    IdempotencyKeyReused,
    MemnetError,
    ProfileForbidden,
    Unavailable,
    VaultUnavailable,
)
from memnet.domain.core.evidence import EvidenceMembers
from memnet.domain.core.scope import Actor, DocumentKey, Json
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import IfMatch, PatchDocument
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.write_decision import Decision, decide_maintenance
from memnet.domain.events.event import Event
from memnet.domain.events.kept_entries import entries_in
from memnet.domain.history.origin_links import MERGED
from memnet.domain.upkeep.compaction import plan_compaction
from memnet.domain.upkeep.consolidation import Joint
from memnet.domain.upkeep.freshness import plan_freshness
from memnet.domain.upkeep.maintenance import (
    MaintenancePlan,
    Planner,
    detail_events,
    find_lost,
    profiles_maintaining,
)
from memnet.domain.upkeep.merges import merged_rows
from memnet.operations.documents.write import commit_change
from memnet.operations.events.write_event import write_event
from memnet.service import Service

KEY_HASH_CHARS = 16
log = logging.getLogger(__name__)


class Kind(StrEnum):
    """What maintains a document; the idempotency keys of its changes begin with it."""

    COMPACTION = "compaction"
    FRESHNESS = "freshness"
    CONSOLIDATION = "consolidation"


REASONS = {Kind.COMPACTION: Reason.COMPACTION, Kind.FRESHNESS: Reason.FRESHNESS, Kind.CONSOLIDATION: Reason.COMPACTION}
Prove = Callable[[Json, MaintenancePlan, WriteRules], tuple[str, ...]]
"""Returns the sections in which something would be lost."""


class Outcome(StrEnum):
    """The outcome for one document and one profile."""

    UNTOUCHED = "untouched"
    CHANGED = "changed"
    POSTPONED = "postponed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """The outcome, and the plan if there is one; `problem` says without content why it was refused or postponed."""

    profile_id: str
    binding_id: str
    outcome: Outcome
    plan: MaintenancePlan | None = None
    problem: str | None = None
    joints: Sequence[Joint] = ()
    """Of a dry run of consolidation: the statements that a model would be asked to join."""


async def compact_document(
    key: DocumentKey, service: Service, *, actor: Actor, dry_run: bool = False
) -> Sequence[MaintenanceResult]:
    """Merge equal entries, remove expired ones and trim sections, by the rules of each profile in order of ids.

    The uses of entries are read if a rule trims by worth. Raises HistoryCorrupt, VaultUnavailable, CatalogConflict,
    Unavailable.
    """
    maintaining = profiles_maintaining(service.catalog, key)
    sections = [rule for rules in maintaining for rule in rules.section_rules]
    is_by_worth = any(WORTH in rule.trim_by for rule in sections)
    counted = await service.usage.read(key.scope) if is_by_worth else {}
    planner = partial(plan_compaction, uses=counted.get(key, {}))
    return [
        await maintain_document(key, rules, planner, service, Kind.COMPACTION, actor=actor, dry_run=dry_run)
        for rules in maintaining
    ]


async def refresh_document(
    key: DocumentKey, service: Service, *, actor: Actor, dry_run: bool = False
) -> Sequence[MaintenanceResult]:
    """Remove expired entries and return stale ones for confirmation, by the rules of each profile in order of ids.

    Raises HistoryCorrupt, VaultUnavailable, CatalogConflict, Unavailable.
    """
    planner = partial(plan_freshness, proposer=actor.principal)
    return [
        await maintain_document(key, rules, planner, service, Kind.FRESHNESS, actor=actor, dry_run=dry_run)
        for rules in profiles_maintaining(service.catalog, key)
    ]


async def maintain_document(
    key: DocumentKey,
    rules: WriteRules,
    planner: Planner,
    service: Service,
    kind: Kind,
    *,
    actor: Actor,
    dry_run: bool,
) -> MaintenanceResult:
    """Apply the plan for the current version, once per version, however many runs there are.

    A faster writer or an erasure postpones it to the next run. It is refused and logged, and the document unchanged, if
    a durable entry would be lost or a check of the write fails. A dry run writes nothing; CHANGED then means that it
    would be changed. Raises HistoryCorrupt, VaultUnavailable, CatalogConflict, Unavailable.
    """
    found = await find_maintained(key, rules, service)
    if found is None:
        return MaintenanceResult(rules.profile.profile_id, rules.binding.binding_id, Outcome.UNTOUCHED)
    plan = planner(found.current.content, found.rules, found.protected, service.clock.now())
    return await apply_plan(found, plan, service, kind, actor=actor, dry_run=dry_run)


@dataclass(frozen=True, slots=True)
class Maintained:
    """A version of a document, with the rules of one profile for its schema and the sections that all protect."""

    key: DocumentKey
    current: Envelope
    rules: WriteRules
    protected: ProtectedSections


async def find_maintained(key: DocumentKey, rules: WriteRules, service: Service) -> Maintained | None:
    """Return the current version of a document; None: there is none. Raises HistoryCorrupt, Unavailable."""
    stored = await service.documents.get(key)
    current = envelope.load(stored.data) if stored else None
    if current is None or current.deleted:
        return None
    # A document with an unknown schema version is planned as well, and the write refuses it.
    known = rules.at(current.schema_id, current.schema_version) or rules
    return Maintained(key, current, known, protected_sections(service.catalog, key, current.commit.etag))


async def apply_plan(
    found: Maintained,
    plan: MaintenancePlan,
    service: Service,
    kind: Kind,
    *,
    actor: Actor,
    dry_run: bool,
    prove: Prove | None = None,
) -> MaintenanceResult:
    """Apply the plan for a version as `maintain_document` does; `prove` checks it further. Raises the same."""
    key, current, rules, reason = found.key, found.current, found.rules, REASONS[kind]
    names = (rules.profile.profile_id, rules.binding.binding_id)
    if not plan.ops:
        return MaintenanceResult(*names, Outcome.UNTOUCHED, plan)
    etag, source, service_id = current.commit.etag, reason.value, actor.principal
    events = detail_events(
        plan, key, etag, rules, source_type=source, service_id=service_id, timestamp=current.updated_at
    )
    lost = find_lost(current.content, plan, rules, found.protected, saved=entries_in(events))
    lost += () if prove is None else prove(current.content, plan, rules)
    if lost:
        problem = f"would lose durable content of {', '.join(part or 'the rest of the document' for part in lost)}"
        return _refused(key, names, plan, problem)
    command = PatchDocument(
        key=key,
        actor=actor,
        precondition=IfMatch(etag),
        idempotency_key=_idempotency_key(kind, current, rules),
        profile_id=names[0],
        binding_id=names[1],
        ops=plan.ops,
        reason=reason,
        evidence=_evidence(found, plan, events),
        dry_run=dry_run,
    )

    def decide(newest: Envelope | None) -> Decision:
        return decide_maintenance(command, rules, newest)

    try:
        # The patch is checked before an event is written.
        _check_admitted(rules, actor)
        decide(current)
        for event in () if dry_run else events:
            await write_event(key.scope, event, service)
        await commit_change(command, decide, service)
    except (ETagMismatch, DocumentNotFound, IdempotencyKeyReused, ErasureRunning):
        # The key is reused only if another run planned this version at another time.
        return MaintenanceResult(*names, Outcome.POSTPONED, plan)
    except (Unavailable, VaultUnavailable, HistoryCorrupt, CatalogConflict):
        raise
    except MemnetError as error:
        return _refused(key, names, plan, error.code.value)
    return MaintenanceResult(*names, Outcome.CHANGED, plan)


def _evidence(found: Maintained, plan: MaintenancePlan, events: Sequence[Event]) -> EvidenceMembers:
    rows = merged_rows(found.current.content, plan, found.rules.section_rules, found.rules.pending_section)
    merged = {MERGED: rows} if rows else {}
    return {"event_ids": [event.event_id for event in events], "entries": plan.counts(), **merged}


def _check_admitted(rules: WriteRules, actor: Actor) -> None:
    if not rules.profile.admits(actor.principal):
        raise ProfileForbidden


def _idempotency_key(kind: Kind, current: Envelope, rules: WriteRules) -> str:
    """Return the key of this version and profile."""
    seed = canonical([current.commit.etag, rules.profile.profile_id, rules.binding.binding_id])
    return f"{kind}-{current.commit.sequence}-{sha256_hex(seed)[:KEY_HASH_CHARS]}"


def _refused(key: DocumentKey, names: tuple[str, str], plan: MaintenancePlan, problem: str) -> MaintenanceResult:
    log.error("upkeep refused: %s", problem, extra={"document": key.blob_name, "profile_id": names[0]})
    return MaintenanceResult(*names, Outcome.REFUSED, plan, problem)
