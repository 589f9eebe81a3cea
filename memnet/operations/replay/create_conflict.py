"""Keep a patch that met a changed document, and have it tried again later."""

from dataclasses import replace

import orjson

from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay.conflict import BACKOFF, Versions, new_conflict
from memnet.domain.replay.proposal import ConflictDetails, Proposal
from memnet.operations.replay.send_job import send_job
from memnet.ports import StoreConflict
from memnet.service import Service
from memnet.stores import KeyRing


async def create_conflict(proposal: Proposal, dispute: ConflictDetails, service: Service, *, rebases: int) -> None:
    """Mark its job, create its record, send the job; a record that stands already is left as it is.

    `rebases` is the number of the last request that was made of the proposal. Raises DecryptionFailed,
    VaultUnavailable, Unavailable; the same call again finishes it.
    """
    now = service.clock.now()
    fresh = new_conflict(proposal, dispute, rebases, now)
    if await service.records.read(fresh.key) is not None:
        return
    await service.marks.mark(fresh.job)
    sealed = await KeyRing(service.vault).seal(fresh.key, Versions(proposal, dispute).dump())
    try:
        await service.records.write(
            fresh.key, conflicts.dump(replace(fresh, sealed=orjson.loads(sealed))), replaces=None
        )
    except StoreConflict:
        # Somebody else's, or this very write applied unseen: the mark has it sent in any case.
        return
    if not await send_job(fresh.job, attempt=fresh.scheduled, due=now + BACKOFF[0], queue=service.queue):
        # An old mark may have been taken away before there was a record.
        await service.marks.mark(fresh.job)
