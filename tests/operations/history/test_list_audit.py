"""The audit as a list: everything that happened, once, in order, flushed or not."""

from typing import Any

import orjson
import pytest

from memnet.domain.core import cursor as cursors
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import (
    HistoryCorrupt,
    InvalidCursor,
    InvalidIdentifier,
    MalformedRequest,
)
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents.audit_record import record_hash
from memnet.domain.documents.audit_values import VALUES
from memnet.operations.history.list_audit import list_audit
from memnet.paging import MAX_CONCURRENCY
from memnet.stores import read_records
from tests.operations.baseline_scenario import retain, split
from tests.operations.service_scenario import SCOPE, Service, note
from tests.operations.storage_calls import StorageCalls
from tests.services import arguments

BETA, GAMMA = DocumentKey(SCOPE, "projects", "beta.json"), DocumentKey(SCOPE, "projects", "gamma.json")


async def page_of(service: Service, scope: Any = SCOPE, **members: Any) -> Any:
    chosen = {"namespace": None, "path": None, "limit": 100, "cursor": None} | members
    return await list_audit(scope, **arguments(documents=service.documents, audit=service.audit, **chosen))


async def told(service: Service, scope: Any = SCOPE, **members: Any) -> Any:
    """(path, sequence) of every record of every page."""
    rows, cursor = [], None
    while True:
        page = await page_of(service, scope, cursor=cursor, **members)
        assert len(page.items) <= members.get("limit", 100)
        rows += [(record["path"], record["sequence"]) for record in map(orjson.loads, page.items)]
        cursor = page.next_cursor
        if cursor is None:
            return rows


@pytest.fixture
async def filled(service: Any) -> Any:
    """Alpha with five changes, the last a deletion; beta with three; another user's document."""
    results = await service.count_up(4)
    await service.delete(results[-1].etag)
    await service.count_up(3, BETA)
    await service.count_up(2, DocumentKey(UserScope("t1", "u2"), "projects", "alpha.json"))
    return service


EVERYTHING = [("alpha.json", n) for n in range(1, 6)] + [("beta.json", n) for n in range(1, 4)]


async def test_document_by_document_in_the_order_it_happened(filled: Any) -> None:
    assert await told(filled) == EVERYTHING
    assert await told(filled, namespace="projects") == EVERYTHING
    assert await told(filled, namespace="projects", path="beta.json") == EVERYTHING[5:]
    assert await told(filled, namespace="projects", path="alpha.json") == EVERYTHING[:5]
    for nothing in [{"namespace": "user"}, {"namespace": "project"}, {"namespace": "projects", "path": "alpha"}]:
        assert await told(filled, **nothing) == []
    assert await told(filled, UserScope("t2", "u1")) == []


@pytest.mark.parametrize("limit", range(1, 10))
async def test_pages_lose_and_repeat_nothing(filled: Any, limit: Any) -> None:
    assert await told(filled, limit=limit) == EVERYTHING
    assert await told(filled, limit=limit, namespace="projects", path="beta.json") == EVERYTHING[5:]


async def test_pages_continue_while_changes_are_made(filled: Any) -> None:
    page = await page_of(filled, limit=4)
    beta = await filled.head(BETA)
    await filled.patch(note("more"), over=beta.commit.etag, key=BETA)
    rest = await page_of(filled, cursor=page.next_cursor)
    sequences = [orjson.loads(item)["sequence"] for item in rest.items]
    assert sequences == [5, 1, 2, 3, 4]


async def test_the_records_are_those_that_stand(filled: Any) -> None:
    page = await page_of(filled, namespace="projects", path="beta.json")
    beta = await filled.head(BETA)
    opened = await read_records(SCOPE, beta, 1, 3, audit=filled.audit)
    for item, record in zip(map(orjson.loads, page.items), opened, strict=True):
        assert item == {name: value for name, value in record.items() if name != "values_salt"}
        # A reader of them can verify the chain.
        clear = {name: value for name, value in item.items() if name not in VALUES}
        assert sha256_hex(canonical(clear)) == record_hash(record)


async def test_what_is_not_flushed_is_there(service: Any) -> None:
    service.audit.down = True
    first = await service.patch(note("first"))
    await service.patch(note("second"), over=first.etag)
    await service.background.drain()
    assert await told(service) == [("alpha.json", 1), ("alpha.json", 2)]
    assert service.audit.calls["read"] == 0


async def test_a_path_needs_its_namespace_and_both_their_form(filled: Any) -> None:
    with pytest.raises(MalformedRequest):
        await page_of(filled, path="alpha.json")
    for members in [
        {"namespace": ".."},
        {"namespace": "projects", "path": "../x"},
        {"namespace": "projects", "path": ""},
    ]:
        with pytest.raises(InvalidIdentifier):
            await page_of(filled, **members)


async def test_a_cursor_belongs_to_its_list(filled: Any) -> None:
    page = await page_of(filled, limit=2)
    for scope, members in [
        (UserScope("t1", "u2"), {}),
        (SCOPE, {"namespace": "projects"}),
        (SCOPE, {"namespace": "projects", "path": "alpha.json"}),
    ]:
        with pytest.raises(InvalidCursor):
            await page_of(filled, scope, cursor=page.next_cursor, **members)
    listing = f"{SCOPE.prefix}audit of */*"
    made_up = [cursors.encode(listing, position) for position in ["", ":", "x:projects/a", "-1:projects/a", "\u0661:a"]]
    for cursor in ["", "x", page.next_cursor + "A", *made_up]:
        with pytest.raises(InvalidCursor):
            await page_of(filled, cursor=cursor)


async def test_a_missing_record_is_reported_and_not_skipped(filled: Any) -> None:
    page = await page_of(filled, namespace="projects", path="beta.json")
    change_id = orjson.loads(page.items[1])["change_id"]
    filled.audit.tamper(SCOPE, change_id, None)
    with pytest.raises(HistoryCorrupt) as refusal:
        await told(filled)
    assert refusal.value.details == {"change_id": change_id}
    assert await told(filled, namespace="projects", path="alpha.json") == EVERYTHING[:5]


async def test_a_page_of_one_document_reads_two_segments_at_most(filled: Any) -> None:
    beta = await filled.count_up(12, key=GAMMA)
    for first in (5, 9):
        await split(filled, GAMMA, first)
    assert len(beta) == 12
    cursor = None
    for segments in (2, 2, 1):
        calls = StorageCalls(filled)
        page = await page_of(filled, namespace="projects", path="gamma.json", limit=5, cursor=cursor)
        cursor = page.next_cursor
        assert calls.count("get", "gamma.json") == 1
        assert calls.count("list", "/") == 1
        assert calls.count("get", ".jsonl") == segments
        assert calls.total() == 2 + segments
    assert cursor is None


async def test_a_page_of_many_documents_reads_them_in_waves(filled: Any) -> None:
    for number in range(40):
        await filled.count_up(1, DocumentKey(SCOPE, "projects", f"one-{number:02}.json"))
    filled.documents.most_in_flight = 0
    calls = StorageCalls(filled)
    assert len((await page_of(filled, limit=100)).items) == 48
    assert [name for method, name in calls.made if method == "list"] == [
        f"{SCOPE.prefix}documents/",
        f"{SCOPE.prefix}audit/",
    ]
    assert 2 < filled.documents.most_in_flight <= MAX_CONCURRENCY
    # No more documents are read than the page shows.
    filled.documents.calls.clear()
    assert len((await page_of(filled, limit=10)).items) == 10
    assert filled.documents.calls["get"] == 4


@pytest.mark.parametrize("limit", [1, 3, 5, 50])
async def test_pages_of_several_segments_lose_and_repeat_nothing(filled: Any, limit: int) -> None:
    await filled.count_up(12, key=GAMMA)
    for first in (2, 5, 12):
        await split(filled, GAMMA, first)
    assert await told(filled, limit=limit) == EVERYTHING + [("gamma.json", n) for n in range(1, 13)]
    await retain(filled, GAMMA, 6)
    assert await told(filled, limit=limit) == EVERYTHING + [("gamma.json", n) for n in range(7, 13)]


@pytest.mark.parametrize("members", [{}, {"namespace": "projects", "path": "gamma.json"}])
async def test_a_page_continues_when_retention_removes_records_meanwhile(filled: Any, members: Any) -> None:
    await filled.count_up(12, key=GAMMA)
    await split(filled, GAMMA, 5)
    read = filled.audit.read

    async def remove_first(*arguments: Any) -> Any:
        filled.audit.read = read
        await retain(filled, GAMMA, 8)
        return await read(*arguments)

    filled.audit.read = remove_first
    assert (await told(filled, **members))[-4:] == [("gamma.json", n) for n in range(9, 13)]
