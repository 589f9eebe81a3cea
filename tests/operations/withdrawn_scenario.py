"""Two conversations that were replayed, with what they left: events, documents, a conflict, searchable messages."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from memnet.adapters.memory.models import ScriptedModels
from memnet.adapters.process.background import BackgroundTasks
from memnet.domain.core.access import Role
from memnet.domain.core.errors import ConflictNotFound, ReplayNotFound
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor
from memnet.domain.core.user_item import ItemKind
from memnet.domain.events.event import EventKey
from memnet.domain.governance.retraction import Retraction
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.governance.withdrawn import PlannedItem, Withdrawal
from memnet.domain.replay import replay as replays
from memnet.domain.replay.proposal import ConflictDetails
from memnet.domain.replay.replay import Replay, replay_key
from memnet.domain.replay.replay_plan import event_id_of
from memnet.domain.replay.snapshot import replay_id_of, snapshot_key
from memnet.operations.governance.retractions import apply_retraction, plan_retraction
from memnet.operations.governance.run_retraction import run_retraction
from memnet.operations.governance.withdrawn_items import apply_item, plan_items, undo_item
from memnet.operations.replay.closed_sources import close_source, open_source
from memnet.operations.replay.proposals import create_conflict
from memnet.operations.replay.replays import replay_snapshot
from memnet.ports import StoredBlob
from memnet.service import Service
from memnet.stores import ErasureStore, ItemStore, Search, SearchRegister, Vault
from tests.domain.replay_samples import proposal
from tests.memory_blobs import storage_of
from tests.operations.replay_scenario import FACT, PREFERENCE, RecordingQueue, answer
from tests.operations.storage_calls import METHODS
from tests.operations.turn_search_scenario import ONE, TurnWorld, said
from tests.services import service_of

POISONED = Source(kind=SourceKind.CONVERSATION, conversation_id="c1")
ADMIN = Actor("admin@bank", frozenset({Role.ADMIN}))
WITHDRAWAL = Withdrawal("rtr-1", POISONED)


class Killed(BaseException):
    """The process ends here."""


@dataclass
class WithdrawnWorld(TurnWorld):
    """A storage in which c1 and c2 were said; `work` is what a worker does with a replay."""

    models: Any = field(default_factory=lambda: ScriptedModels([answer(PREFERENCE, FACT)]))
    queue: RecordingQueue = field(default_factory=RecordingQueue)

    def process(self) -> Service:
        records, fences = ItemStore(self.blobs), ErasureStore(self.blobs)
        search = Search(self.index, SearchRegister(self.blobs, fresh_seconds=0), fences, self.embedder)
        vault = Vault(records, self.keys, self.ids, self.clock)
        parts = {"vault": vault, "records": records, "erasures": fences, "search": search, "catalog": self.catalog}
        return service_of(**parts, models=self.models, queue=self.queue)

    async def say(self, conversation_id: str, snapshot_id: str = "s1", *texts: str) -> Job:
        """Store a conversation and return the job of its replay."""
        spoken = texts or (f"I prefer concise answers, says {conversation_id}.", "I lead the retrieval team.")
        messages = [said(f"m{number}", text, at=number) for number, text in enumerate(spoken, start=1)]
        stored = await self.store(conversation_id, *messages, snapshot_id=snapshot_id)
        return Job(JobKind.REPLAY, ONE.tenant_id, ONE.user_id, stored.replay_id)

    async def work(self, job: Job, service: Service | None = None) -> Replay:
        service = service or self.service
        try:
            return await replay_snapshot(job, service)
        finally:
            await drain(service)

    async def fill(self) -> None:
        """Have both conversations said, replayed and indexed; the replay of c1 has left a conflict."""
        for conversation_id in ("c1", "c2"):
            await self.work(await self.say(conversation_id))
        replay_id = replay_id_of(snapshot_key(ONE, "c1", "s1"))
        evidence = {"conversation_id": "c1", "replay_id": replay_id, "message_ids": ["m1"]}
        disputed = proposal(replay_id=replay_id, index=9, evidence=evidence)
        await create_conflict(disputed, DETAILS, self.service, rebases=0)
        await self.settle()

    async def plan(self, source: Source = POISONED) -> list[PlannedItem]:
        return await plan_items(ONE, source, self.service)

    async def take_out(self, withdrawal: Withdrawal = WITHDRAWAL, service: Service | None = None) -> None:
        """Close the source and take out what rests on it, as a retraction does."""
        service = service or self.service
        await close_source(ONE, withdrawal, service)
        for item in await plan_items(ONE, withdrawal.source, service):
            await apply_item(ONE, item, withdrawal, service)

    async def put_back(self, items: Sequence[PlannedItem], withdrawal: Withdrawal = WITHDRAWAL) -> list[bool]:
        await open_source(ONE, withdrawal.retraction_id, self.service)
        return [await undo_item(ONE, item, withdrawal, self.service) for item in reversed(items)]

    async def retract(self, source: Source = POISONED) -> Retraction:
        """Plan a retraction and have it applied; its job is sent, and not run."""
        asked: dict[str, Any] = {"actor": ADMIN, "idempotency_key": "k1"}
        planned = (await plan_retraction(ONE, source, "It was poisoned.", self.service, **asked)).retraction
        return await apply_retraction(ONE, planned.retraction_id, planned.etag, self.service, actor=ADMIN)

    async def run_jobs(self, *jobs: Job, service: Service | None = None) -> None:
        """Do these jobs and all that were sent, one after the other, as the session of the user has it."""
        waiting = [*jobs, *self._sent()]
        while waiting:
            job = waiting.pop(0)
            with suppress(ReplayNotFound, ConflictNotFound):
                if job.kind is JobKind.REPLAY:
                    await self.work(job, service)
                elif job.kind is JobKind.RETRACTION:
                    await run_retraction(job, service or self.service)
            await drain(service or self.service)
            waiting += self._sent()

    def _sent(self) -> list[Job]:
        sent = [job for job, _, _ in self.queue.sent]
        self.queue.sent.clear()
        return sent

    async def replay_of(self, conversation_id: str, snapshot_id: str = "s1") -> Replay:
        key = replay_key(ONE, replay_id_of(snapshot_key(ONE, conversation_id, snapshot_id)))
        stored = await self.service.records.read(key)
        assert stored is not None
        return replays.load(stored.data)

    async def event_of(self, conversation_id: str) -> bytes | None:
        replay_id = replay_id_of(snapshot_key(ONE, conversation_id, "s1"))
        return await self.service.events.get(EventKey(ONE, event_id_of(replay_id)))

    def stored(self, *folders: str) -> dict[str, bytes]:
        """The bytes of the user's blobs in these folders, by name."""
        storage = storage_of(self.service.records)
        prefixes = tuple(f"{ONE.prefix}{folder}/" for folder in folders)
        return {name: storage.data(name) for name in storage.names(ONE.prefix) if name.startswith(prefixes)}

    def contents(self) -> dict[str, Any]:
        """The contents of the user's documents, by name."""
        return {name: orjson.loads(data)["content"] for name, data in self.stored("documents").items()}

    def kept(self) -> dict[str, bytes]:
        """The bytes of everything that a retraction can take out."""
        return self.stored("snapshots", "events", "replays", "conflicts")

    async def marked_jobs(self) -> list[Job]:
        return [row.job for row in (await self.service.marks.list(limit=100, cursor=None)).items]

    async def copies(self) -> list[str]:
        page = await self.service.records.list(ONE, ItemKind.WITHDRAWN, limit=100, cursor=None)
        return [key.name for key in page.items]


DETAILS = ConflictDetails(reason="changed", etag=None, content={})


class Between:
    """Calls `at` before the storage call number `number` of a world; counts the calls."""

    def __init__(self, world: WithdrawnWorld, number: int, at: Callable[[], Awaitable[object]]) -> None:
        self.calls: list[str] = []
        self._number, self._at, self._is_active = number, at, True
        self._storage = storage_of(world.service.records)
        self._own = {method: getattr(self._storage, method) for method in METHODS}
        for method, call in self._own.items():
            setattr(self._storage, method, self._watched(method, call))

    def stop(self) -> None:
        """Let further calls pass."""
        for method, call in self._own.items():
            setattr(self._storage, method, call)

    def _watched(self, method: str, call: Any) -> Any:
        async def watched(name: str, *arguments: Any, **options: Any) -> StoredBlob | Any:
            if self._is_active:
                self.calls.append(f"{method} {name}")
                if len(self.calls) == self._number:
                    self._is_active = False
                    await self._at()
            return await call(name, *arguments, **options)

        return watched


async def drain(service: Service) -> None:
    """Wait for the work after the answers."""
    assert isinstance(service.background, BackgroundTasks)
    await service.background.drain()


async def killed() -> None:
    raise Killed
