"""The DocumentStore."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from memnet.domain.core.scope import DocumentKey, ETag, StorageETag, UserScope
from memnet.domain.documents.envelope import DocumentSummary
from memnet.paging import rows
from memnet.ports import StoreConflict
from memnet.stores import DocumentStore, ListedDocument
from tests.turns import counted_turns

SCOPE = UserScope("t1", "u1")
KEY = DocumentKey(SCOPE, "user", "static")
DATA = '{"text":"naïve 文档 🙂\\u0000"}'.encode()
SUMMARY = DocumentSummary(
    etag=ETag('"e-1"'), sequence=1, updated_at="2026-01-01T00:00:00.000000Z", size=17, deleted=False
)


async def create(documents: DocumentStore, key: DocumentKey, data: bytes = DATA) -> StorageETag:
    await documents.put(key, data, SUMMARY, replaces=None)
    stored = await documents.get(key)
    assert stored is not None
    return stored.storage_etag


async def data_of(documents: DocumentStore, key: DocumentKey) -> bytes | None:
    stored = await documents.get(key)
    return stored.data if stored else None


async def paths(documents: DocumentStore, scope: UserScope, prefix: str = "", limit: int = 100) -> list[str]:
    found = rows(partial(documents.list, scope, prefix), limit)
    return [f"{row.key.namespace}/{row.key.path}" async for row in found]


async def test_create_then_get_returns_the_bytes(documents: Any) -> None:
    await create(documents, KEY)
    assert await data_of(documents, KEY) == DATA
    assert await data_of(documents, KEY) == DATA, "unchanged since the last read"


async def test_create_where_one_is_is_a_conflict(documents: Any) -> None:
    await create(documents, KEY)
    with pytest.raises(StoreConflict):
        await documents.put(KEY, b"{}", SUMMARY, replaces=None)
    assert await data_of(documents, KEY) == DATA


async def test_replace_with_a_stale_tag_is_a_conflict(documents: Any) -> None:
    first = await create(documents, KEY)
    await documents.put(KEY, b"{}", SUMMARY, replaces=first)
    with pytest.raises(StoreConflict):
        await documents.put(KEY, DATA, SUMMARY, replaces=first)
    assert await data_of(documents, KEY) == b"{}"


async def test_what_is_recalled_can_be_replaced(documents: Any) -> None:
    await documents.put(KEY, DATA, SUMMARY, replaces=None)
    recalled = documents.recall(KEY)
    assert recalled is not None
    await documents.put(KEY, b"{}", SUMMARY, replaces=recalled.storage_etag)
    assert await data_of(documents, KEY) == b"{}"


async def test_list_is_in_name_order_with_what_put_said(documents: Any) -> None:
    for namespace, path in [("user", "b"), ("user", "a/z"), ("user", "a"), ("projects", "p1"), ("user", "a.b")]:
        await create(documents, DocumentKey(SCOPE, namespace, path))
    assert await paths(documents, SCOPE) == ["projects/p1", "user/a", "user/a.b", "user/a/z", "user/b"]
    page = await documents.list(SCOPE, "projects/", limit=10, cursor=None)
    assert list(page.items) == [ListedDocument(DocumentKey(SCOPE, "projects", "p1"), SUMMARY)]
    assert page.next_cursor is None


async def test_list_says_what_the_last_put_said(documents: Any) -> None:
    tag = await create(documents, KEY)
    summary = replace(SUMMARY, etag=ETag('"e-2"'), sequence=2, size=0, deleted=True)
    await documents.put(KEY, b"", summary, replaces=tag)
    page = await documents.list(SCOPE, "", limit=10, cursor=None)
    assert [row.summary for row in page.items] == [summary]


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("", ["user/s", "user/static", "user2/static"]),
        ("user/", ["user/s", "user/static"]),
        ("user/st", ["user/static"]),
        ("user2/", ["user2/static"]),
        ("nothing", []),
    ],
)
async def test_list_by_prefix(documents: Any, prefix: Any, found: Any) -> None:
    for namespace, path in [("user", "static"), ("user", "s"), ("user2", "static")]:
        await create(documents, DocumentKey(SCOPE, namespace, path))
    assert await paths(documents, SCOPE, prefix) == found


@pytest.mark.parametrize(
    "neighbour",
    [
        DocumentKey(UserScope("t1", "u10"), "user", "static"),
        DocumentKey(UserScope("t10", "u1"), "user", "static"),
        DocumentKey(UserScope("t1", "u1"), "user", "static2"),
        DocumentKey(UserScope("t1", "u1"), "user2", "static"),
        DocumentKey(UserScope("t1", "u1"), "user", "static/x"),
    ],
)
async def test_neighbours_do_not_meet(documents: Any, neighbour: Any) -> None:
    await create(documents, neighbour, b"theirs")
    assert await documents.get(KEY) is None
    assert documents.recall(KEY) is None
    await create(documents, KEY, b"ours")
    assert await data_of(documents, neighbour) == b"theirs"
    same_user = neighbour.scope == SCOPE
    assert len(await paths(documents, SCOPE)) == (2 if same_user else 1)


async def test_list_all_has_every_tenant(documents: Any) -> None:
    keys = [
        DocumentKey(UserScope(tenant, user), "user", name)
        for tenant in ("t1", "t2")
        for user in ("u1", "u2")
        for name in ("a", "b")
    ]
    for key in keys:
        await create(documents, key)
    assert [row.key async for row in rows(documents.list_all, 3)] == keys


async def test_other_tasks_run_while_a_long_page_is_made(documents: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memnet.stores.blobs.ROWS_AT_ONCE", 1)
    for number in range(9):
        await create(documents, DocumentKey(SCOPE, "user", f"d{number}"))
    async with counted_turns() as turns:
        found = await documents.list(SCOPE, "", limit=9, cursor=None)
    assert turns.count >= len(found.items) == 9
