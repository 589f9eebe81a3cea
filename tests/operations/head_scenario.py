"""Documents, checkpoints and a key, and the ways to remove changes with write access to the storage."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from memnet.adapters.memory.keys import MemorySigningKeys
from memnet.domain.core.errors import Unavailable, VaultUnavailable
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, ETag, StorageETag, UserScope
from memnet.domain.core.signature import SigningKey
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.documents import audit_record, audit_values, envelope
from memnet.domain.documents.audit_segments import START, position_of
from memnet.domain.documents.audit_values import AuditRecordLocation
from memnet.domain.documents.envelope import Envelope
from memnet.domain.history.checkpoint import Checkpoint
from memnet.domain.history.checkpoint_verification import CheckpointReport
from memnet.domain.history.reconstruction import VerifiedHistory
from memnet.domain.sealing.sealing import NONCE_BYTES
from memnet.operations.history.sign_checkpoints import (
    Signed,
    SignReport,
    read_newest_checkpoint,
    sign_checkpoint,
    sign_checkpoints,
)
from memnet.operations.history.verify_history import verify_history
from memnet.ports import Page, StoredBlob
from memnet.stores import Blobs, ErasureStore, FenceCheck, ItemStore, KeyRing, UserDirectory
from tests.memory_blobs import storage_of
from tests.operations.baseline_scenario import lay_segment
from tests.operations.service_scenario import SCOPE, Service, note
from tests.services import arguments, service_of

BETA = DocumentKey(SCOPE, "projects", "beta.json")


class CountingRecords(ItemStore):
    """Counts the calls of a store whose writes can be lost, or be applied and not confirmed."""

    def __init__(self, blobs: Blobs) -> None:
        super().__init__(blobs)
        self.calls: Counter[str] = Counter()
        self.fate: Callable[[ItemKey], str | None] = lambda key: None

    async def read(self, key: ItemKey) -> StoredBlob | None:
        self.calls["read"] += 1
        return await super().read(key)

    async def write(
        self, key: ItemKey, data: bytes, *, replaces: StorageETag | None, checked: FenceCheck | None = None
    ) -> StorageETag:
        self.calls["write"] += 1
        fate = self.fate(key)
        if fate == "lost":
            raise Unavailable(dependency="blob_storage")
        tag = await super().write(key, data, replaces=replaces, checked=checked)
        if fate == "unconfirmed":
            raise Unavailable(dependency="blob_storage")
        if fate == "repeated":
            # The client library sent it twice: the second try finds the first one's blob.
            tag = await super().write(key, data, replaces=replaces, checked=checked)
        return tag

    async def list(self, scope: UserScope, kind: ItemKind, *, limit: int, cursor: str | None) -> Page[ItemKey]:
        self.calls["list"] += 1
        return await super().list(scope, kind, limit=limit, cursor=cursor)

    def tamper(self, key: ItemKey, data: bytes | None) -> None:
        """Put other bytes in a record's place, or take it away."""
        storage_of(self).drop(key.blob_name)
        if data is not None:
            storage_of(self).overwrite(key.blob_name, data)


class TroubledKeys(MemorySigningKeys):
    """A vault that can be down."""

    down = False

    async def newest(self) -> SigningKey:
        if self.down:
            raise VaultUnavailable()
        return await super().newest()


class HeadWorld(Service):
    """One process with a vault."""

    def __init__(self) -> None:
        super().__init__()
        self.records = CountingRecords(self.documents._blobs)
        self.signing = TroubledKeys(self.ids)
        self.erasures = ErasureStore(self.documents._blobs)

    async def sign(self, scope: UserScope = SCOPE, **members: Any) -> Signed:
        return await sign_checkpoint(scope, **arguments(**self._signing_ports(), **members))

    async def sign_all(self) -> SignReport:
        users = UserDirectory(self.documents._blobs)
        return await sign_checkpoints(service_of(users=users, erasures=self.erasures, **self._signing_ports()))

    async def newest(self, scope: UserScope = SCOPE) -> Checkpoint | None:
        return await read_newest_checkpoint(scope, records=self.records)

    async def verify(self, **members: Any) -> tuple[CheckpointReport, Sequence[VerifiedHistory]]:
        given = {"keys": self.signing, **members}
        ports = {"documents": self.documents, "audit": self.audit, "records": self.records}
        return await verify_history(SCOPE, **arguments(**ports, **given))

    async def faults(self, **members: Any) -> list[str | None]:
        """The heads' fault, and each document's."""
        heads, found = await self.verify(**members)
        return [heads.fault, *(one.fault for one in found)]

    def _signing_ports(self) -> dict[str, Any]:
        stores = {"documents": self.documents, "audit": self.audit, "records": self.records}
        return stores | {"keys": self.signing, "clock": self.clock}

    async def changed(self, key: DocumentKey, times: int) -> list[str]:
        """So many more changes of a document, each flushed; their change ids."""
        made: list[str] = []
        for number in range(times):
            stored = await self.documents.get(key)
            over = envelope.load(stored.data).commit.etag if stored else None
            made.append((await self.patch(note(f"more {number}"), over=over, key=key)).change_id)
            await self.background.drain()
        return made

    async def cut(self, key: DocumentKey, keep: int) -> None:
        """Take the newest changes of a document away, so that nothing that is left contradicts itself."""
        await self.lay(key, (await self.chain(key))[:keep])

    async def write_anew(self, key: DocumentKey, number: int, actor: str) -> None:
        """Alter one record and everything after it that names its hash, the document included."""
        records = await self.chain(key)
        records[number - 1]["actor"] = actor
        for before, record in zip(records[number - 1 :], records[number:], strict=False):
            record["previous_record_hash"] = audit_record.record_hash(before)
        await self.lay(key, records)

    async def lay(self, key: DocumentKey, records: Sequence[Record]) -> None:
        """Store these unsealed records, in one segment, and the document as they give it."""
        head = await self.head(key)
        stored = [await self.stored_form(record) for record in records]
        lay_segment(self.audit, key, head.doc_id, 1, stored)
        await self.put_back(key, _as_of(head, records, stored))

    async def stored_form(self, record: Record) -> Record:
        """Seal an unsealed record as the service's identity could."""
        place = AuditRecordLocation(UserScope(record["tenant_id"], record["user_id"]), record["change_id"])
        data_key = await KeyRing(self.vault).get_or_create(place.scope)
        return audit_values.seal(record, place, data_key=data_key, nonce=self.vault.ids.secret(NONCE_BYTES))

    async def chain(self, key: DocumentKey) -> list[Record]:
        """The records of a document, flushed ones and those that its blob carries."""
        head = await self.head(key)
        return [await self.record(number, key) for number in range(1, head.commit.sequence + 1)]

    async def put_back(self, key: DocumentKey, version: Envelope | None) -> None:
        """Put another version in a document's place, or none."""
        storage_of(self.documents).drop(key.blob_name)
        self.documents._cache.forget(key)
        if version is not None:
            await self.documents.put(key, envelope.dump(version), envelope.summarise(version), replaces=None)


def _as_of(head: Envelope, records: Sequence[Record], stored: Sequence[Record]) -> Envelope:
    """The document's blob as it would be if these were all its records, in one segment."""
    chain = audit_record.Fold(head.doc_id)
    version = [chain.take(record) for record in records][-1]
    document = version.document
    assert document is not None
    commit = replace(
        head.commit,
        sequence=version.sequence,
        etag=ETag(version.etag),
        record_hash=version.record_hash,
        outbox=(stored[-1],),
        position=position_of(START, stored, len(stored) - 1),
        receipts=head.commit.receipts[: version.sequence],
    )
    updated = {"updated_at": document["updated_at"], "updated_by": document["updated_by"]}
    return replace(head, content=document["content"], commit=commit, **updated)
