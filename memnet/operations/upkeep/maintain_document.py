"""Keep one document up by one profile's rules: plan, prove, write the events, then change it in one audited patch."""

import logging
from dataclasses import dataclass
from enum import StrEnum

from memnet.domain.catalog.catalog import WriteRules, protected_sections
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
from memnet.domain.core.scope import Actor, DocumentKey
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import IfMatch, PatchDocument
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.write_decision import Decision, decide_maintenance
from memnet.domain.upkeep.maintenance import MaintenancePlan, Planner, lost
from memnet.domain.upkeep.maintenance_event import detail_events, entries_in
from memnet.operations.documents.write import commit_change
from memnet.operations.events.write_event import write_event
from memnet.service import Service
from memnet.stores import DocumentStore

KEY_HASH_CHARS = 16
log = logging.getLogger(__name__)


class Outcome(StrEnum):
    """What came of one document and one profile."""

    UNTOUCHED = "untouched"
    CHANGED = "changed"
    POSTPONED = "postponed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """The outcome, and the plan where there was one; `problem` says why it was refused, without content."""

    profile_id: str
    binding_id: str
    outcome: Outcome
    plan: MaintenancePlan | None = None
    problem: str | None = None


async def maintain_document(
    key: DocumentKey,
    rules: WriteRules,
    planner: Planner,
    service: Service,
    *,
    reason: Reason,
    actor: Actor,
    dry_run: bool,
) -> MaintenanceResult:
    """Do what `planner` decides on the newest version, once a version, however many try.

    Another writer who is faster, or an erasure, postpones it to the next run. It is refused, with a line in the log, if
    a durable entry would be lost or a check of the write fails; then the document is as it was. On a dry run nothing is
    written, and CHANGED means that it would be. Raises HistoryCorrupt, VaultUnavailable,
    CatalogConflict, Unavailable.
    """
    named = (rules.profile.profile_id, rules.binding.binding_id)
    head = await _newest(key, service.documents)
    if head is None:
        return MaintenanceResult(*named, Outcome.UNTOUCHED)
    # A document under an unknown schema version is planned for all the same, and the write refuses it.
    rules = rules.at(head.schema_id, head.schema_version) or rules
    around = protected_sections(service.catalog, key, head.commit.etag)
    plan = planner(head.content, rules, around, service.clock.now())
    if not plan.ops:
        return MaintenanceResult(*named, Outcome.UNTOUCHED, plan)
    told = detail_events(
        plan,
        key,
        head.commit.etag,
        rules,
        source_type=reason.value,
        service_id=actor.principal,
        timestamp=head.updated_at,
    )
    missing = lost(head.content, plan, rules, around, told=entries_in(told))
    if missing:
        problem = f"would lose what is durable in {', '.join(place or 'the rest of the document' for place in missing)}"
        return _refused(key, named, plan, problem)
    command = PatchDocument(
        key=key,
        actor=actor,
        precondition=IfMatch(head.commit.etag),
        idempotency_key=_idempotency_key(reason, head, rules),
        profile_id=named[0],
        binding_id=named[1],
        ops=plan.ops,
        reason=reason,
        evidence={"event_ids": [event.event_id for event in told], "entries": plan.counts()},
        dry_run=dry_run,
    )

    def decide(newest: Envelope | None) -> Decision:
        return decide_maintenance(command, rules, newest)

    try:
        # Whatever would refuse the patch does so before an event is written.
        _check_admitted(rules, actor)
        decide(head)
        for event in () if dry_run else told:
            await write_event(key.scope, event, service)
        await commit_change(command, decide, service)
    except (ETagMismatch, DocumentNotFound, IdempotencyKeyReused, ErasureRunning):
        # The key can only have come with another body if another run saw this version at another time.
        return MaintenanceResult(*named, Outcome.POSTPONED, plan)
    except (Unavailable, VaultUnavailable, HistoryCorrupt, CatalogConflict):
        raise
    except MemnetError as error:
        return _refused(key, named, plan, error.code.value)
    return MaintenanceResult(*named, Outcome.CHANGED, plan)


async def _newest(key: DocumentKey, documents: DocumentStore) -> Envelope | None:
    stored = await documents.get(key)
    head = envelope.load(stored.data) if stored else None
    return None if head is None or head.deleted else head


def _check_admitted(rules: WriteRules, actor: Actor) -> None:
    if not rules.profile.admits(actor.principal):
        raise ProfileForbidden


def _idempotency_key(reason: Reason, head: Envelope, rules: WriteRules) -> str:
    """One for each version and profile."""
    seed = canonical([head.commit.etag, rules.profile.profile_id, rules.binding.binding_id])
    return f"{reason}-{head.commit.sequence}-{sha256_hex(seed)[:KEY_HASH_CHARS]}"


def _refused(key: DocumentKey, named: tuple[str, str], plan: MaintenancePlan, problem: str) -> MaintenanceResult:
    log.error("upkeep refused: %s", problem, extra={"document": key.blob_name, "profile_id": named[0]})
    return MaintenanceResult(*named, Outcome.REFUSED, plan, problem)
