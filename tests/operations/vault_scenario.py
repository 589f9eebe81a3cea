"""Sealed records on memory adapters: every call that reaches a port is a step at which a process can end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.memory.keys import MemoryTenantKeys
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.errors import Unavailable, VaultUnavailable
from memnet.domain.core.job import Job
from memnet.domain.core.scope import Actor, StorageETag, UserScope
from memnet.domain.core.user_item import ItemKey
from memnet.domain.replay.snapshot import Conversation
from memnet.domain.sealing import data_keys
from memnet.domain.sealing.data_keys import DataKeys, data_keys_key
from memnet.operations.replay.snapshots import StoredSnapshot, store_snapshot
from memnet.ports import IdGenerator, StoredBlob, TenantKey
from memnet.stores import Blobs, FenceCheck, ItemStore, JobMarks, Vault
from tests.domain.samples import CATALOG
from tests.domain.snapshot_samples import SCOPE, conversation
from tests.memory_blobs import memory_blobs
from tests.services import service_of

ACTOR = Actor("svc-a", frozenset({"Memory.Write"}))


class Crash(BaseException):
    """The process ends here."""


@dataclass
class Steps:
    """What reached the ports, in order; `crash_at` ends the process before or after the step of that number."""

    seen: list[str] = field(default_factory=list)
    crash_at: int | None = None
    after: bool = False

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self.seen.append(name)
        number = len(self.seen)
        if number == self.crash_at and not self.after:
            raise Crash
        yield
        if number == self.crash_at and self.after:
            raise Crash


class SteppedRecords(ItemStore):
    """A store whose writes can be lost, or be applied and not confirmed."""

    def __init__(self, steps: Steps, blobs: Blobs) -> None:
        super().__init__(blobs)
        self._steps = steps
        self.fate: Callable[[ItemKey], str | None] = lambda key: None

    async def read(self, key: ItemKey) -> StoredBlob | None:
        with self._steps.step(f"read {key.kind}"):
            return await super().read(key)

    async def write(
        self, key: ItemKey, data: bytes, *, replaces: StorageETag | None, checked: FenceCheck | None = None
    ) -> StorageETag:
        fate = self.fate(key)
        with self._steps.step(f"write {key.kind}"):
            if fate == "lost":
                raise Unavailable(dependency="blob_storage")
            tag = await super().write(key, data, replaces=replaces, checked=checked)
            if fate == "unconfirmed":
                raise Unavailable(dependency="blob_storage")
            if fate == "repeated":
                # The client library sent it twice: the second try finds the first one's blob.
                tag = await super().write(key, data, replaces=replaces, checked=checked)
            return tag


class SteppedMarks(JobMarks):
    def __init__(self, steps: Steps, blobs: Blobs) -> None:
        super().__init__(blobs)
        self._steps = steps

    async def mark(self, job: Job, *, checked: FenceCheck | None = None) -> None:
        with self._steps.step("mark"):
            await super().mark(job, checked=checked)

    async def unmark(self, job: Job) -> None:
        with self._steps.step("unmark"):
            await super().unmark(job)


class TroubledKeys(MemoryTenantKeys):
    """A vault that can be down."""

    def __init__(self, ids: IdGenerator) -> None:
        super().__init__(ids)
        self.down = False

    async def newest(self, tenant_id: str) -> TenantKey:
        self._fail()
        return await super().newest(tenant_id)

    async def find_newest(self, tenant_id: str) -> TenantKey | None:
        self._fail()
        return await super().find_newest(tenant_id)

    async def version(self, tenant_id: str, version: str) -> TenantKey:
        self._fail()
        return await super().version(tenant_id, version)

    async def rotate(self, tenant_id: str) -> TenantKey:
        self._fail()
        return await super().rotate(tenant_id)

    def _fail(self) -> None:
        if self.down:
            raise VaultUnavailable()


class SentJobs:
    """A broker that records the sent jobs, or fails."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.sent: list[tuple[Job, int]] = []
        self.trouble: BaseException | None = None

    async def send(self, job: Job, *, attempt: int = 0, due: datetime | None = None) -> None:
        with self._steps.step("send"):
            if self.trouble is not None:
                raise self.trouble
            self.sent.append((job, attempt))

    async def ping(self) -> None:
        return


class VaultWorld:
    """All ports a sealing operation takes."""

    def __init__(self) -> None:
        self.steps = Steps()
        self.clock = FrozenClock()
        self.ids = SequentialIds()
        blobs = memory_blobs(self.clock)
        self.records = SteppedRecords(self.steps, blobs)
        self.keys = TroubledKeys(self.ids)
        self.marks = SteppedMarks(self.steps, blobs)
        self.queue = SentJobs(self.steps)
        self.vault = Vault(self.records, self.keys, self.ids, self.clock)

    async def store(
        self,
        body: Conversation | None = None,
        *,
        scope: UserScope = SCOPE,
        conversation_id: str = "c_1",
        actor: Actor = ACTOR,
        queue: SentJobs | None = None,
        catalog: Catalog = CATALOG,
    ) -> StoredSnapshot:
        return await store_snapshot(
            scope,
            conversation_id,
            body or conversation(),
            service_of(catalog=catalog, vault=self.vault, marks=self.marks, queue=queue or self.queue),
            actor=actor,
            send_seconds=0.05,
        )

    async def marked(self) -> list[Job]:
        return [mark.job for mark in (await self.marks.list(limit=1000, cursor=None)).items]

    async def data_keys(self, scope: UserScope = SCOPE) -> DataKeys:
        stored = await self.records.read(data_keys_key(scope))
        assert stored is not None
        return data_keys.load(stored.data)

    async def swap(self, first: ItemKey, second: ItemKey) -> None:
        """Exchange two records behind the service's back."""
        one, two = await self.records.read(first), await self.records.read(second)
        assert one is not None
        assert two is not None
        await self.records.write(first, two.data, replaces=one.storage_etag)
        await self.records.write(second, one.data, replaces=two.storage_etag)
