"""The fault proxy between the storage client and Azurite: each fault does to a write exactly what it says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

import pytest
from aiohttp import ClientSession
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError, ResourceModifiedError, ServiceRequestError, ServiceResponseError
from azure.core.pipeline.transport import AioHttpTransport
from azure.storage.blob import StorageErrorCode
from azure.storage.blob.aio import BlobClient, ContainerClient, LinearRetry

from local.emulators.fault_proxy import Fault, FaultProxy, Injection, never_retry
from local.stack.azurite_server import ACCOUNT_KEY, ACCOUNT_NAME

GONE = (ServiceRequestError, ServiceResponseError)


class Account(Protocol):
    account_url: str
    service_url: str


@asynccontextmanager
async def client_of(container_url: str) -> AsyncIterator[ContainerClient]:
    """A client that tries once, so that one call is one request."""
    credential = {"account_name": ACCOUNT_NAME, "account_key": ACCOUNT_KEY}
    async with ClientSession(auto_decompress=False) as session:
        never_retry(session)
        transport = AioHttpTransport(session=session, session_owner=False)
        async with ContainerClient.from_container_url(
            container_url, credential=credential, transport=transport, retry_policy=LinearRetry(retry_total=0)
        ) as client:
            yield client


@pytest.fixture
async def proxy(azurite: Account) -> AsyncIterator[FaultProxy]:
    async with FaultProxy(azurite.service_url) as proxy:
        yield proxy


@pytest.fixture
async def through(proxy: FaultProxy, container_url: str) -> AsyncIterator[ContainerClient]:
    async with client_of(proxy.through(container_url)) as client:
        yield client


@pytest.fixture
async def direct(container_url: str) -> AsyncIterator[ContainerClient]:
    async with client_of(container_url) as client:
        yield client


async def stored(client: ContainerClient, name: str = "a") -> bytes | None:
    if not await client.get_blob_client(name).exists():
        return None
    return await (await client.download_blob(name)).readall()


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")  # the storage client does
async def test_without_faults_it_changes_nothing_and_records_everything(
    proxy: FaultProxy, through: ContainerClient, direct: ContainerClient
) -> None:
    data = bytes(range(256)) * 8192  # 2 MiB, in one PUT
    uploaded = await through.upload_blob("dir/ä b%2F.json", data, metadata={"k": "v"})
    properties = await uploaded.get_blob_properties()  # HEAD: a length and no body
    assert properties.size == len(data)
    assert properties.metadata == {"k": "v"}
    assert await stored(direct, "dir/ä b%2F.json") == data == await stored(through, "dir/ä b%2F.json")
    with pytest.raises(ResourceModifiedError):  # 304, as the client reports it
        await uploaded.download_blob(etag=properties.etag, match_condition=MatchConditions.IfModified)
    assert [blob.name async for blob in through.list_blobs()] == ["dir/ä b%2F.json"]
    assert [(done.method, done.status) for done in proxy.requests] == [
        ("PUT", 201),
        ("HEAD", 200),
        ("HEAD", 200),
        ("GET", 206),
        ("GET", 304),
        ("GET", 200),
    ]
    assert proxy.count(method="GET", path=r"comp=list") == 1
    assert proxy.count(path=r"/dir/%C3%A4%20b%252F\.json") == 5


@pytest.mark.parametrize(
    ("fault", "applied", "status"),
    [
        (Fault.DROP_REQUEST, False, None),
        (Fault.DROP_ANSWER, True, 201),
    ],
)
async def test_dropped(
    proxy: FaultProxy, through: ContainerClient, direct: ContainerClient, fault: Fault, applied: bool, status: int
) -> None:
    injection = proxy.inject(fault, method="PUT", path=r"/a$")
    with pytest.raises(GONE):
        await through.upload_blob("a", b"1")
    assert injection.finished.is_set()
    assert await stored(direct) == (b"1" if applied else None)
    assert [(done.status, done.fault) for done in proxy.requests] == [(status, fault)]
    await through.upload_blob("a", b"2", overwrite=True)
    assert await stored(direct) == b"2"


@pytest.mark.parametrize(("fault", "applied"), [(Fault.ANSWER_503, False), (Fault.ANSWER_503_AFTER_APPLY, True)])
async def test_answered_503(
    proxy: FaultProxy, through: ContainerClient, direct: ContainerClient, fault: Fault, applied: bool
) -> None:
    proxy.inject(fault, method="PUT")
    with pytest.raises(HttpResponseError) as refused:
        await through.upload_blob("a", b"1")
    assert refused.value.status_code == 503
    assert getattr(refused.value, "error_code", None) == StorageErrorCode.SERVER_BUSY
    assert await stored(direct) == (b"1" if applied else None)


async def reach(injection: Injection, client: ContainerClient) -> "asyncio.Future[BlobClient]":
    """Start a write and wait until the fault has it."""
    write = asyncio.ensure_future(client.upload_blob("a", b"1"))
    await injection.reached.wait()
    return write


@pytest.mark.parametrize(
    ("fault", "applied", "continues"),
    [
        (Fault.HANG, False, False),
        (Fault.HANG_ANSWER, True, False),
        (Fault.PAUSE_BEFORE, False, True),
        (Fault.PAUSE_AFTER, True, True),
    ],
)
async def test_a_held_request_continues_or_is_never_answered(
    proxy: FaultProxy, through: ContainerClient, direct: ContainerClient, fault: Fault, applied: bool, continues: bool
) -> None:
    injection = proxy.inject(fault)
    write = await reach(injection, through)
    assert await stored(direct) == (b"1" if applied else None)
    assert not write.done()
    injection.release()
    if continues:
        await write
    else:
        with pytest.raises(GONE):
            await write
    assert await stored(direct) == (b"1" if applied or continues else None)


@pytest.mark.parametrize(("fault", "applied"), [(Fault.PAUSE_BEFORE, False), (Fault.PAUSE_AFTER, True)])
async def test_paused_can_be_dropped_instead(
    proxy: FaultProxy, through: ContainerClient, direct: ContainerClient, fault: Fault, applied: bool
) -> None:
    injection = proxy.inject(fault)
    write = await reach(injection, through)
    injection.drop()
    with pytest.raises(GONE):
        await write
    assert await stored(direct) == (b"1" if applied else None)


async def test_applied_late_after_the_client_has_given_up(
    proxy: FaultProxy, through: ContainerClient, direct: ContainerClient
) -> None:
    injection = proxy.inject(Fault.APPLY_LATE, method="PUT")
    with pytest.raises(GONE):
        await through.upload_blob("a", b"late")
    assert await stored(direct) is None
    await through.upload_blob("b", b"2")  # others pass meanwhile
    injection.release()
    await injection.finished.wait()
    assert await stored(direct) == b"late"


async def test_it_hits_the_nth_match_and_as_often_as_set(proxy: FaultProxy, through: ContainerClient) -> None:
    injection = proxy.inject(Fault.ANSWER_503, method="PUT", path=r"/x", nth=2, times=2)
    outcomes = []
    for name in ("x1", "y", "x2", "x3", "x4"):
        try:
            await through.upload_blob(name, b"")
            outcomes.append(name)
        except HttpResponseError:
            outcomes.append("503")
    assert outcomes == ["x1", "y", "503", "503", "x4"]
    assert injection.seen == 4


async def test_it_sends_a_request_on_only_once() -> None:
    """A write whose answer is lost must not be made twice by the proxy itself."""
    seen = []

    async def hear_and_hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readline())
        writer.close()

    server = await asyncio.start_server(hear_and_hang_up, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with (
        server,
        FaultProxy(f"http://127.0.0.1:{port}") as proxy,
        client_of(f"{proxy.url}/{ACCOUNT_NAME}/none") as client,
    ):
        upload = asyncio.ensure_future(client.upload_blob("a", b"1"))
        await asyncio.wait([upload])
    assert isinstance(upload.exception(), GONE)
    assert len(seen) == 1
