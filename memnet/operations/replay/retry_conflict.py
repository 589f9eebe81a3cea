"""Have a conflict tried again now."""

from memnet.domain.core.errors import ConflictClosed, Unavailable
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay.conflict import Asked, Conflict, ConflictStatus, Decision, Versions, asked_for
from memnet.operations.replay.attempt_conflict import attempt_conflict
from memnet.operations.replay.read_conflict import HeldConflict, read_conflict
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import Vault

ATTEMPTS = 8


async def retry_conflict(
    scope: UserScope, conflict_id: str, service: Service, *, actor: Actor
) -> tuple[Conflict, Versions | None]:
    """Note who asked for it, try, and return the conflict as it is then, resolved or open.

    What is written is the worker's: who asks for a retry does not become the proposer. Raises InvalidIdentifier,
    ConflictNotFound, ConflictClosed if it was decided before, HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    held = await _note(scope, conflict_id, actor, service.vault)
    await attempt_conflict(held.conflict.job, service, attempt=None)
    held = await read_conflict(scope, conflict_id, vault=service.vault)
    return held.conflict, held.versions


async def _note(scope: UserScope, conflict_id: str, actor: Actor, vault: Vault) -> HeldConflict:
    for _ in range(ATTEMPTS):
        held = await read_conflict(scope, conflict_id, vault=vault)
        if held.conflict.status is not ConflictStatus.OPEN:
            raise ConflictClosed(status=held.conflict.status.value)
        decision = Decision(Asked.RETRY, actor.principal, to_text(vault.clock.now()))
        noted = asked_for(held.conflict, decision)
        try:
            tag = await vault.records.write(noted.key, conflicts.dump(noted), replaces=held.tag)
        except StoreConflict:
            continue
        return HeldConflict(noted, held.versions, tag)
    raise Unavailable(dependency="blob_storage")
