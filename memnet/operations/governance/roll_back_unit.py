"""Take a migration of one unit back: put the versions before it in place again, as new, audited changes."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

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
from memnet.domain.documents.write_decision import Decision
from memnet.domain.governance.migration_rollback import Return, changed_since, removal, restoration, returns
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import commit_change, delete_document
from memnet.operations.governance.read_migration_unit import Depth, read_migration_unit
from memnet.operations.history.audit_records import read_records
from memnet.service import Service

ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class RolledBack:
    """The documents that went back, those that were `refused` because others wrote to them since, and whether others
    were faster every time.
    """

    done: Sequence[DocumentKey] = ()
    refused: Sequence[DocumentKey] = ()
    postponed: bool = False


async def roll_back_unit(
    unit: Unit, migration: Migration, service: Service, *, actor: Actor, force: bool = False
) -> RolledBack:
    """Bring back the version before the migration's first change; what was not there before is deleted.

    Sources that were decommissioned come back first. If others have written to one of the targets since, nothing goes
    back, unless by `force`. Raises HistoryCorrupt or VersionNotFound where the version is no longer to be rebuilt,
    VaultUnavailable, Unavailable.
    """
    done: dict[DocumentKey, None] = {}
    for _ in range(ATTEMPTS):
        gathered = await read_migration_unit(unit, migration, Depth.FIRST, service)
        refused = [] if force else changed_since(gathered)
        due = returns(gathered)
        if refused or not due:
            return RolledBack(list(done), refused)
        try:
            for back in due:
                await _go_back(back, migration, actor, service)
                done[back.key] = None
        except (ETagMismatch, DocumentExists, DocumentNotFound, IdempotencyKeyReused, ErasureRunning):
            continue
    return RolledBack(list(done), postponed=True)


async def _go_back(back: Return, migration: Migration, actor: Actor, service: Service) -> None:
    if back.to_sequence is None:
        deletion = removal(back, migration=migration, actor=actor)
        await delete_document(deletion, service)
        return
    view = await get_document(back.key, service, as_of=back.change_id())
    (record,) = await read_records(back.key.scope, back.head, back.to_sequence, back.to_sequence, audit=service.audit)
    command, draft = restoration(back, orjson.loads(view.document), record, migration=migration, actor=actor)

    def decided(head: Envelope | None) -> Decision:
        return draft

    await commit_change(command, decided, service)
