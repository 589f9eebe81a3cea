"""Replays on memory adapters: a user with a project, a conversation about it, and a scripted model."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.memory.keys import MemoryTenantKeys
from memnet.adapters.memory.models import ScriptedModels
from memnet.adapters.process.background import BackgroundTasks
from memnet.adapters.process.no_semantic_router import NoSemanticRouter
from memnet.domain.core.access import Reason
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.core.user_item import ItemKind
from memnet.domain.documents import audit_record as audits
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import Fold
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument, ReplaceDocument, WriteResult
from memnet.domain.events.event import EventKey
from memnet.domain.replay.conflict import Conflict, Versions
from memnet.domain.replay.replay import Replay
from memnet.domain.replay.snapshot import Conversation
from memnet.operations.documents.outbox import sweep_user
from memnet.operations.documents.write import patch_document, replace_document
from memnet.operations.replay.conflicts import attempt_conflict, list_conflicts
from memnet.operations.replay.jobs import get_replay
from memnet.operations.replay.replays import replay_snapshot
from memnet.operations.replay.snapshots import StoredSnapshot, store_snapshot
from memnet.operations.service.backlog import RequeueReport, requeue_jobs
from memnet.service import Service
from memnet.stores import AuditLog, DocumentStore, EventStore, ItemStore, JobMarks, Vault, read_records
from tests.domain.samples import CATALOG
from tests.memory_blobs import memory_blobs, storage_of
from tests.services import service_of

SCOPE = UserScope("t1", "u1")
PROFILE = "project-copilot-v1"
WORKER = "memnet-worker"
LIVE = Actor("svc-live", frozenset())
STATIC = DocumentKey(SCOPE, "user", "user_static.json")
DYNAMIC = DocumentKey(SCOPE, "user", "user_dynamic.json")
ALPHA = DocumentKey(SCOPE, "projects", "alpha.json")
BINDINGS = {STATIC: "user_static", DYNAMIC: "user_dynamic", ALPHA: "project_doc"}
MESSAGES = [
    ("m1", "user", "I prefer concise answers. I lead the retrieval team."),
    ("m2", "assistant", "Noted."),
    ("m3", "user", "About alpha: its summary is now the retrieval rewrite, and the deadline is Friday."),
]
DIGEST = {"text": "The user spoke about alpha's deadline.", "keywords": ["alpha", "deadline"], "project_ids": ["alpha"]}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ETAG = re.compile(r'"(\d+)-[0-9a-f]{16}"')


def proposed(binding_id: str, path: str, *ops: dict[str, Any], confidence: float = 0.75, cites: str = "m1") -> Any:
    return {
        "target_binding_id": binding_id,
        "target_path": path,
        "ops": list(ops),
        "confidence": confidence,
        "message_ids": [cites],
    }


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": f"/content{path}", "value": value}


def put(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": f"/content{path}", "value": value}


PREFERENCE = proposed("user_dynamic", "user_dynamic.json", add("/preferences/-", "Prefers concise answers"))
FACT = proposed("user_dynamic", "user_dynamic.json", add("/durable_facts/-", "Leads the retrieval team"))
SUMMARY = proposed("project_doc", "alpha.json", put("/summary", "The retrieval rewrite"), cites="m3")
DEADLINE = proposed("project_doc", "alpha.json", add("/recent_notes/-", "The deadline is Friday"), cites="m3")
FORBIDDEN = proposed("project_doc", "alpha.json", add("/owner", "the retrieval team"), cites="m3")


def answer(*patches: Any, digest: Any = DIGEST) -> str:
    return orjson.dumps({"digest": digest, "patches": list(patches)}).decode()


@dataclass
class RecordingQueue:
    """The MessageQueue port: keeps what is sent."""

    sent: list[tuple[Job, int, datetime | None]] = field(default_factory=list)

    async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
        self.sent.append((job, attempt, due))

    async def ping(self) -> None:
        """Answer."""


class DownQueue(RecordingQueue):
    """A broker that does not answer."""

    async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
        raise Unavailable(dependency="service_bus")


Call = Callable[[], Awaitable[Any]]
Watch = Callable[[str, Call], Awaitable[Any]]


async def unwatched(name: str, call: Call) -> Any:
    return await call()


class Watched:
    """A port whose every call goes through `watch`, by the name "<port>.<method>"."""

    def __init__(self, name: str, port: Any, watch: Watch) -> None:
        self._name, self._port, self._watch = name, port, watch

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self._port, method)
        if method in ("recall", "flushed", "vault"):
            return inner

        async def call(*arguments: Any, **named: Any) -> Any:
            return await self._watch(f"{self._name}.{method}", lambda: inner(*arguments, **named))

        return call


@dataclass
class World:
    """Everything that is stored, and processes that work on it."""

    models: Any = field(default_factory=lambda: ScriptedModels([answer(PREFERENCE)]))
    principal: str = WORKER
    clock: FrozenClock = field(default_factory=FrozenClock)
    ids: SequentialIds = field(default_factory=SequentialIds)
    queue: RecordingQueue = field(default_factory=RecordingQueue)
    background: BackgroundTasks = field(default_factory=BackgroundTasks)
    catalog: Any = CATALOG
    writes: int = 0

    def __post_init__(self) -> None:
        self.blobs = blobs = memory_blobs(self.clock)
        self.documents, self.records = DocumentStore(blobs), ItemStore(blobs)
        self.events, self.marks = EventStore(blobs), JobMarks(blobs)
        self.keys = MemoryTenantKeys(self.ids)
        self.vault = Vault(self.records, self.keys, self.ids, self.clock)
        self.audit = AuditLog(blobs, self.vault)

    @property
    def service(self) -> Service:
        """The parts of this world in one object, unwatched."""
        names = ("documents", "audit", "events", "marks", "records", "vault", "queue", "catalog", "clock", "ids")
        return service_of(background=self.background, **{name: getattr(self, name) for name in names})

    def records_at_rest(self) -> list[bytes]:
        """The bytes of all records that are no documents, audit records and events."""
        storage = storage_of(self.records)
        found = [storage.data(name) for name in storage.names(SCOPE.prefix) if name.split("/")[4] in set(ItemKind)]
        assert found
        return found

    def ports(self, watch: Watch = unwatched, background: BackgroundTasks | None = None) -> dict[str, Any]:
        """What a worker hands to `replay_snapshot`; each process has its own."""
        records: Any = Watched("records", self.records, watch)
        keys: Any = Watched("keys", self.keys, watch)
        return {
            "vault": Vault(records, keys, self.ids, self.clock),
            "marks": Watched("marks", self.marks, watch),
            "queue": Watched("queue", self.queue, watch),
            "documents": Watched("documents", self.documents, watch),
            "audit": self.audit,
            "events": Watched("events", self.events, watch),
            "search": None,
            "catalog": self.catalog,
            "models": Watched("models", self.models, watch),
            "semantic_router": NoSemanticRouter(),
            "background": background or self.background,
            "worker_principal": self.principal,
        }

    def conflict_ports(self, watch: Watch = unwatched, background: BackgroundTasks | None = None) -> dict[str, Any]:
        """What a worker hands to `attempt_conflict`."""
        left_out = ("events", "search", "models", "semantic_router")
        return {name: port for name, port in self.ports(watch, background).items() if name not in left_out}

    async def create_project(self, *, notes: Sequence[str] = (), summary: str = "The current search") -> None:
        """The user's project alpha, which conversations can be about."""
        entry = {"project_id": "alpha", "aliases": ["alpha"], "keywords": []}
        await self.replace(STATIC, {"profile": {}, "projects_index": [entry]})
        await self.replace(ALPHA, {"summary": summary, "facets": {}, "recent_notes": list(notes)})

    async def replace(self, key: DocumentKey, content: Any) -> WriteResult:
        binding = next(b for b in CATALOG.profile(PROFILE).document_bindings if b.binding_id == BINDINGS[key])
        head = await self.documents.get(key)
        command = ReplaceDocument(
            key=key,
            actor=LIVE,
            precondition=IfMatch(envelope.load(head.data).commit.etag) if head else IfAbsent(),
            idempotency_key=self._next_key(),
            profile_id=PROFILE,
            binding_id=binding.binding_id,
            schema_id=binding.schema_id,
            schema_version=binding.schema_version,
            content=content,
        )
        return await replace_document(command, service_of(**self.writing()))

    async def live(self, key: DocumentKey, *ops: dict[str, Any]) -> WriteResult:
        """A live writer changes a document as it finds it, or creates it."""
        head = await self.documents.get(key)
        etag = envelope.load(head.data).commit.etag if head else None
        return await patch_document(self.live_command(key, etag, *ops), service_of(**self.writing()))

    def live_command(self, key: DocumentKey, etag: Any, *ops: dict[str, Any]) -> PatchDocument:
        return PatchDocument(
            key=key,
            actor=LIVE,
            precondition=IfAbsent() if etag is None else IfMatch(etag),
            idempotency_key=self._next_key(),
            profile_id=PROFILE,
            binding_id=BINDINGS[key],
            ops=list(ops),
            reason=Reason.LIVE_UPDATE,
        )

    def writing(self) -> dict[str, Any]:
        return {
            "documents": self.documents,
            "audit": self.audit,
            "catalog": CATALOG,
            "clock": self.clock,
            "ids": self.ids,
            "background": self.background,
        }

    async def store(
        self,
        snapshot_id: str = "s1",
        messages: Sequence[tuple[str, str, str]] = MESSAGES,
        conversation_id: str = "c1",
    ) -> Job:
        """Store a snapshot and return the job of its replay."""
        stored = await self.store_again(snapshot_id, messages, conversation_id)
        return Job(JobKind.REPLAY, SCOPE.tenant_id, SCOPE.user_id, stored.replay_id)

    async def store_again(
        self,
        snapshot_id: str = "s1",
        messages: Sequence[tuple[str, str, str]] = MESSAGES,
        conversation_id: str = "c1",
    ) -> StoredSnapshot:
        rows = [
            {"message_id": name, "role": role, "content": text, "timestamp": f"2026-02-14T20:00:{number:02}Z"}
            for number, (name, role, text) in enumerate(messages)
        ]
        members = {"snapshot_id": snapshot_id, "profile_id": PROFILE, "messages": rows}
        return await store_snapshot(
            SCOPE,
            conversation_id,
            Conversation.model_validate(members),
            service_of(catalog=CATALOG, vault=self.vault, marks=self.marks, queue=self.queue),
            actor=Actor("svc-chat", frozenset()),
        )

    async def replay(self, job: Job, **ports: Any) -> Replay:
        found = await replay_snapshot(job, service_of(**self.ports() | ports))
        await self.background.drain()
        return found

    async def retry(self, job: Job, attempt: int | None, **ports: Any) -> Conflict:
        found = await attempt_conflict(job, service_of(**self.conflict_ports() | ports), attempt=attempt)
        await self.background.drain()
        return found

    async def requeue(self) -> RequeueReport:
        return await requeue_jobs(self.service)

    async def told(self, job: Job) -> dict[str, Any]:
        return await get_replay(SCOPE, job.job_id, records=self.records)

    async def conflicts(self) -> list[tuple[Conflict, Versions]]:
        page = await list_conflicts(SCOPE, status=None, limit=100, cursor=None, vault=self.vault)
        found = []
        for conflict, versions in page.items:
            assert versions is not None
            found.append((conflict, versions))
        return found

    async def marked(self) -> list[Job]:
        return [row.job for row in (await self.marks.list(limit=1000, cursor=None)).items]

    async def content(self, key: DocumentKey) -> Any:
        stored = await self.documents.get(key)
        return None if stored is None else envelope.load(stored.data).content

    async def history(self, key: DocumentKey) -> list[dict[str, Any]]:
        """The audit records of a document, the chain of which is checked up to the document itself."""
        await self.background.drain()
        await sweep_user(SCOPE, self.service)
        stored = await self.documents.get(key)
        if stored is None:
            return []
        head = envelope.load(stored.data)
        fold, records = Fold(head.doc_id), []
        for sequence in range(1, head.commit.sequence + 1):
            (record,) = await read_records(key.scope, head, sequence, sequence, audit=self.audit)
            fold.take(record)
            records.append(record)
        audits.check_head(fold, head)
        return records

    async def stored_events(self) -> list[Any]:
        keys: Sequence[EventKey] = (await self.events.list(None, limit=1000, cursor=None)).items
        return [orjson.loads(await self.events.get(key) or b"") for key in keys]

    async def state(self, job: Job) -> Any:
        """All that a replay leaves behind, without what differs from run to run: random ids, the number of attempts."""
        told = await self.told(job)
        told = {name: value for name, value in told.items() if name != "attempts"}
        rows = {
            "replay": told,
            "documents": {key.path: [await self.content(key), await self.history(key)] for key in (DYNAMIC, ALPHA)},
            "events": await self.stored_events(),
            "conflicts": [
                [conflict.members(), versions.members(), versions.request]
                for conflict, versions in await self.conflicts()
            ],
            "marks": [str(job) for job in await self.marked()],
        }
        return orjson.loads(normal(rows))

    def _next_key(self) -> str:
        self.writes += 1
        return f"live-{self.writes}"


class Meddler:
    """A live writer who writes once, as soon as a record is as it is waited for."""

    def __init__(
        self, world: "World", kind: ItemKind, when: Callable[[Any], bool], write: Callable[[], Awaitable[None]]
    ) -> None:
        self.world, self.kind, self.when, self.write = world, kind, when, write
        self.wrote = False

    def beside(self, watch: Watch) -> Watch:
        """`watch`, and the writer who writes between two calls."""

        async def watching(name: str, call: Call) -> Any:
            try:
                return await watch(name, call)
            finally:
                if not self.wrote and name == "records.write" and await self._stands():
                    self.wrote = True
                    await self.write()

        return watching

    async def _stands(self) -> bool:
        page = await self.world.records.list(SCOPE, self.kind, limit=10, cursor=None)
        stored = [await self.world.records.read(key) for key in page.items]
        return any(self.when(orjson.loads(one.data)) for one in stored if one)


async def disputed_world(patch: Any = SUMMARY, watch: Callable[[World], Watch] | None = None) -> tuple[World, Conflict]:
    """A conflict: a live writer has changed the summary meanwhile, or what `watch` does."""
    world = World(models=ScriptedModels([answer(patch)]))
    await world.create_project()
    job = await world.store()

    async def contradict() -> None:
        await world.live(ALPHA, put("/summary", "As a live writer has it"))

    meddler = Meddler(world, ItemKind.REPLAYS, is_planned, contradict)
    await world.replay(job, **world.ports(watch(world) if watch else meddler.beside(unwatched)))
    ((conflict, _),) = await world.conflicts()
    return world, conflict


def is_planned(replay: Any) -> bool:
    return replay["sealed"] is not None


def normal(value: Any) -> str:
    """JSON without random ids, hashes and salts."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    text = re.sub(r'\\"(\d+)-[0-9a-f]{16}\\"', r"etag \1", UUID.sub("ID", text))
    text = re.sub(r"\b[A-Za-z0-9+/]{43}=", "SALT", text)
    return re.sub(r"\b[0-9a-f]{32,64}\b", "HASH", text)
