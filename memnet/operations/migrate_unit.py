"""Migrate the documents of one unit: decide on the newest versions, write, and look once more."""

from dataclasses import replace

from memnet.domain.document import Actor, DocumentKey
from memnet.domain.draft import Draft, draft_replacement
from memnet.domain.envelope import Envelope
from memnet.domain.errors import DocumentExists, DocumentNotFound, ErasureRunning, ETagMismatch, IdempotencyKeyReused
from memnet.domain.migration import Migration, Unit
from memnet.domain.migration_plan import Decision, Standing, decide
from memnet.operations.commit_change import commit_change
from memnet.operations.read_migration_unit import Depth, read_migration_unit
from memnet.service import Service

ATTEMPTS = 20
"""Each is lost only to another writer who was faster."""


async def migrate_unit(
    unit: Unit, migration: Migration, service: Service, *, actor: Actor, dry_run: bool = False
) -> list[Decision]:
    """Write every target that is not made yet, each exactly once, and return what became of each.

    If one of them cannot be made, none is written. A version that comes meanwhile is migrated, too. On a dry run
    nothing is written, and CREATE and REPLACE say what would be. Raises HistoryBroken,
    VaultUnavailable, Unavailable.
    """
    depth = Depth.NOTHING if migration.in_place else Depth.NEWEST
    written: dict[DocumentKey, Decision] = {}
    decisions: list[Decision] = []
    for _ in range(ATTEMPTS):
        gathered = await read_migration_unit(unit, migration, depth, service)
        decisions = decide(migration, unit, gathered, service.catalog, actor)
        due = [decision for decision in decisions if decision.command]
        stuck = any(decision.standing is Standing.FAILED for decision in decisions)
        if dry_run or stuck or not due:
            return [_told(decision, written, blocked=stuck) for decision in decisions]
        try:
            for decision in due:
                await _write(decision, service)
                written[decision.key] = decision
        except (ETagMismatch, DocumentExists, DocumentNotFound, IdempotencyKeyReused, ErasureRunning):
            continue
    return [replace(d, standing=Standing.POSTPONED, command=None) if d.command else d for d in decisions]


def _told(decision: Decision, written: dict[DocumentKey, Decision], *, blocked: bool) -> Decision:
    if decision.standing is Standing.DONE and decision.key in written:
        return written[decision.key]
    if blocked and decision.command:
        return replace(
            decision, standing=Standing.FAILED, command=None, problem="another of its targets cannot be made"
        )
    return decision


async def _write(decision: Decision, service: Service) -> None:
    command, rules = decision.command, decision.rules
    if command is None or rules is None:
        return

    def decided(head: Envelope | None) -> Draft:
        return draft_replacement(command, rules, head)

    await commit_change(command, decided, service)
