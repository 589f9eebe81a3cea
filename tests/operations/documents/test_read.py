"""Read documents, current and earlier versions, and list them."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import (
    DocumentNotFound,
    HistoryCorrupt,
    InvalidCursor,
    InvalidIdentifier,
    MalformedRequest,
    Unavailable,
    VersionNotFound,
)
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.operations.documents.read import get_document, list_documents
from tests.operations.baseline_scenario import line_of
from tests.operations.service_scenario import ALPHA, BOB, SCOPE, Service, note
from tests.services import service_of


async def test_the_current_version_costs_one_read_and_shows_no_commit(service: Any) -> None:
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
async def test_a_missing_document_is_not_found(service: Any, key: Any) -> None:
    await service.count_up(1)
    for as_of in [None, "2026-01-01T00:00:00Z"]:
        with pytest.raises(DocumentNotFound):
            await service.read(key, as_of)


async def test_a_deleted_document_keeps_its_earlier_versions(service: Any) -> None:
    results = await service.count_up(2)
    await service.delete(results[-1].etag)
    with pytest.raises(DocumentNotFound):
        await service.read()
    with pytest.raises(VersionNotFound):
        await service.read(as_of="2026-01-01T00:00:00Z")
    assert (await service.read(as_of=results[0].change_id))["content"]["summary"] == "note 0"


async def test_each_version_is_rebuilt_unchanged(service: Service) -> None:
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


async def test_before_the_first_version_nothing_is_found(service: Any) -> None:
    await service.count_up(1)
    with pytest.raises(VersionNotFound):
        await service.read(as_of="2025-12-31T23:59:59Z")
    with pytest.raises(MalformedRequest):
        await service.read(as_of="last week")


@pytest.mark.parametrize("damage", [None, b"{", b"{}"])
async def test_a_damaged_record_is_reported(service: Any, damage: Any) -> None:
    results = await service.count_up(3)
    service.audit.tamper(SCOPE, results[1].change_id, damage)
    # The last record is still in the document; the first is needed by every later version.
    with pytest.raises(HistoryCorrupt) as refusal:
        await service.read(as_of=results[2].change_id)
    assert refusal.value.details["change_id"] == results[1].change_id
    assert (await service.read())["content"]["summary"] == "note 2"


async def test_a_forged_record_is_not_returned(service: Any) -> None:
    results = await service.count_up(5)
    data = line_of(service.audit, SCOPE, results[1].change_id)
    service.audit.tamper(SCOPE, results[1].change_id, data.replace(b"svc-alice", b"svc-mallory"))
    with pytest.raises(HistoryCorrupt):
        await service.read(as_of=results[1].change_id)


async def test_the_audit_log_is_needed_only_for_earlier_versions(service: Any) -> None:
    results = await service.count_up(3)
    service.audit.down = True
    assert (await service.read())["content"]["summary"] == "note 2"
    with pytest.raises(Unavailable):
        await service.read(as_of=results[0].change_id)


async def test_an_unchanged_document_is_worked_out_once(service: Any) -> None:
    await service.patch(note("once"))
    first = await get_document(ALPHA, service_of(documents=service.documents, audit=service.audit))
    assert await get_document(ALPHA, service_of(documents=service.documents, audit=service.audit)) is first


NAMES = ["alpha.json", "alpha-2.json", "beta.json", "gamma.json", "z.json"]


async def listed(service: Any, scope: Any = SCOPE, **members: Any) -> Any:
    """Every page, and all of the rows."""
    chosen: dict[str, Any] = {"namespace": None, "prefix": None, "limit": 100, "cursor": None} | members
    pages = [await list_documents(scope, service, **chosen)]
    while pages[-1].next_cursor is not None:
        chosen["cursor"] = pages[-1].next_cursor
        pages.append(await list_documents(scope, service, **chosen))
    return pages, [f"{row.key.namespace}/{row.key.path}" for page in pages for row in page.items]


@pytest.fixture
async def filled(service: Any) -> Any:
    """Five projects and one document of another namespace, of two users and two tenants."""
    for scope in [SCOPE, UserScope("t1", "u10"), UserScope("t10", "u1")]:
        for name in NAMES:
            await service.patch(note(f"of {scope.user_id}"), key=DocumentKey(scope, "projects", name))
        preference = {"op": "add", "path": "/content/preferences/-", "value": "\u00e9\u00e9"}
        await service.patch(preference, key=DocumentKey(scope, "user", "user_dynamic.json"), actor=BOB)
    await service.background.drain()
    return service


async def test_names_are_sorted_and_only_of_this_user(filled: Any) -> None:
    _, names = await listed(filled)
    assert names == [f"projects/{name}" for name in sorted(NAMES)] + ["user/user_dynamic.json"]
    assert (await listed(filled, UserScope("t1", "u2")))[1] == []
    # u1 is no prefix of u10, t1 none of t10.
    assert len((await listed(filled, UserScope("t1", "u10")))[1]) == 6


@pytest.mark.parametrize(
    ("namespace", "prefix", "count"),
    [
        ("projects", None, 5),
        ("projects", "alpha", 2),
        ("projects", "alpha.", 1),
        ("projects", "alpha.json/", 0),
        ("user", None, 1),
        (None, "projects/alpha", 2),
        (None, "user", 1),
    ],
)
async def test_prefixes(filled: Any, namespace: Any, prefix: Any, count: Any) -> None:
    assert len((await listed(filled, namespace=namespace, prefix=prefix))[1]) == count


@pytest.mark.parametrize(
    ("namespace", "prefix"), [("..", None), ("a/b", None), ("", None), ("projects", "../"), (None, "/")]
)
async def test_a_prefix_cannot_leave_the_user(filled: Any, namespace: Any, prefix: Any) -> None:
    with pytest.raises(InvalidIdentifier):
        await listed(filled, namespace=namespace, prefix=prefix)


@pytest.mark.parametrize("limit", [1, 2, 6])
async def test_pages_lose_and_repeat_nothing(filled: Any, limit: Any) -> None:
    pages, names = await listed(filled, limit=limit)
    assert names == (await listed(filled))[1]
    assert all(0 < len(page.items) <= limit for page in pages)


async def test_pages_continue_while_documents_are_added_and_deleted(filled: Any) -> None:
    first = await list_documents(SCOPE, filled, namespace=None, prefix=None, limit=2, cursor=None)
    await filled.patch(note("early"), key=DocumentKey(SCOPE, "projects", "aaa.json"))
    beta = DocumentKey(SCOPE, "projects", "beta.json")
    await filled.delete((await filled.head(beta)).commit.etag, key=beta)
    _, rest = await listed(filled, cursor=first.next_cursor)
    assert rest == ["projects/gamma.json", "projects/z.json", "user/user_dynamic.json"]


async def test_deleted_documents_are_left_out_and_no_page_before_the_end_is_empty(filled: Any) -> None:
    for name in sorted(NAMES)[:4]:
        key = DocumentKey(SCOPE, "projects", name)
        await filled.delete((await filled.head(key)).commit.etag, key=key)
    pages, names = await listed(filled, limit=2)
    assert names == ["projects/z.json", "user/user_dynamic.json"]
    assert all(page.items for page in pages)


async def test_a_cursor_belongs_to_its_list(filled: Any) -> None:
    page = await list_documents(SCOPE, filled, namespace=None, prefix=None, limit=2, cursor=None)
    for scope, members in [
        (UserScope("t1", "u10"), {}),
        (UserScope("t10", "u1"), {}),
        (SCOPE, {"namespace": "projects"}),
        (SCOPE, {"prefix": "p"}),
    ]:
        with pytest.raises(InvalidCursor):
            await listed(filled, scope, cursor=page.next_cursor, **members)
    assert page.next_cursor is not None
    for cursor in ["", "x", "\u00e9", "AAAA", page.next_cursor + "x", page.next_cursor[:-1]]:
        with pytest.raises(InvalidCursor):
            await listed(filled, cursor=cursor)
