"""Give a replay up."""

from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import Job
from memnet.domain.replay import replay as replays
from memnet.domain.replay.replay import Replay, replay_key
from memnet.operations.replay.unmark_job import unmark_job
from memnet.ports import StoreConflict
from memnet.service import Service

ATTEMPTS = 8


async def fail_replay(job: Job, reason: str, service: Service) -> Replay | None:
    """Record that the replay failed and why (a code, without content), and take its mark away; return the record.

    What was applied stays applied, and storing the same snapshot again goes on from there. One that is finished stays
    as it is; None if there is no such replay. Raises HistoryCorrupt, Unavailable.
    """
    key = replay_key(job.scope, job.job_id)
    for _ in range(ATTEMPTS):
        stored = await service.records.read(key)
        replay = replays.load(stored.data) if stored else None
        if stored is not None and replay is not None and not replay.finished:
            replay = replays.failed(replay, reason, service.clock.now())
            try:
                await service.records.write(key, replays.dump(replay), replaces=stored.storage_etag)
            except StoreConflict:
                continue
        await unmark_job(job, service)
        return replay
    raise Unavailable(dependency="blob_storage")
