"""The EventIndex contract, for every backend."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memnet.domain.core.scope import UserScope
from memnet.domain.events.event_search import EventQuery, IndexDocument
from memnet.domain.events.index_layout import IndexVersion
from memnet.ports import EventIndex, IndexMissing
from tests.domain.event_samples import SCOPE, stored_event

LIKE = EventQuery(scope=SCOPE, text="latency", top=10)
NEWEST = replace(LIKE, text=None)
MODEL = "test-model"


async def filled(index: EventIndex, *documents: IndexDocument, model: str | None = None) -> str:
    """The name of a new index with these documents."""
    version = IndexVersion(index.new_name("a1"), model, 2 if model else 0)
    await index.create(version)
    assert await index.upload(version.name, documents) == frozenset()
    return version.name


def document(event_id: str, vector: list[float] | None = None, **members: object) -> IndexDocument:
    return IndexDocument(stored_event(event_id, **members), vector)  # type: ignore[arg-type]


async def ids(index: EventIndex, name: str, query: EventQuery, vector: list[float] | None = None) -> list[str]:
    found = await index.search(name, query, vector)
    return [name_of(hit.data) for hit in found.items]


def name_of(data: bytes) -> str:
    return data.decode().split('"event_id":"')[1].split('"')[0]


async def test_what_was_uploaded_is_found_by_its_words(index: Any) -> None:
    name = await filled(
        index,
        document("e1", digest="Retrieval latency of the search service."),
        document("e2", digest="Lunch plans.", keywords=["latency"]),
        document("e3", digest="Lunch plans.", keywords=[]),
        document("e4", digest="Lunch plans.", keywords=[], entities=["Latency Inc"]),
    )
    found = await index.search(name, LIKE, None)
    assert sorted(name_of(hit.data) for hit in found.items) == ["e1", "e2", "e4"]
    assert not found.more
    assert all(hit.score > 0 for hit in found.items)
    assert found.items[0].score >= found.items[1].score


async def test_a_hit_is_the_stored_event_byte_for_byte(index: Any) -> None:
    one = document("e1", digest="latency: naïve 文档 🙂 \u0000 \"quoted\" 'single' \\ \u2028", evidence=None)
    name = await filled(index, one)
    (hit,) = (await index.search(name, LIKE, None)).items
    assert hit.data == one.stored.data
    assert hit.key == one.key


async def test_without_a_text_the_newest_come_first(index: Any) -> None:
    name = await filled(
        index,
        document("e1", timestamp="2026-01-02T00:00:00Z"),
        document("e2", timestamp="2026-01-03T00:00:00Z"),
        document("e3", timestamp="2026-01-01T00:00:00Z"),
    )
    assert await ids(index, name, NEWEST) == ["e2", "e1", "e3"]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"service": "a"}, ["e1"]),
        ({"service": "o'brien"}, ["e2"]),
        ({"source_type": "mail"}, ["e2"]),
        ({"project": "p1"}, ["e1", "e2"]),
        ({"project": "p"}, []),
        ({"service": "a", "project": "p2"}, []),
        ({"entity": "Maya"}, ["e1"]),
        ({"entity": "O'Brien"}, ["e1", "e2"]),
        ({"entity": "maya"}, []),
        ({"since": datetime(2026, 1, 2, tzinfo=UTC)}, ["e2"]),
        ({"until": datetime(2026, 1, 2, tzinfo=UTC)}, ["e1"]),
        ({"since": datetime(2026, 1, 1, tzinfo=UTC), "until": datetime(2026, 1, 3, tzinfo=UTC)}, ["e1", "e2"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("text", ["latency", None])
async def test_filters(index: Any, members: Any, expected: Any, text: Any) -> None:
    name = await filled(
        index,
        document(
            "e1",
            digest="latency one",
            service_id="a",
            source_type="chat",
            project_ids=["p1"],
            entities=["Maya", "O'Brien"],
            timestamp="2026-01-01T00:00:00Z",
        ),
        document(
            "e2",
            digest="latency two",
            service_id="o'brien",
            source_type="mail",
            project_ids=["p1", "p2"],
            entities=["O'Brien"],
            timestamp="2026-01-02T00:00:00Z",
        ),
    )
    assert sorted(await ids(index, name, replace(LIKE, text=text, **members))) == expected


@pytest.mark.parametrize("scope", [UserScope("t1", "u2"), UserScope("t2", "u1"), UserScope("t1", "U1")])
async def test_a_search_finds_events_of_its_user_only(index: Any, scope: Any) -> None:
    mine, theirs = document("e1", digest="latency"), document("e1", digest="latency", scope=scope)
    name = await filled(index, mine, theirs)
    assert [hit.data for hit in (await index.search(name, LIKE, None)).items] == [mine.stored.data]
    found = await index.search(name, replace(LIKE, scope=scope, text=None), None)
    assert [hit.data for hit in found.items] == [theirs.stored.data]


@pytest.mark.parametrize("text", ["latency", None])
async def test_pages_join_without_gap_or_repeat_even_among_equals(index: Any, text: Any) -> None:
    name = await filled(index, *(document(f"e{n}", digest="latency", keywords=[]) for n in range(7)))
    whole = await index.search(name, replace(LIKE, text=text, top=7), None)
    assert not whole.more
    found: list[bytes] = []
    for skip in (0, 3, 6):
        page = await index.search(name, replace(LIKE, text=text, top=3, skip=skip), None)
        assert page.more is (skip < 6)
        found += [hit.data for hit in page.items]
    assert found == [hit.data for hit in whole.items]
    assert len(set(found)) == 7


async def test_the_same_key_again_replaces(index: Any) -> None:
    name = await filled(index, document("e1", digest="latency"))
    await index.upload(name, [document("e1", digest="lunch")])
    assert await ids(index, name, LIKE) == []
    assert await ids(index, name, replace(LIKE, text="lunch")) == ["e1"]


async def test_vectors_rank_by_meaning_and_words_together(index: Any) -> None:
    name = await filled(
        index,
        document("e1", [1.0, 0.0], digest="latency", keywords=[]),
        document("e2", [0.9, 0.1], digest="slow answers", keywords=[]),
        document("e3", [0.0, 1.0], digest="lunch", keywords=[]),
        document("e4", None, digest="no vector at all", keywords=[]),
        model=MODEL,
    )
    assert await ids(index, name, replace(LIKE, top=3), [1.0, 0.0]) == ["e1", "e2", "e3"]
    assert await ids(index, name, LIKE) == ["e1"]


async def test_a_vector_finds_without_words_and_within_the_filter(index: Any) -> None:
    name = await filled(
        index,
        document("e1", [1.0, 0.0], service_id="a"),
        document("e2", [0.9, 0.1], service_id="b"),
        document("e3", [1.0, 0.0], service_id="b", scope=UserScope("t2", "u1")),
        model=MODEL,
    )
    assert await ids(index, name, replace(LIKE, text="?", service="b"), [1.0, 0.0]) == ["e2"]


async def test_deleted_documents_are_gone_and_missing_ones_no_error(index: Any) -> None:
    one, two = document("e1", digest="latency"), document("e2", digest="latency")
    name = await filled(index, one, two)
    assert await index.delete(name, [one.key, "0" * 64]) == frozenset()
    assert await ids(index, name, LIKE) == ["e2"]


async def test_list_goes_through_the_keys_of_one_tenant_or_all(index: Any) -> None:
    documents = [
        document(f"e{n}", scope=UserScope(tenant, user)) for n in range(3) for tenant in ("t1", "t2") for user in "uv"
    ]
    name = await filled(index, *documents)
    for tenant in (None, "t1", "t3"):
        expected = sorted(d.key for d in documents if tenant in (None, d.stored.key.scope.tenant_id))
        found, after = [], None
        while True:
            hits = await index.list(name, tenant, limit=4, after=after)
            found += [hit.key for hit in hits]
            if len(hits) < 4:
                break
            after = hits[-1].key
        assert found == expected


async def test_list_of_user_goes_through_the_keys_of_one_user(index: Any) -> None:
    scopes = [UserScope(tenant, user) for tenant in ("t1", "T1") for user in ("u1", "U1", "u-1", "u10")]
    name = await filled(index, *(document(f"e{n}", scope=scope) for n in range(5) for scope in scopes))
    for scope in (*scopes, UserScope("t3", "u1")):
        expected = sorted(stored_event(f"e{n}", scope=scope).key.index_key for n in range(5))
        expected = expected if scope in scopes else []
        assert list(await index.list_of_user(name, scope, limit=999, after=None)) == expected
        found, after = [], None
        while keys := await index.list_of_user(name, scope, limit=2, after=after):
            assert len(keys) <= 2
            found += keys
            after = keys[-1]
        assert found == expected


async def test_a_missing_index_differs_from_a_failure(index: Any) -> None:
    name = await filled(index, document("e1"))
    await index.drop(name)
    with pytest.raises(IndexMissing):
        await index.search(name, LIKE, None)
    with pytest.raises(IndexMissing):
        await index.upload(name, [document("e1")])
    with pytest.raises(IndexMissing):
        await index.delete(name, ["0" * 64])
    with pytest.raises(IndexMissing):
        await index.list(name, None, limit=1, after=None)
    with pytest.raises(IndexMissing):
        await index.list_of_user(name, SCOPE, limit=1, after=None)
    await index.drop(name)


async def test_creating_what_is_there_leaves_it_as_it_is(index: Any) -> None:
    name = await filled(index, document("e1", [1.0, 0.0], digest="latency"), model=MODEL)
    await index.create(IndexVersion(name, MODEL, 2))
    assert await ids(index, name, LIKE) == ["e1"]


async def test_more_documents_than_one_batch_takes(index: Any) -> None:
    name = await filled(index, *(document(f"e{n}", digest=f"number {n}") for n in range(1203)))
    assert len(await index.list(name, None, limit=999, after=None)) == 999
    assert await ids(index, name, replace(LIKE, text="1202")) == ["e1202"]
