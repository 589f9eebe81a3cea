"""Tombstones over all documents of a user: a writer that has read a document before cannot change it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.errors import ErasureRunning, HistoryCorrupt
from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import (
    DeleteDocument,
    IfAbsent,
    IfMatch,
    Precondition,
    ReplaceDocument,
)
from memnet.domain.documents.envelope import Envelope
from memnet.operations.documents.write import delete_document, replace_document
from memnet.operations.governance.erasure_request import fence_documents
from memnet.ports import StoredBlob
from tests.operations.erasure_scenario import ADMIN, OTHER, U1, U10, ErasureWorld, alpha
from tests.operations.replay_scenario import Watch
from tests.operations.retention_scenario import Between, FallsAt

FENCE = b"{}"
SECRET = "the-very-private-summary"


@pytest.fixture
async def world() -> AsyncIterator[ErasureWorld]:
    made = ErasureWorld()
    yield made
    await made.drain()


async def put_up(world: ErasureWorld, scope: UserScope = U1) -> None:
    await world.services.erasures.write(scope, FENCE, replaces=None)


async def fence(world: ErasureWorld, watch: Watch | None = None) -> None:
    """Run it; with `watch` as a process whose calls are watched."""
    service = world.services if watch is None else world.watched(watch, "documents")
    await fence_documents(U1, service, known_at=world.services.clock.now())


async def stored(world: ErasureWorld, key: DocumentKey) -> StoredBlob:
    found = await world.services.documents.get(key)
    assert found is not None
    return found


async def head(world: ErasureWorld, key: DocumentKey | None = None) -> Envelope:
    return envelope.load((await stored(world, key or alpha(U1))).data)


REPLACE = ReplaceDocument(
    key=alpha(U1),
    actor=ADMIN,
    precondition=IfAbsent(),
    idempotency_key="put-1",
    profile_id="project-copilot-v1",
    binding_id="project_doc",
    schema_id="memory.project",
    schema_version="1.0.0",
    content={"summary": SECRET, "facets": {}, "recent_notes": []},
)
DELETE = DeleteDocument(key=alpha(U1), actor=ADMIN, precondition=IfAbsent(), idempotency_key="delete-1")


async def test_a_tombstone_contains_nothing_of_the_document(world: Any) -> None:
    first = await world.patch(U1, SECRET)
    last = await world.patch(U1, f"{SECRET} 2", IfMatch(first.etag))
    before = await head(world)
    await put_up(world)
    await fence(world)
    data = (await stored(world, alpha(U1))).data
    for word in (SECRET, "svc-live", "key-1", "project-copilot", "memory.project"):
        assert word.encode() not in data
    now = await head(world)
    assert (now.erased, now.deleted, now.content) == (True, True, None)
    assert (now.commit.outbox, now.commit.receipts) == ((), ())
    # Its sequence stays, so that no ETag is reused.
    assert (now.doc_id, now.commit.sequence, now.commit.etag) == (before.doc_id, 2, last.etag)
    assert now.commit.record_hash == before.commit.record_hash
    (row,) = (await world.services.documents.list(U1, "", limit=9, cursor=None)).items
    assert (row.summary.deleted, row.summary.size) == (True, 0)


async def test_a_repeated_fence_changes_nothing(world: Any) -> None:
    await world.patch(U1, SECRET)
    await put_up(world)
    await fence(world)
    first = await stored(world, alpha(U1))
    watch = FallsAt(0, applied=False)
    await fence(world, watch)
    assert "documents.put" not in watch.calls
    assert (await stored(world, alpha(U1))).storage_etag == first.storage_etag


async def test_every_document_of_the_user_is_fenced(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memnet.operations.governance.erasure_request.PAGE", 2)
    for scope in (U1, U10, OTHER):
        await world.live(scope)
        for number in range(5):
            await copy(world, scope, f"copy-{number}.json")
    etag = (await head(world, DocumentKey(U1, "projects", "copy-1.json"))).commit.etag
    deletion = replace(DELETE, key=DocumentKey(U1, "projects", "copy-1.json"), precondition=IfMatch(etag))
    await delete_document(deletion, world.services)
    others = {scope: await snapshots(world, scope) for scope in (U10, OTHER)}
    await put_up(world)
    await fence(world)
    own = await snapshots(world, U1)
    assert len(own) == 6
    assert all(envelope.load(data).erased for data in own.values())
    assert {scope: await snapshots(world, scope) for scope in (U10, OTHER)} == others
    stored_ = await world.services.documents.get(alpha(U10))
    assert stored_.view is not None
    assert (await world.patch(U10, "continues", IfMatch(stored_.view.etag))).sequence == 3


async def copy(world: ErasureWorld, scope: UserScope, path: str) -> None:
    found = await head(world, alpha(scope))
    key = DocumentKey(scope, "projects", path)
    await world.services.documents.put(key, envelope.dump(found), envelope.summarise(found), replaces=None)


async def snapshots(world: ErasureWorld, scope: UserScope) -> dict[str, bytes]:
    rows = (await world.services.documents.list(scope, "", limit=100, cursor=None)).items
    return {row.key.path: (await stored(world, row.key)).data for row in rows}


# Writers.


async def test_every_write_is_refused_under_any_condition(world: Any) -> None:
    first = await world.patch(U1, SECRET)
    last = await world.patch(U1, SECRET, IfMatch(first.etag))
    await put_up(world)
    await fence(world)
    fenced = (await stored(world, alpha(U1))).data
    etags = [first.etag, last.etag, (await head(world)).commit.etag, ETag('"999-0000000000000000"'), ETag("*")]
    conditions: list[Precondition] = [IfAbsent(), *map(IfMatch, etags)]
    # Also after the tombstone is deleted.
    for left in (fenced, None):
        for over in conditions:
            with pytest.raises(ErasureRunning):
                await world.patch(U1, "again", over)
            with pytest.raises(ErasureRunning):
                await replace_document(replace(REPLACE, precondition=over), world.services)
            if isinstance(over, IfMatch):
                with pytest.raises(ErasureRunning):
                    await delete_document(replace(DELETE, precondition=over), world.services)
        found = await world.services.documents.get(alpha(U1))
        assert (found and found.data) == left
        if found:
            await world.drop(alpha(U1).blob_name)


async def test_a_commit_between_read_and_tombstone_is_overwritten(world: Any) -> None:
    made = await world.patch(U1, "first")
    made = await world.patch(U1, "second", IfMatch(made.etag))
    await world.drain()
    await put_up(world)

    async def commit() -> None:
        # It began before, and wins: the erasure looks again.
        assert (await world.patch(U1, SECRET, IfMatch(made.etag))).sequence == 3

    await fence(world, Between("documents.put", commit))
    assert (await head(world)).erased
    assert (await head(world)).commit.sequence == 3
    assert SECRET.encode() not in (await stored(world, alpha(U1))).data


async def test_a_writer_that_read_before_the_fence_is_refused(world: Any) -> None:
    """Between its look at the document and its write the tombstone comes."""
    made = await world.patch(U1, "first")
    made = await world.patch(U1, "second", IfMatch(made.etag))
    await put_up(world)
    services = world.services
    world.services = world.watched(Between("documents.put", lambda: fence(ErasureWorld(services))), "documents")
    with pytest.raises(ErasureRunning):
        await world.patch(U1, SECRET, IfMatch(made.etag))
    world.services = services
    assert (await head(world)).erased


async def test_a_document_deleted_after_the_listing_is_skipped(world: Any) -> None:
    await world.patch(U1, "first")
    await put_up(world)

    await fence(world, Between("documents.get", lambda: world.drop(alpha(U1).blob_name)))
    assert await world.services.documents.get(alpha(U1)) is None


async def test_an_unreadable_document_is_left_unchanged(world: Any) -> None:
    made = await world.patch(U1, "first")
    await copy(world, U1, "beta.json")
    found = await stored(world, alpha(U1))
    await world.services.documents.put(
        alpha(U1), b"{}", envelope.summarise(envelope.load(found.data)), replaces=found.storage_etag
    )
    await put_up(world)
    await fence(world)
    assert (await stored(world, alpha(U1))).data == b"{}"
    assert (await head(world, DocumentKey(U1, "projects", "beta.json"))).erased
    with pytest.raises(HistoryCorrupt):
        await world.patch(U1, "again", IfMatch(made.etag))
