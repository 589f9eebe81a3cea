"""Have a replay that was given up tried again, without the conversation being sent once more."""

from memnet.domain.core.errors import ReplayNotFound, Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import UserScope
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import Replay, ReplayStatus, replay_key, requeued
from memnet.operations.replay.send_job import send_job
from memnet.ports import StoreConflict
from memnet.service import Service

ATTEMPTS = 4


async def retry_replay(scope: UserScope, replay_id: str, service: Service) -> Replay:
    """Mark the job, have a failed replay wait again, send the job; one that has not failed stays as it is.

    Raises InvalidIdentifier, ReplayNotFound, HistoryCorrupt, Unavailable.
    """
    job = Job(JobKind.REPLAY, scope.tenant_id, scope.user_id, replay_id)
    for _ in range(ATTEMPTS):
        stored = await service.records.read(replay_key(scope, replay_id))
        if stored is None:
            raise ReplayNotFound()
        replay = replays.load(stored.data)
        if replay.status is not ReplayStatus.FAILED:
            return replay
        await service.marks.mark(job)
        replay = requeued(replay, service.clock.now())
        try:
            await service.records.write(replay.key, replays.dump(replay), replaces=stored.storage_etag)
        except StoreConflict:
            continue
        if not await send_job(job, attempt=replay.attempts, due=None, queue=service.queue):
            await service.marks.mark(job)
        return replay
    raise Unavailable(dependency="blob_storage")
