"""Listing: name order, prefixes, pages that lose and repeat nothing, and nobody else's documents."""

import pytest

from memnet.domain.core.errors import InvalidCursor, InvalidIdentifier
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.operations.documents.list_documents import list_documents
from tests.operations.service_scenario import BOB, SCOPE, Service, note

NAMES = ["alpha.json", "alpha-2.json", "beta.json", "gamma.json", "z.json"]


async def listed(service: Service, scope=SCOPE, **members):
    """Every page, and all of the rows."""
    chosen = {"namespace": None, "prefix": None, "limit": 100, "cursor": None} | members
    pages = [await list_documents(scope, documents=service.documents, **chosen)]
    while pages[-1].next_cursor is not None:
        chosen["cursor"] = pages[-1].next_cursor
        pages.append(await list_documents(scope, documents=service.documents, **chosen))
    return pages, [f"{row.key.namespace}/{row.key.path}" for page in pages for row in page.items]


@pytest.fixture
async def filled(service):
    """Five projects and one document of another namespace, of two users and two tenants."""
    for scope in [SCOPE, UserScope("t1", "u10"), UserScope("t10", "u1")]:
        for name in NAMES:
            await service.patch(note(f"of {scope.user_id}"), key=DocumentKey(scope, "projects", name))
        preference = {"op": "add", "path": "/content/preferences/-", "value": "\u00e9\u00e9"}
        await service.patch(preference, key=DocumentKey(scope, "user", "user_dynamic.json"), actor=BOB)
    await service.background.drain()
    return service


async def test_names_in_order_and_only_of_this_user(filled):
    _, names = await listed(filled)
    assert names == [f"projects/{name}" for name in sorted(NAMES)] + ["user/user_dynamic.json"]
    assert (await listed(filled, UserScope("t1", "u2")))[1] == []
    # u1 is no prefix of u10, t1 none of t10.
    assert len((await listed(filled, UserScope("t1", "u10")))[1]) == 6


async def test_a_row_says_what_the_document_says(filled):
    key = DocumentKey(SCOPE, "user", "user_dynamic.json")
    page = await list_documents(SCOPE, namespace="user", prefix=None, limit=5, cursor=None, documents=filled.documents)
    [row] = page.items
    head = await filled.head(key)
    assert (row.key, row.summary.etag, row.summary.sequence) == (key, head.commit.etag, 1)
    assert row.summary.updated_at == head.updated_at
    assert row.summary.size == len(
        '{"durable_facts":[],"pending_confirmations":[],"preferences":["\u00e9\u00e9"],"user_instructions":[]}'
    )


@pytest.mark.parametrize(
    ("namespace", "prefix", "count"),
    [
        ("projects", None, 5),
        ("projects", "", 5),
        ("projects", "alpha", 2),
        ("projects", "alpha.", 1),
        ("projects", "alpha.json", 1),
        ("projects", "alpha.json/", 0),
        ("projects", "nothing", 0),
        ("project", None, 0),
        ("user", None, 1),
        (None, "projects/", 5),
        (None, "projects/alpha", 2),
        (None, "user", 1),
    ],
)
async def test_prefixes(filled, namespace, prefix, count):
    assert len((await listed(filled, namespace=namespace, prefix=prefix))[1]) == count


@pytest.mark.parametrize(
    ("namespace", "prefix"), [("..", None), ("a/b", None), ("", None), ("projects", "../"), (None, "/")]
)
async def test_no_prefix_leaves_the_user(filled, namespace, prefix):
    with pytest.raises(InvalidIdentifier):
        await listed(filled, namespace=namespace, prefix=prefix)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6])
async def test_pages_lose_and_repeat_nothing(filled, limit):
    pages, names = await listed(filled, limit=limit)
    assert names == (await listed(filled))[1]
    assert all(0 < len(page.items) <= limit for page in pages)


async def test_pages_go_on_while_documents_come_and_go(filled):
    first = await list_documents(SCOPE, namespace=None, prefix=None, limit=2, cursor=None, documents=filled.documents)
    await filled.patch(note("early"), key=DocumentKey(SCOPE, "projects", "aaa.json"))
    beta = DocumentKey(SCOPE, "projects", "beta.json")
    await filled.delete((await filled.head(beta)).commit.etag, key=beta)
    _, rest = await listed(filled, cursor=first.next_cursor)
    assert rest == ["projects/gamma.json", "projects/z.json", "user/user_dynamic.json"]


async def test_deleted_documents_are_left_out_and_no_page_before_the_end_is_empty(filled):
    for name in sorted(NAMES)[:4]:
        key = DocumentKey(SCOPE, "projects", name)
        await filled.delete((await filled.head(key)).commit.etag, key=key)
    pages, names = await listed(filled, limit=2)
    assert names == ["projects/z.json", "user/user_dynamic.json"]
    assert all(page.items for page in pages)


async def test_a_cursor_belongs_to_its_list(filled):
    page = await list_documents(SCOPE, namespace=None, prefix=None, limit=2, cursor=None, documents=filled.documents)
    for scope, members in [
        (UserScope("t1", "u10"), {}),
        (UserScope("t10", "u1"), {}),
        (SCOPE, {"namespace": "projects"}),
        (SCOPE, {"prefix": "p"}),
    ]:
        with pytest.raises(InvalidCursor):
            await listed(filled, scope, cursor=page.next_cursor, **members)
    for cursor in ["", "x", "\u00e9", "AAAA", page.next_cursor + "x", page.next_cursor[:-1]]:
        with pytest.raises(InvalidCursor):
            await listed(filled, cursor=cursor)
