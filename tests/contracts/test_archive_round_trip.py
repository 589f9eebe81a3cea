"""An export and an import on every backend, the store's own order of names among what they rely on."""

import io
import zipfile
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.memory.keys import MemoryTenantKeys
from memnet.adapters.process.background import BackgroundTasks
from memnet.adapters.process.zip_archive import ZipArchiveReader, ZipArchiveWriter
from memnet.adapters.system import SystemClock
from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import record_hash
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument
from memnet.domain.events.event import Event
from memnet.domain.governance.archive_import import ImportOutcome, ImportReport
from memnet.domain.replay.snapshot import Snapshot
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import patch_document
from memnet.operations.events.write_event import write_event
from memnet.operations.governance.export_user import export_user
from memnet.operations.governance.import_user import import_entry, import_user
from memnet.operations.history.verify_history import rebuild_documents
from memnet.ports import BlobStorage
from memnet.stores import AuditLog, Blobs, DocumentStore, EventStore, ItemStore, Vault
from tests.domain.samples import CATALOG
from tests.domain.snapshot_samples import snapshot
from tests.memory_blobs import memory_blobs
from tests.operations.vault_scenario import VaultWorld
from tests.services import arguments, service_of

SCOPE, OTHER = UserScope("t1", "u1"), UserScope("t2", "u2")
OPERATOR, WRITER = Actor("ops", frozenset()), Actor("svc", frozenset())
NAMES = ["a", "a-b", "a.b", "a_b", "A", "b", "B-1", "0", "a.json", "a.json-x"]
"""Names whose order is not that of their blobs' names unless both go by bytes."""


@dataclass
class Store:
    """One backend and a process on it."""

    documents: DocumentStore
    audit: AuditLog
    events: EventStore
    records: ItemStore

    def __post_init__(self) -> None:
        self.ids, self.clock, self.background = SequentialIds(), SystemClock(), BackgroundTasks()
        self.vault = Vault(self.records, MemoryTenantKeys(self.ids), self.ids, self.clock)
        self.audit.vault = self.vault

    def ports(self) -> dict[str, Any]:
        return {"documents": self.documents, "audit": self.audit, "clock": self.clock}

    def writing(self) -> dict[str, Any]:
        return {"ids": self.ids, "background": self.background}

    def all(self) -> dict[str, Any]:
        return {**self.ports(), "events": self.events, "vault": self.vault}

    async def export(self, scope: UserScope = SCOPE) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            await export_user(
                scope,
                service_of(records=self.records, **self.all()),
                archive=ZipArchiveWriter(archive),
                snapshots_read_by=OPERATOR,
            )
        return file.getvalue()

    async def take(self, archive: bytes, target: UserScope) -> ImportReport:
        reader = ZipArchiveReader(io.BytesIO(archive))
        report = await import_user(
            reader, target, actor=OPERATOR, **arguments(catalog=CATALOG, **self.all(), **self.writing())
        )
        await self.background.drain()
        return report

    async def fill(self) -> None:
        for name in NAMES:
            key, etag = DocumentKey(SCOPE, "projects", f"{name}.json"), None
            for number in range(3):
                command = PatchDocument(
                    key=key,
                    actor=WRITER,
                    precondition=IfAbsent() if etag is None else IfMatch(etag),
                    idempotency_key=f"{name}-{number}",
                    profile_id="project-copilot-v1",
                    binding_id="project_doc",
                    ops=[{"op": "replace", "path": "/content/summary", "value": f"naïve {number} 文档 🙂"}],
                    reason=Reason.LIVE_UPDATE,
                )
                etag = (
                    await patch_document(command, service_of(catalog=CATALOG, **self.ports(), **self.writing()))
                ).etag
            event = Event(
                event_id=name, service_id="s", timestamp="2026-01-01T00:00:00Z", source_type="x", digest=f"{name} 🙂"
            )
            await write_event(SCOPE, event, **arguments(events=self.events, search=None, **self.writing()))
            spoken: Snapshot = snapshot(name, scope=SCOPE, conversation_id="c")
            await import_entry(
                spoken, service_of(events=self.events, vault=self.vault, **self.writing()), dry_run=False
            )
        await self.background.drain()


@pytest.fixture
def store(storage: BlobStorage) -> Store:
    """An empty backend."""
    return store_over(Blobs(storage, SystemClock()))


def elsewhere() -> Store:
    """Another, empty store."""
    return store_over(memory_blobs(SystemClock()))


def store_over(blobs: Blobs) -> Store:
    return Store(DocumentStore(blobs), AuditLog(blobs, VaultWorld().vault), EventStore(blobs), ItemStore(blobs))


@pytest.mark.parametrize("target", [SCOPE, OTHER], ids=["restored", "taken over"])
async def test_what_is_exported_is_imported(store: Store, target: UserScope) -> None:
    source = store
    if target == SCOPE:
        # Made elsewhere: in its own place everything would be there already.
        source = elsewhere()
    await source.fill()
    archive = await source.export()
    report = await store.take(archive, target)
    assert report.complete
    assert {fate for _, fate in report.documents} == {ImportOutcome.CREATED}
    assert len(report.documents) == report.entries["events", ImportOutcome.CREATED] == len(NAMES)
    assert report.entries["snapshots", ImportOutcome.CREATED] == len(NAMES)
    rebuilt = await rebuild_documents(target, service_of(documents=store.documents, audit=store.audit))
    assert [found.fault for found in rebuilt] == [None] * len(NAMES)
    for name in NAMES:
        views = [
            await get_document(
                DocumentKey(scope, "projects", f"{name}.json"), service_of(documents=s.documents, audit=s.audit)
            )
            for s, scope in ((source, SCOPE), (store, target))
        ]
        contents = [orjson.loads(view.document)["content"] for view in views]
        assert contents[0] == contents[1]
        assert (views[0] == views[1]) is (target == SCOPE)
    runs = (await store.records.list(target, ItemKind.IMPORTS, limit=1000, cursor=None)).items
    assert len(runs) == 1
    again = await store.take(archive, target)
    assert ImportOutcome.CREATED not in {fate for _, fate in again.documents} | {fate for _, fate in again.entries}


async def test_a_restored_document_is_the_one_that_was(store: Store) -> None:
    source = elsewhere()
    await source.fill()
    await store.take(await source.export(), SCOPE)
    for name in NAMES:
        key = DocumentKey(SCOPE, "projects", f"{name}.json")
        ours, theirs = await store.documents.get(key), await source.documents.get(key)
        assert ours is not None
        assert theirs is not None
        (one, other) = (envelope.load(found.data) for found in (ours, theirs))
        assert (one.content, one.commit.receipts, one.commit.record_hash) == (
            other.content,
            other.commit.receipts,
            other.commit.record_hash,
        )
        for number in (1, 2, 3):
            change_id = one.change_id(number)
            stored, exported = [await found.audit.read(SCOPE, change_id) or b"" for found in (store, source)]
            assert b"sealed" in stored
            assert record_hash(orjson.loads(stored)) == record_hash(orjson.loads(exported))
    page = await store.documents.list(SCOPE, "", limit=100, cursor=None)
    assert [row.summary.sequence for row in page.items] == [3] * len(NAMES)
    accesses = await store.records.list(SCOPE, ItemKind.ACCESSES, limit=100, cursor=None)
    assert len(accesses.items) == len(NAMES)
    assert all(isinstance(key, ItemKey) for key in accesses.items)
