"""Reading: one round trip for the newest version, and any earlier one from its records."""

from datetime import timedelta

import orjson
import pytest

from memnet.domain.core.errors import DocumentNotFound, HistoryCorrupt, MalformedRequest, Unavailable, VersionNotFound
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.operations.documents.get_document import get_document
from tests.operations.service_scenario import ALPHA, SCOPE, Service, note
from tests.services import service_of


async def test_the_newest_version_costs_one_read_and_shows_no_commit(service):
    [created] = await service.count_up(1)
    service.documents.calls.clear()
    view = await get_document(ALPHA, service_of(documents=service.documents, audit=service.audit))
    assert view.etag == created.etag
    assert orjson.loads(view.document) == {
        "doc_id": created.change_id.rpartition("-")[0],
        "schema_id": "memory.project",
        "schema_version": "1.0.0",
        "created_at": "2026-01-01T00:00:00.000000Z",
        "updated_at": "2026-01-01T00:00:00.000000Z",
        "updated_by": "svc-alice",
        "content": {"summary": "note 0", "facets": {}, "recent_notes": []},
    }
    assert (service.documents.calls, service.audit.calls["read"]) == ({"get": 1}, 0)


@pytest.mark.parametrize(
    "key",
    [
        DocumentKey(SCOPE, "projects", "beta.json"),
        DocumentKey(SCOPE, "user", "alpha.json"),
        DocumentKey(UserScope("t1", "u2"), "projects", "alpha.json"),
        DocumentKey(UserScope("t2", "u1"), "projects", "alpha.json"),
    ],
)
async def test_what_is_not_there(service, key):
    await service.count_up(1)
    for as_of in [None, "2026-01-01T00:00:00Z"]:
        with pytest.raises(DocumentNotFound):
            await service.read(key, as_of)


async def test_a_deleted_document_is_gone_and_its_past_is_not(service):
    results = await service.count_up(2)
    await service.delete(results[-1].etag)
    with pytest.raises(DocumentNotFound):
        await service.read()
    with pytest.raises(VersionNotFound):
        await service.read(as_of="2026-01-01T00:00:00Z")
    assert (await service.read(as_of=results[0].change_id))["content"]["summary"] == "note 0"


async def test_every_version_is_the_one_that_was_answered(service: Service):
    seen = {}
    etag = None
    for number in range(20):
        service.clock.advance(timedelta(minutes=1))
        result = await service.patch(note(f"note {number}"), over=etag)
        etag = result.etag
        view = await get_document(ALPHA, service_of(documents=service.documents, audit=service.audit))
        seen[result.change_id] = seen[orjson.loads(view.document)["updated_at"]] = (view.etag, view.document)
    for as_of, (etag, document) in seen.items():
        view = await get_document(ALPHA, service_of(documents=service.documents, audit=service.audit), as_of=as_of)
        assert (view.etag, view.document) == (etag, document)


async def test_records_that_are_not_flushed_yet_count(service):
    service.audit.down = True
    first = await service.patch(note("first"))
    await service.patch(note("second"), over=first.etag)
    await service.background.drain()
    assert (await service.read(as_of=first.change_id))["content"]["summary"] == "first"


async def test_before_the_first_version_there_was_none(service):
    await service.count_up(1)
    with pytest.raises(VersionNotFound):
        await service.read(as_of="2025-12-31T23:59:59Z")
    with pytest.raises(MalformedRequest):
        await service.read(as_of="last week")


async def test_a_change_of_another_document_is_no_version_of_this_one(service):
    beta = DocumentKey(SCOPE, "projects", "beta.json")
    await service.count_up(2)
    [other] = await service.count_up(1, beta)
    with pytest.raises(VersionNotFound):
        await service.read(as_of=other.change_id)


@pytest.mark.parametrize("damage", [None, b"", b"{", b"[]", b"null", b"\xff", b"{}"])
async def test_a_damaged_past_is_not_made_up(service, damage):
    results = await service.count_up(3)
    service.audit.tamper(SCOPE, results[1].change_id, damage)
    # The last record is still in the document; the first is needed by every later version.
    with pytest.raises(HistoryCorrupt) as refusal:
        await service.read(as_of=results[2].change_id)
    assert refusal.value.details["change_id"] == results[1].change_id
    assert (await service.read())["content"]["summary"] == "note 2"


async def test_a_forged_record_is_not_handed_out(service):
    results = await service.count_up(5)
    data = await service.audit.read(SCOPE, results[1].change_id)
    service.audit.tamper(SCOPE, results[1].change_id, data.replace(b"svc-alice", b"svc-mallory"))
    with pytest.raises(HistoryCorrupt):
        await service.read(as_of=results[1].change_id)


async def test_an_audit_that_does_not_answer_is_unavailable_only_where_it_is_needed(service):
    results = await service.count_up(3)
    service.audit.down = True
    assert (await service.read())["content"]["summary"] == "note 2"
    with pytest.raises(Unavailable):
        await service.read(as_of=results[0].change_id)


async def test_an_unchanged_document_is_worked_out_once(service):
    await service.patch(note("once"))
    first = await get_document(ALPHA, service_of(documents=service.documents, audit=service.audit))
    assert await get_document(ALPHA, service_of(documents=service.documents, audit=service.audit)) is first
