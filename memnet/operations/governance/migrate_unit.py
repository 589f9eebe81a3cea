"""Migrate the documents of one unit: decide on the newest versions, write, and look once more."""

from dataclasses import replace

from memnet.domain.catalog.migration_model import Migration, Unit
from memnet.domain.core.errors import (
    DocumentExists,
    DocumentNotFound,
    ErasureRunning,
    ETagMismatch,
    IdempotencyKeyReused,
)
from memnet.domain.core.scope import Actor, DocumentKey
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.write_decision import Decision, decide_replacement
from memnet.domain.governance.migration_plan import MigrationAction, MigrationDecision, decide
from memnet.operations.documents.write import commit_change
from memnet.operations.governance.read_migration_unit import Depth, read_migration_unit
from memnet.service import Service

ATTEMPTS = 20
"""Each is lost only to another writer who was faster."""


async def migrate_unit(
    unit: Unit, migration: Migration, service: Service, *, actor: Actor, dry_run: bool = False
) -> list[MigrationDecision]:
    """Write every target that is not made yet, each exactly once, and return what became of each.

    If one of them cannot be made, none is written. A version that comes meanwhile is migrated, too. On a dry run
    nothing is written, and CREATE and REPLACE say what would be. Raises HistoryCorrupt,
    VaultUnavailable, Unavailable.
    """
    depth = Depth.NOTHING if migration.in_place else Depth.NEWEST
    written: dict[DocumentKey, MigrationDecision] = {}
    decisions: list[MigrationDecision] = []
    for _ in range(ATTEMPTS):
        gathered = await read_migration_unit(unit, migration, depth, service)
        decisions = decide(migration, unit, gathered, service.catalog, actor)
        due = [decision for decision in decisions if decision.command]
        stuck = any(decision.standing is MigrationAction.FAILED for decision in decisions)
        if dry_run or stuck or not due:
            return [_told(decision, written, blocked=stuck) for decision in decisions]
        try:
            for decision in due:
                await _write(decision, service)
                written[decision.key] = decision
        except (ETagMismatch, DocumentExists, DocumentNotFound, IdempotencyKeyReused, ErasureRunning):
            continue
    return [replace(d, standing=MigrationAction.POSTPONED, command=None) if d.command else d for d in decisions]


def _told(
    decision: MigrationDecision, written: dict[DocumentKey, MigrationDecision], *, blocked: bool
) -> MigrationDecision:
    if decision.standing is MigrationAction.DONE and decision.key in written:
        return written[decision.key]
    if blocked and decision.command:
        return replace(
            decision, standing=MigrationAction.FAILED, command=None, problem="another of its targets cannot be made"
        )
    return decision


async def _write(decision: MigrationDecision, service: Service) -> None:
    command, rules = decision.command, decision.rules
    if command is None or rules is None:
        return

    def decided(head: Envelope | None) -> Decision:
        return decide_replacement(command, rules, head)

    await commit_change(command, decided, service)
