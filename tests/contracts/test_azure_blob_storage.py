"""What the Azure adapters make of a storage service in trouble; and the parts of them that no port shows."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from memnet.adapters.azure.blob_requests import WHOLE_BODY_BYTES, BlobServiceError
from memnet.adapters.azure.blob_storage import AzureBlobStorage, open_container
from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.errors import HistoryCorrupt, Unavailable
from memnet.domain.core.scope import DocumentKey, ETag, StorageETag, UserScope
from memnet.domain.documents.audit_segments import START, Batch
from memnet.domain.documents.envelope import DocumentSummary
from memnet.ports import StoreConflict
from memnet.stores import AuditLog, Blobs, DocumentStore
from tests.contracts.conftest import Place
from tests.contracts.scripted_server import CLOSE, HANG, ScriptedServer, answer, scripted_server, serving
from tests.operations.vault_scenario import VaultWorld

KEY = base64.b64encode(b"key").decode()
SCOPE = UserScope("t1", "u1")
DOCUMENT = DocumentKey(SCOPE, "user", "static")
SUMMARY = DocumentSummary(
    etag=ETag('"e-1"'), sequence=1, updated_at="2026-01-01T00:00:00.000000Z", size=17, deleted=False
)
TAG = StorageETag('"0x1"')
LINE = Batch(START, "2026-01-01T00:00:00.000000Z", 1, b"{}\n")


@asynccontextmanager
async def connected(url: str, timeout_seconds: float = 10) -> AsyncIterator[AzureBlobStorage]:
    clock = FrozenClock()
    async with open_container(
        url, account_key=KEY, timeout_seconds=timeout_seconds, clock=clock, backoff_seconds=0.01
    ) as container:
        yield container


@asynccontextmanager
async def against(
    *script: bytes, timeout_seconds: float = 10
) -> AsyncIterator[tuple[AzureBlobStorage, ScriptedServer]]:
    async with scripted_server(*script) as server, connected(server.url, timeout_seconds) as container:
        yield container, server


class AliveTenants(Blobs):
    """Knows that no tenant has ended, so that a server's script is of the call alone."""

    async def check_tenant(self, tenant_id: str) -> None:
        """Do nothing."""


def blobs_in(container: AzureBlobStorage) -> Blobs:
    return AliveTenants(container, FrozenClock())


def store(container: AzureBlobStorage) -> DocumentStore:
    return DocumentStore(blobs_in(container))


async def put(container: AzureBlobStorage) -> StorageETag:
    return await container.put("a/b", b"{}", replaces=TAG)


@pytest.mark.parametrize(
    "trouble",
    [
        answer(401, "InvalidAuthenticationInfo"),
        answer(403, "AuthorizationFailure"),
        answer(404, "ContainerNotFound"),
        answer(409, "ContainerBeingDeleted"),
        answer(412, "LeaseIdMissing"),
        answer(429, "TooManyRequests"),
        answer(500, "InternalError"),
        answer(503, "ServerBusy"),
        answer(503),
        CLOSE,
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nConnection: close\r\n\r\nshort",
        b"not http at all\r\n\r\n",
    ],
)
async def test_trouble_is_unavailable_for_every_call(trouble: Any) -> None:
    async with against(trouble) as (container, _):
        for call in (
            container.get("a/b"),
            put(container),
            container.list("a/", limit=1, cursor=None, metadata=True),
            container.ping(),
        ):
            with pytest.raises(Unavailable):
                await call


async def test_a_server_that_hangs_is_unavailable() -> None:
    async with against(HANG, timeout_seconds=0.05) as (container, _):
        for call in (container.get("a/b"), put(container), container.ping()):
            with pytest.raises(Unavailable):
                await call


async def test_a_server_that_drips_is_unavailable() -> None:
    """It always does something in time, and never ends."""

    class Drip(ScriptedServer):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            with suppress(ConnectionError):
                while not writer.is_closing():
                    writer.write(b"x")
                    await writer.drain()
                    await asyncio.sleep(0.01)

    async with serving(Drip([])) as server, connected(server.url, timeout_seconds=0.1) as container:
        with pytest.raises(Unavailable):
            await container.get("a/b")


@pytest.mark.parametrize("refusal", [answer(412, "ConditionNotMet"), answer(412), answer(409, "BlobAlreadyExists")])
async def test_a_failed_precondition_is_a_conflict(refusal: Any) -> None:
    async with against(refusal) as (container, _):
        with pytest.raises(StoreConflict):
            await put(container)


async def test_a_write_that_was_applied_and_answered_503_ends_as_a_conflict() -> None:
    async with against(answer(503), answer(412, "ConditionNotMet")) as (container, server):
        with pytest.raises(StoreConflict):
            await put(container)
        assert len(server.asked) == 2


async def test_a_short_trouble_is_waited_out() -> None:
    async with against(answer(503), answer(201, ETag='"0x2"')) as (container, _):
        assert await put(container) == '"0x2"'


async def test_a_large_body_is_sent_again_whole() -> None:
    body = b"x" * (WHOLE_BODY_BYTES + 1)
    async with against(answer(503), answer(201, ETag='"0x2"')) as (container, server):
        await container.put("a/b", body, replaces=None)
        assert [len(asked[2]) for asked in server.asked] == [len(body)] * 2


async def test_a_request_that_can_never_succeed_goes_up_as_it_is() -> None:
    async with against(answer(400, "InvalidHeaderValue")) as (container, _):
        with pytest.raises(BlobServiceError):
            await put(container)


async def test_a_write_is_one_request_and_its_result_is_known() -> None:
    marked = answer(201, ETag='"0x1"')
    async with against(marked, answer(201, ETag='"0x2"')) as (container, server):
        documents = store(container)
        await documents.put(DOCUMENT, b"{}", SUMMARY, replaces=TAG)
        recalled = documents.recall(DOCUMENT)
        assert recalled is not None
        assert recalled.storage_etag == '"0x2"'
        mark, (line, headers, body) = server.asked
        assert mark[0].startswith("PUT /account/container/changed/")
        assert (line, body) == (f"PUT /account/container/{DOCUMENT.blob_name}", b"{}")
        assert headers["if-match"] == '"0x1"'
        assert headers["content-type"] == "application/json"


@pytest.mark.parametrize("outcome", [answer(412, "ConditionNotMet"), CLOSE])
async def test_a_write_that_failed_or_may_have_is_not_recalled(outcome: Any) -> None:
    async with against(answer(200, body=b"{}", ETag=TAG), outcome) as (container, _):
        documents = store(container)
        await documents.get(DOCUMENT)
        with pytest.raises((StoreConflict, Unavailable)):
            await documents.put(DOCUMENT, b"[]", SUMMARY, replaces=TAG)
        assert documents.recall(DOCUMENT) is None


async def test_a_document_that_went_away_is_forgotten() -> None:
    async with against(answer(200, body=b"{}", ETag=TAG), answer(404, "BlobNotFound")) as (container, _):
        documents = store(container)
        await documents.get(DOCUMENT)
        assert await documents.get(DOCUMENT) is None
        assert documents.recall(DOCUMENT) is None


async def test_a_segment_that_vanished_between_refusal_and_look_is_no_success() -> None:
    absent = answer(404, "BlobNotFound")
    refused = [answer(409, "BlobAlreadyExists"), answer(412, "AppendPositionConditionNotMet")]
    async with against(absent, *refused, absent, absent) as (container, server):
        with pytest.raises(HistoryCorrupt):
            await AuditLog(blobs_in(container), VaultWorld().vault).append(SCOPE, "d", LINE)
        assert [asked[0].partition(" ")[0] for asked in server.asked] == ["GET", "PUT", "PUT", "GET", "GET"]


async def test_blobs_that_are_no_documents_are_not_listed(place: Place, container: AzureBlobStorage) -> None:
    documents = store(container)
    await documents.put(DOCUMENT, b"{}", SUMMARY, replaces=None)
    await AuditLog(blobs_in(container), VaultWorld().vault).append(SCOPE, "d", LINE)
    metadata = {"etag": "e", "sequence": "1", "updated_at": "t", "size": "1", "deleted": "false"}
    for name in ("tenants/t1/users/u1/documents/user/_x", "tenants/t1/users/u1/documents/user", "tenants/x"):
        await place.client.upload_blob(name, b"", metadata=metadata)
    await place.client.upload_blob("tenants/t1/users/u1/documents/user/bare", b"")
    await place.client.upload_blob(
        "tenants/t1/users/u1/documents/user/odd", b"", metadata={**metadata, "sequence": "one"}
    )
    for page in (
        await documents.list(SCOPE, "", limit=100, cursor=None),
        await documents.list_all(limit=100, cursor=None),
    ):
        assert [row.key for row in page.items] == [DOCUMENT]


async def test_any_name_is_found_by_its_prefix(place: Place, container: AzureBlobStorage) -> None:
    names = ["x/a b", "x/a%20b", "x/a&b=c", "x/a+b", "x/a?b#c", "x/ä/文", "x/~'()*!"]
    for name in names:
        await place.client.upload_blob(name, b"", metadata={"a": "<&>"})
    for name in names:
        (row,) = (await container.list(name, limit=9, cursor=None, metadata=True)).items
        assert (row.name, row.metadata) == (name, {"a": "<&>"})
    assert list((await container.list_folders("x/ä", limit=9, cursor=None)).items) == ["x/ä/"]
