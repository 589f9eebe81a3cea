"""Delete the sources of a migration of one unit, once everything that was made of them is verified."""

from collections.abc import Sequence
from dataclasses import dataclass

from memnet.domain.catalog.migration_model import Migration, Unit
from memnet.domain.core.errors import DocumentNotFound, ErasureRunning, ETagMismatch, IdempotencyKeyReused
from memnet.domain.core.scope import Actor, DocumentKey
from memnet.domain.governance.migration_rollback import decommissioning
from memnet.operations.documents.write import delete_document
from memnet.operations.governance.read_migration_unit import Depth, read_migration_unit
from memnet.operations.governance.verify_migration_unit import Verdict, verify_migration_unit
from memnet.service import Service

ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Decommissioned:
    """The sources that were deleted, the verdicts that forbade it, and whether others were faster every time."""

    done: Sequence[DocumentKey] = ()
    differences: Sequence[Verdict] = ()
    postponed: bool = False


async def decommission_unit(unit: Unit, migration: Migration, service: Service, *, actor: Actor) -> Decommissioned:
    """Delete each source in the very version that was verified; a rollback of the migration brings it back.

    A migration in place has no source of its own, and nothing is deleted.
    Raises HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    done: dict[DocumentKey, None] = {}
    for _ in range(ATTEMPTS):
        # Read before the verification: what is written in between makes the deletion fail.
        gathered = await read_migration_unit(unit, migration, Depth.NOTHING, service)
        verdicts = await verify_migration_unit(unit, migration, service)
        differences = [verdict for verdict in verdicts if verdict.difference]
        due = [(found, found.live) for found in gathered.sources.values() if found.live]
        if differences or migration.in_place or not due:
            return Decommissioned(list(done), tuple(differences))
        try:
            for found, head in due:
                command = decommissioning(found, head, migration=migration, actor=actor)
                await delete_document(command, service)
                done[found.key] = None
            return Decommissioned(list(done))
        except (ETagMismatch, DocumentNotFound, IdempotencyKeyReused, ErasureRunning):
            continue
    return Decommissioned(list(done), postponed=True)
