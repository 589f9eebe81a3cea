"""What SearchEventIndex makes of a search service in trouble: repeats, partial failures, and what its callers see."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import orjson
import pytest
from azure.core.exceptions import HttpResponseError

from local.stack.search_server import SearchEmulator
from memnet.adapters.azure import search_index
from memnet.adapters.azure.search_index import SearchEventIndex, open_search
from memnet.domain.core.errors import Unavailable
from memnet.domain.events.event_search import EventQuery, IndexDocument
from memnet.domain.events.index_layout import IndexVersion
from memnet.domain.recall.recall_query import RecallQuery
from tests.contracts.scripted_server import CLOSE, HANG, ScriptedServer, answer, scripted_server
from tests.domain.event_samples import SCOPE, stored_event

QUERY = EventQuery(scope=SCOPE, text="latency", top=2)
DOCUMENTS = [IndexDocument(stored_event(f"e{n}")) for n in range(4)]
NAME = "events-a1"
JSON = "application/json"


def statuses(*rows: tuple[IndexDocument, int]) -> bytes:
    """The service's answer to a batch."""
    value = [{"key": document.key, "status": status < 300, "statusCode": status} for document, status in rows]
    status = 200 if all(row["status"] for row in value) else 207
    return answer(status, body=json.dumps({"value": value}).encode(), **{"Content-Type": JSON})


def done(*documents: IndexDocument) -> bytes:
    return statuses(*((document, 201) for document in documents))


def found(*rows: tuple[str, float], **members: object) -> bytes:
    """The service's answer to a search."""
    value = [{"id": key, "payload": "{}", "@search.score": score} for key, score in rows]
    return answer(200, body=json.dumps({"value": value, **members}).encode(), **{"Content-Type": JSON})


def refusal(status: int, **headers: str) -> bytes:
    body = json.dumps({"error": {"code": "", "message": "no"}}).encode()
    return answer(status, body=body, **{"Content-Type": JSON, **headers})


@asynccontextmanager
async def connected(
    *script: bytes, timeout_seconds: float = 5
) -> AsyncIterator[tuple[SearchEventIndex, ScriptedServer]]:
    async with (
        scripted_server(*script) as server,
        open_search(
            server.url, key="k", prefix="events", timeout_seconds=timeout_seconds, backoff_seconds=0.001
        ) as index,
    ):
        yield index, server


def sent(server: ScriptedServer) -> list[list[str]]:
    """The keys of each batch that arrived."""
    return [[action["id"] for action in orjson.loads(body)["value"]] for _, _, body in server.asked]


@pytest.mark.parametrize("trouble", [refusal(429), refusal(503), refusal(500), CLOSE])
async def test_a_passing_failure_is_repeated(trouble: bytes) -> None:
    async with connected(trouble, trouble, done(*DOCUMENTS)) as (index, server):
        assert await index.upload(NAME, DOCUMENTS) == frozenset()
        assert len(server.asked) == 3
    async with connected(trouble, found((DOCUMENTS[0].key, 1.0))) as (index, _):
        assert len((await index.search(NAME, QUERY, None)).items) == 1


@pytest.mark.parametrize("trouble", [refusal(429), refusal(503), refusal(401), refusal(403), CLOSE])
async def test_a_lasting_failure_is_unavailable_after_a_few_tries(trouble: bytes) -> None:
    async with connected(trouble) as (index, server):
        for call in (
            index.upload(NAME, DOCUMENTS),
            index.delete(NAME, ["k"]),
            index.search(NAME, QUERY, None),
            index.list(NAME, None, limit=1, after=None),
            index.list_of_user(NAME, SCOPE, limit=1, after=None),
            index.create(IndexVersion(NAME)),
            index.drop(NAME),
            index.ping(),
        ):
            with pytest.raises(Unavailable):
                await call
        assert len(server.asked) <= 8 * 8


async def test_a_service_that_hangs_is_unavailable_within_the_timeout() -> None:
    async with connected(HANG, timeout_seconds=0.05) as (index, _):
        with pytest.raises(Unavailable):
            await index.upload(NAME, DOCUMENTS)
        with pytest.raises(Unavailable):
            await index.search(NAME, QUERY, None)


KEY, IDENTITY = "https://kv.vault.test/keys/at-rest", "/subscriptions/s/identities/search"


async def test_an_index_is_encrypted_with_the_key_of_the_settings(search_emulator: SearchEmulator) -> None:
    opened = partial(
        open_search, search_emulator.url, key=search_emulator.api_key, prefix="own-key", timeout_seconds=10
    )
    own, model = IndexVersion("own-key-a1"), IndexVersion("own-key-a2", "model", 4)
    async with opened(encryption_key=KEY, encryption_identity=IDENTITY) as index, opened() as without:
        for version in (own, model):
            await index.create(version)
            assert await index.matches(version)
            assert not await without.matches(version)


async def test_the_definition_names_vault_name_version_and_identity_of_the_key() -> None:
    async with (
        scripted_server(refusal(403)) as server,
        open_search(
            server.url,
            key="k",
            prefix="events",
            timeout_seconds=5,
            backoff_seconds=0.001,
            encryption_key=f"{KEY}/{'0' * 32}",
            encryption_identity=IDENTITY,
        ) as index,
    ):
        with pytest.raises(Unavailable):
            await index.create(IndexVersion(NAME))
        _, _, body = server.asked[0]
    assert orjson.loads(body)["encryptionKey"] == {
        "keyVaultUri": "https://kv.vault.test",
        "keyVaultKeyName": "at-rest",
        "keyVaultKeyVersion": "0" * 32,
        "identity": {
            "@odata.type": "#Microsoft.Azure.Search.DataUserAssignedIdentity",
            "userAssignedIdentity": IDENTITY,
        },
    }


@pytest.mark.parametrize("key", ["", "at-rest", "http://kv.vault.test/keys/k", f"{KEY}/newest", f"{KEY}?x=1"])
async def test_what_is_no_key_is_refused_before_anything_is_sent(key: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        async with open_search("http://127.0.0.1:1", key="k", prefix="e", timeout_seconds=1, encryption_key=key):
            pass


async def test_a_request_that_is_wrong_is_our_defect_and_not_repeated() -> None:
    async with connected(refusal(400)) as (index, server):
        with pytest.raises(HttpResponseError):
            await index.search(NAME, QUERY, None)
        assert len(server.asked) == 1


@pytest.mark.parametrize("status", [409, 422, 429, 503])
async def test_what_was_refused_for_now_is_sent_again_alone(status: int) -> None:
    a, b, c, d = DOCUMENTS
    first = statuses((a, 201), (b, status), (c, 200), (d, status))
    async with connected(first, statuses((b, 200), (d, status)), done(d)) as (index, server):
        assert await index.upload(NAME, DOCUMENTS) == frozenset()
        assert sent(server) == [[x.key for x in batch] for batch in ([a, b, c, d], [b, d], [d])]


async def test_what_stays_refused_is_returned() -> None:
    a, b, c, d = DOCUMENTS
    first = statuses((a, 201), (b, 429), (c, 400), (d, 201))
    async with connected(first, statuses((b, 429))) as (index, server):
        assert await index.upload(NAME, DOCUMENTS) == {b.key, c.key}
        assert len(server.asked) == search_index.KEY_TRIES


async def test_a_batch_that_is_too_large_is_halved_until_it_fits() -> None:
    a, b, c, d = DOCUMENTS
    script = (refusal(413), done(a, b), refusal(413), done(c), refusal(413))
    async with connected(*script) as (index, server):
        assert await index.upload(NAME, DOCUMENTS) == {d.key}
        assert sent(server) == [[x.key for x in batch] for batch in ([a, b, c, d], [a, b], [c, d], [c], [d])]


async def test_batches_stay_below_the_limits_of_the_service() -> None:
    large = [IndexDocument(stored_event(f"e{n}", digest="文" * 8192), [0.123456789] * 3072) for n in range(400)]
    batches = list(search_index._batches([document.fields() for document in large]))
    assert len(batches) > 1
    assert sum(map(len, batches)) == 400
    for batch in batches:
        assert len(orjson.dumps({"value": batch})) < 16_000_000
    small = [{"id": str(n)} for n in range(2001)]
    assert [len(batch) for batch in search_index._batches(small)] == [1000, 1000, 1]


async def test_one_request_is_one_search_unless_equals_stand_at_the_cut() -> None:
    async with connected(found(("a", 3.0), ("b", 2.0), ("c", 1.0))) as (index, server):
        hits = await index.search(NAME, QUERY, None)
        assert ([hit.key for hit in hits.items], hits.more) == (["a", "b"], True)
        assert len(server.asked) == 1
        assert "orderby" not in orjson.loads(server.asked[0][2])
    async with connected(found(("c", 3.0), ("b", 2.0), ("d", 2.0)), found(("c", 3.0), ("a", 2.0), ("b", 2.0))) as (
        index,
        server,
    ):
        assert [hit.key for hit in (await index.search(NAME, QUERY, None)).items] == ["c", "a"]
        assert orjson.loads(server.asked[1][2])["orderby"] == "search.score() desc,id asc"


async def test_a_recall_leaves_out_the_equals_at_the_cut_unless_too_little_is_left() -> None:
    recalled = RecallQuery(scope=QUERY.scope, text="latency", profiles=(), top=2)
    async with connected(found(("c", 3.0), ("b", 2.0), ("d", 2.0))) as (index, server):
        hits = await index.search(NAME, recalled, None)
        assert ([hit.key for hit in hits.items], hits.more) == (["c"], True)
        assert len(server.asked) == 1
    async with connected(found(("c", 2.0), ("b", 2.0), ("d", 2.0)), found(("a", 2.0), ("b", 2.0), ("c", 2.0))) as (
        index,
        server,
    ):
        assert [hit.key for hit in (await index.search(NAME, recalled, None)).items] == ["a", "b"]
        assert len(server.asked) == 2


async def test_an_answer_that_was_cut_short_is_read_to_its_end() -> None:
    following = {"search": "latency", "skip": 1, "top": 2}
    first = found(("a", 3.0), **{"@search.nextPageParameters": following})
    async with connected(first, found(("b", 2.0))) as (index, server):
        assert [hit.key for hit in (await index.search(NAME, QUERY, None)).items] == ["a", "b"]
        assert orjson.loads(server.asked[1][2]) == following


async def test_the_key_goes_along_and_no_text_into_the_address() -> None:
    async with connected(found()) as (index, server):
        await index.search(NAME, QUERY, None)
    (line, headers, _) = server.asked[0]
    assert headers["api-key"] == "k"
    assert "latency" not in line


@pytest.mark.parametrize(
    ("url", "key", "prefix"),
    [
        ("search.example", "k", "events"),
        ("http://search.example", None, "events"),
        ("https://search.example", "k", "Events"),
        ("https://search.example", "k", "events-"),
        ("https://search.example", "k", "9events"),
        ("https://search.example", "k", "x" * 65),
        ("https://search.example", "k", ""),
    ],
)
async def test_what_cannot_be_used_is_refused_at_once(url: str, key: str | None, prefix: str) -> None:
    with pytest.raises(ValueError, match=re.escape(url)):
        async with open_search(url, key=key, prefix=prefix, timeout_seconds=1):
            pass
