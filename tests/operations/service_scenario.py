"""The operations on memory adapters: a frozen clock, ids in order, stores that count their calls and can go down."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.memory.keys import MemoryTenantKeys
from memnet.adapters.process.background import BackgroundTasks
from memnet.adapters.process.data_key_cache import ProcessDataKeyCache
from memnet.domain.core.access import Reason
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import Actor, DocumentKey, ETag, StorageETag, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_segments import Batch
from memnet.domain.documents.commands import (
    DeleteDocument,
    IfAbsent,
    IfMatch,
    PatchDocument,
    Precondition,
    ReplaceDocument,
    WriteResult,
)
from memnet.domain.documents.envelope import DocumentSummary, Envelope
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import delete_document, patch_document, replace_document
from memnet.ports import Page, StoredBlob
from memnet.stores import AuditLog, Blobs, DocumentStore, ItemStore, Vault, read_records
from tests.domain.samples import CATALOG
from tests.memory_blobs import memory_blobs, storage_of
from tests.operations.vault_scenario import VaultWorld
from tests.services import service_of

SCOPE = UserScope("t1", "u1")
PROFILE = "project-copilot-v1"
ALPHA = DocumentKey(SCOPE, "projects", "alpha.json")
DYNAMIC = DocumentKey(SCOPE, "user", "user_dynamic.json")
STATIC = DocumentKey(SCOPE, "user", "user_static.json")
ALICE = Actor("svc-alice", frozenset())
BOB = Actor("svc-bob", frozenset())
BINDINGS = {"projects": "project_doc", "user": "user_dynamic"}
EMPTY_PROJECT = {"summary": "", "facets": {}, "recent_notes": []}


class CountingDocuments(DocumentStore):
    """Counts what goes to the store."""

    def __init__(self, blobs: Blobs | None = None) -> None:
        super().__init__(blobs or memory_blobs())
        self.calls: Counter[str] = Counter()
        self.in_flight = self.most_in_flight = 0

    async def get(self, key: DocumentKey) -> StoredBlob | None:
        self.calls["get"] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await super().get(key)
        finally:
            self.in_flight -= 1

    async def put(
        self,
        key: DocumentKey,
        data: bytes,
        summary: DocumentSummary,
        *,
        replaces: StorageETag | None,
        known_at: datetime | None = None,
    ) -> None:
        self.calls["put"] += 1
        await super().put(key, data, summary, replaces=replaces, known_at=known_at)

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[Any]:
        self.calls["list"] += 1
        return await super().list(scope, prefix, limit=limit, cursor=cursor)


class CountingAudit(AuditLog):
    """Counts what goes to the log, which may be down."""

    def __init__(self, blobs: Blobs | None = None) -> None:
        super().__init__(blobs or memory_blobs(), VaultWorld().vault)
        self.calls: Counter[str] = Counter()
        self.down = False

    async def flush(self, scope: UserScope, current: Envelope, *, read_first: bool = False) -> None:
        self._call("flush")
        await super().flush(scope, current, read_first=read_first)

    async def check(self, scope: UserScope, current: Envelope) -> None:
        self._call("check")
        await super().check(scope, current)

    async def append(self, scope: UserScope, doc_id: str, batch: Batch) -> None:
        self._call("append")
        await super().append(scope, doc_id, batch)

    async def read(self, scope: UserScope, doc_id: str, first: int) -> Sequence[Record] | None:
        self._call("read")
        return await super().read(scope, doc_id, first)

    def _call(self, name: str) -> None:
        self.calls[name] += 1
        if self.down:
            raise Unavailable(dependency="audit")

    def tamper(self, scope: UserScope, change_id: str, data: bytes | None) -> None:
        """Replace the line of a record directly in the storage, with an empty one if there is no data."""
        storage, folder = storage_of(self), f"{scope.prefix}audit/{change_id[:-13]}"
        sequence = int(change_id[-12:])
        name = [name for name in storage.names(f"{folder}/") if name.endswith(".jsonl") and _first(name) <= sequence][
            -1
        ]
        lines = storage.data(name).split(b"\n")
        lines[sequence - _first(name)] = data or b""
        storage.overwrite(name, b"\n".join(lines))
        self._flushed.pop(folder, None)


def _first(name: str) -> int:
    return int(name.rpartition("/")[2].partition(".")[0])


@dataclass
class Service:
    """One process."""

    documents: CountingDocuments = field(default_factory=CountingDocuments)
    audit: CountingAudit = None  # type: ignore[assignment]
    clock: FrozenClock = field(default_factory=FrozenClock)
    ids: SequentialIds = field(default_factory=SequentialIds)
    background: BackgroundTasks = field(default_factory=BackgroundTasks)
    keys: int = 0

    def __post_init__(self) -> None:
        self.audit = self.audit or CountingAudit(self.documents._blobs)
        # Ids of its own: those of documents stay in a known order.
        ids, self.key_records = SequentialIds(), ItemStore(self.documents._blobs)
        self.tenant_keys: Any = self.audit.vault.keys if self.audit.vault else MemoryTenantKeys(ids)
        self.vault = Vault(self.key_records, self.tenant_keys, ids, self.clock, ProcessDataKeyCache(self.clock))
        self.audit.vault = self.vault

    def ports(self, *, catalog: bool = True) -> dict[str, Any]:
        """What every write operation takes."""
        ports: dict[str, Any] = {
            "documents": self.documents,
            "audit": self.audit,
            "clock": self.clock,
            "ids": self.ids,
            "background": self.background,
        }
        return ports | {"catalog": CATALOG} if catalog else ports

    async def patch(self, *ops: dict[str, Any], over: ETag | None = None, **members: Any) -> WriteResult:
        """Patch the project, or create it where `over` names no version; a fresh key unless `members` give one."""
        return await patch_document(self.patch_command(*ops, over=over, **members), service_of(**self.ports()))

    def patch_command(self, *ops: dict[str, Any], over: ETag | None = None, **members: Any) -> PatchDocument:
        """The command of `patch`."""
        chosen = self.common(over) | {"profile_id": PROFILE, "reason": Reason.LIVE_UPDATE, "ops": list(ops)}
        chosen |= members
        chosen.setdefault("binding_id", BINDINGS.get(chosen["key"].namespace))
        return PatchDocument(**chosen)

    async def replace(self, content: Any, over: ETag | None = None, **members: Any) -> WriteResult:
        """Put the project."""
        chosen = self.common(over) | {"profile_id": PROFILE, "binding_id": "project_doc", "content": content}
        chosen |= {"schema_id": "memory.project", "schema_version": "1.0.0"}
        return await replace_document(ReplaceDocument(**chosen | members), service_of(**self.ports()))

    async def delete(self, over: ETag, **members: Any) -> WriteResult:
        """Delete the project."""
        return await delete_document(
            DeleteDocument(**self.common(over) | members), service_of(**self.ports(catalog=False))
        )

    def common(self, over: ETag | None) -> dict[str, Any]:
        """The members that every command has."""
        self.keys += 1
        precondition: Precondition = IfAbsent() if over is None else IfMatch(over)
        return {"key": ALPHA, "actor": ALICE, "precondition": precondition, "idempotency_key": f"key-{self.keys}"}

    async def count_up(self, times: int, key: DocumentKey = ALPHA) -> list[WriteResult]:
        """So many changes of one project, created by the first; each flushed before the next."""
        results: list[WriteResult] = []
        for number in range(times):
            over = results[-1].etag if results else None
            results.append(await self.patch(note(f"note {number}"), over=over, key=key))
            await self.background.drain()
        return results

    async def read(self, key: DocumentKey = ALPHA, as_of: str | None = None) -> dict[str, Any]:
        """The visible document."""
        view = await get_document(key, service_of(documents=self.documents, audit=self.audit), as_of=as_of)
        found: dict[str, Any] = orjson.loads(view.document)
        return found

    async def record(self, sequence: int, key: DocumentKey = ALPHA) -> Record:
        """Return the record of a change, unsealed."""
        (found,) = await read_records(key.scope, await self.head(key), sequence, sequence, audit=self.audit)
        return found

    async def head(self, key: DocumentKey = ALPHA) -> Envelope:
        """The stored document, `commit` and all."""
        stored = await DocumentStore.get(self.documents, key)
        assert stored is not None
        return envelope.load(stored.data)


def note(text: str) -> dict[str, Any]:
    """Set the summary: any number of these fit."""
    return {"op": "replace", "path": "/content/summary", "value": text}
