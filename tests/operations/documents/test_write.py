"""Commit, replace and delete documents on stores that fail, and in races."""

import logging
from typing import Any

import pytest

from memnet.domain.core.errors import (
    DocumentNotFound,
    ErasureRunning,
    ETagMismatch,
    FieldDenied,
    HistoryCorrupt,
    MemnetError,
    Unavailable,
)
from memnet.domain.documents import commit, envelope
from memnet.domain.documents.audit_segments import START, Batch
from memnet.domain.documents.write_decision import Decision
from memnet.operations.documents.write import ATTEMPTS, commit_change
from memnet.ports import StoreConflict
from memnet.stores import ErasureStore, read_records
from memnet.stores.audit_log import segment_name
from tests.memory_blobs import storage_of
from tests.operations.service_scenario import (
    ALPHA,
    EMPTY_PROJECT,
    SCOPE,
    CountingDocuments,
    Service,
    note,
)
from tests.services import service_of


class FaultyDocuments(CountingDocuments):
    """Writes fail with the given faults, one each: before or after they are applied."""

    def __init__(self, *faults: str) -> None:
        super().__init__()
        self.faults = list(faults)

    async def put(self, key: Any, data: Any, summary: Any, *, replaces: Any, known_at: Any = None) -> None:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "lost":
            self.calls["put"] += 1
            raise Unavailable(dependency="documents")
        await super().put(key, data, summary, replaces=replaces)
        if fault == "answer lost":
            raise Unavailable(dependency="documents")
        if fault == "reported as a conflict":
            raise StoreConflict


@pytest.mark.parametrize("fault", ["lost", "answer lost", "reported as a conflict"])
@pytest.mark.parametrize("creates", [True, False])
async def test_one_failed_write_is_retried_within_the_request(fault: Any, creates: Any) -> None:
    service = Service(documents=FaultyDocuments(*([] if creates else [""]), fault))
    over = None if creates else (await service.patch(note("first"))).etag
    result = await service.patch(note("once"), over=over)
    await service.background.drain()
    assert result.sequence == (1 if creates else 2)
    assert result.replayed is (fault != "lost")
    assert (await service.head()).commit.sequence == result.sequence
    assert (await service.head()).commit.etag == result.etag


async def test_a_store_that_keeps_failing_is_unavailable_and_the_same_key_finds_out() -> None:
    service = Service(documents=FaultyDocuments(*["lost"] * (ATTEMPTS - 1), "answer lost"))
    with pytest.raises(Unavailable):
        await service.patch(note("once"), idempotency_key="k")
    assert service.documents.calls["put"] == ATTEMPTS
    result = await service.patch(note("once"), idempotency_key="k")
    assert (result.replayed, result.sequence) == (True, 1)
    await service.background.drain()


async def test_no_refusal_is_derived_from_the_response_of_the_store() -> None:
    """The first try was applied, its answer lost, and a rival has written since: the request was not refused."""
    service: Any = Service(documents=FaultyDocuments("", "answer lost"))
    first = await service.patch(note("first"))
    put = service.documents.put

    async def with_rival(key: Any, data: Any, summary: Any, *, replaces: Any) -> None:
        try:
            await put(key, data, summary, replaces=replaces)
        finally:
            service.documents.put = put
            head = await service.head()
            if head.content["summary"] == "mine":
                await service.patch(note("rival"), over=head.commit.etag)

    service.documents.put = with_rival
    result = await service.patch(note("mine"), over=first.etag)
    assert (result.replayed, result.sequence) == (True, 2)
    assert (await service.read())["content"]["summary"] == "rival"
    await service.background.drain()


async def test_after_a_conflict_the_document_is_read_again(service: Any) -> None:
    """What this process remembers has the right ETag, but retention has given the newest record a new position."""
    [first] = await service.count_up(1)
    remembered = await service.documents.get(ALPHA)
    head = await service.head()
    summary = envelope.summarise(head)
    await service.documents.put(ALPHA, remembered.data, summary, replaces=remembered.storage_etag)
    service.documents.recall = lambda key: remembered
    service.documents.calls.clear()
    result = await service.patch(note("since"), over=first.etag)
    assert (result.sequence, result.replayed) == (2, False)
    assert service.documents.calls == {"put": 2, "get": 1}


async def test_a_creation_and_the_first_change_check_for_an_erasure(service: Any) -> None:
    """An erasure misses a document that was being created when its fence was written."""
    fences = ErasureStore(service.documents._blobs)
    put = service.documents.put

    async def fenced(*arguments: Any, **members: Any) -> None:
        await put(*arguments, **members)
        await fences.write(SCOPE, b"{}", replaces=None)

    service.documents.put = fenced
    with pytest.raises(ErasureRunning):
        await service.patch(note("late"))
    service.documents.put = put
    with pytest.raises(ErasureRunning):
        await service.patch(note("first change"), over=(await service.head()).commit.etag)
    assert (await service.head()).commit.sequence == 1


# The outbox.


async def test_a_flush_that_fails_does_not_fail_the_write(service: Any, caplog: pytest.LogCaptureFixture) -> None:
    service.audit.down = True
    with caplog.at_level(logging.ERROR):
        result = await service.patch(note("a secret"))
        await service.background.drain()
    assert result.sequence == 1
    assert "flush_outbox" in caplog.text
    assert "a secret" not in caplog.text


async def test_the_next_writer_flushes_earlier_records(service: Any) -> None:
    service.audit.down = True
    result = await service.patch(note("first"))
    await service.background.drain()
    result = await service.patch(note("second"), over=result.etag)
    await service.background.drain()
    assert [record["sequence"] for record in (await service.head()).commit.outbox] == [1, 2]
    service.audit.down = False
    result = await service.patch(note("third"), over=result.etag)
    await service.background.drain()
    await service.patch(note("fourth"), over=result.etag)
    assert [record["sequence"] for record in (await service.head()).commit.outbox] == [4]
    await service.background.drain()
    assert len(await audit_of(service)) == 4


async def audit_of(service: Any) -> Any:
    head = await service.head()
    return await read_records(SCOPE, head, 1, head.commit.sequence, audit=service.audit)


async def fill_outbox(service: Any) -> Any:
    """Write as many changes as the outbox holds while the log is down."""
    service.audit.down = True
    etag = None
    for number in range(commit.OUTBOX_RECORDS):
        etag = (await service.patch(note(f"note {number}"), over=etag)).etag
        await service.background.drain()
    return etag


async def test_a_full_outbox_is_flushed_before_the_next_change(service: Any) -> None:
    etag = await fill_outbox(service)
    before = await service.documents.get(ALPHA)
    with pytest.raises(Unavailable):
        await service.patch(note("one too many"), over=etag, idempotency_key="k")
    assert await service.documents.get(ALPHA) == before
    assert len(await audit_of(service)) == commit.OUTBOX_RECORDS
    with pytest.raises(Unavailable):
        await service.patch(note("dry"), over=etag, dry_run=True)
    service.audit.down = False
    service.audit.calls.clear()
    result = await service.patch(note("one too many"), over=etag, idempotency_key="k")
    assert not result.replayed
    assert service.audit.calls["flush"] == 1
    head = await service.head()
    assert [record["sequence"] for record in head.commit.outbox] == [commit.OUTBOX_RECORDS + 1]
    segment = storage_of(service.audit).data(segment_name(SCOPE, head.doc_id, 1))
    assert (segment.count(b"\n"), len(segment)) == (commit.OUTBOX_RECORDS, head.commit.position.offset)


async def test_a_full_outbox_is_flushed_only_from_a_version_that_was_just_read(service: Any) -> None:
    """A version that is only remembered may be months old: its segment may have been removed since."""
    etag = await fill_outbox(service)
    service.audit.down = False
    remembered = await service.documents.get(ALPHA)
    result = await service.patch(note("one too many"), over=etag)
    await service.background.drain()
    doc_id = (await service.head()).doc_id
    storage_of(service.audit).drop(segment_name(SCOPE, doc_id, 1))
    service.audit._flushed.clear()
    service.documents.recall = lambda key: remembered
    with pytest.raises(ETagMismatch) as refusal:
        await service.patch(note("stale"), over=etag)
    assert refusal.value.details == {"latest_etag": result.etag}
    assert storage_of(service.audit).names(f"{SCOPE.prefix}audit/") == []


async def test_a_record_stored_with_other_bytes_stops_a_writer_that_must_flush(service: Any) -> None:
    etag = await fill_outbox(service)
    service.audit.down = False
    head = await service.head()
    # As if another process had appended the record.
    await service.audit.append(SCOPE, head.doc_id, Batch(START, head.updated_at, 1, b'{"forged":true}\n'))
    for members in ({}, {"dry_run": True}):
        with pytest.raises(HistoryCorrupt) as refusal:
            await service.patch(note("x"), over=etag, **members)
        assert refusal.value.details == {"change_id": head.change_id(commit.OUTBOX_RECORDS)}


async def test_a_damaged_record_beyond_the_ring_is_reported(service: Any) -> None:
    results = await service.count_up(70)
    service.audit.tamper(SCOPE, results[2].change_id, b"{")
    with pytest.raises(HistoryCorrupt):
        await service.patch(note("note 2"), over=results[1].etag, idempotency_key="key-3")
    service.audit.down = True
    with pytest.raises(Unavailable):
        await service.patch(note("note 3"), over=results[2].etag, idempotency_key="key-4")


async def test_a_refused_decision_is_not_retried(service: Any) -> None:
    [first] = await service.count_up(1)
    decided = []

    def decide(head: Any) -> Decision:
        decided.append(head)
        raise MemnetError("no")

    command = service.patch_command(note("x"), over=first.etag)
    with pytest.raises(MemnetError, match="no"):
        await commit_change(command, decide, service_of(**service.ports(catalog=False)))
    # Once on what this process remembers, and once on what there is.
    assert [head.commit.etag for head in decided] == [first.etag] * 2
    decided.clear()
    service.documents.recall = lambda key: None
    with pytest.raises(MemnetError, match="no"):
        await commit_change(command, decide, service_of(**service.ports(catalog=False)))
    assert len(decided) == 1


async def test_no_refusal_is_derived_from_a_remembered_version(service: Any) -> None:
    """Another process has changed the document, or erased it: what was in it must not be found out by guessing."""
    [first] = await service.count_up(1)
    remembered = await service.documents.get(ALPHA)
    head = envelope.load(remembered.data)
    empty = envelope.tombstone(head)
    await service.documents.put(
        ALPHA, envelope.dump(empty), envelope.summarise(empty), replaces=remembered.storage_etag
    )
    service.documents.recall = lambda key: remembered
    for guess in (head.content["summary"], "something else"):
        ops = [{"op": "test", "path": "/content/summary", "value": guess}, *note("x")]
        with pytest.raises(ErasureRunning):
            await service.patch(ops, over=first.etag)


CARD = "4111 1111 1111 1111"


async def test_sensitive_content_is_not_stored(service: Any) -> None:
    with pytest.raises(FieldDenied) as refused:
        await service.replace(EMPTY_PROJECT | {"summary": "Pay to DE89 3704 0044 0532 0130 00."})
    assert refused.value.details == {"path": "/content/summary", "kind": "iban"}
    for members in ({"note": CARD}, {"evidence": {"note": CARD}}):
        with pytest.raises(FieldDenied) as refused:
            await service.replace(EMPTY_PROJECT, **members)
        assert refused.value.details["kind"] == "card_number"
    with pytest.raises(DocumentNotFound):
        await service.read()


async def test_delete(service: Any) -> None:
    results = await service.count_up(2)
    result = await service.delete(results[-1].etag, note="asked by the user")
    assert (result.sequence, result.created, result.document) == (3, False, None)
    with pytest.raises(DocumentNotFound):
        await service.read()
    head = await service.head()
    assert (head.deleted, head.content) == (True, None)
    assert (await service.record(3))["note"] == "asked by the user"


async def test_a_sensitive_note_of_a_deletion_is_refused(service: Any) -> None:
    results = await service.count_up(1)
    with pytest.raises(FieldDenied) as refused:
        await service.delete(results[-1].etag, note="card 4111 1111 1111 1111")
    assert refused.value.details == {"path": "/note", "kind": "card_number"}
