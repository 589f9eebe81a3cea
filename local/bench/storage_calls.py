"""Processor time of one storage request: by aiohttp, as the service sends it, and by azure-core's pipeline, in turns.

`python -m local.bench.storage_calls` prints milliseconds of this process per GET and per conditional PUT of 18 KB, with
one caller and with 16, on an Azurite of its own.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import uvloop
from azure.core.pipeline import AsyncPipeline, PipelineRequest
from azure.core.pipeline.policies import AsyncHTTPPolicy, AsyncRetryPolicy
from azure.core.pipeline.transport import AioHttpTransport
from azure.core.rest import AsyncHttpResponse, HttpRequest

from local.stack.azurite_server import ACCOUNT_KEY, Azurite, create_container
from memnet.adapters.azure.blob_requests import API_VERSION, BlobRequests, open_requests
from memnet.adapters.azure.credentials import Authorize, storage_authorization
from memnet.adapters.system import SystemClock

BODY = b"x" * 18_000
ROUNDS, CALLS, CALLERS = 8, 480, (1, 16)
Send = Callable[[str, str, dict[str, str], bytes | None], Awaitable[str]]
"""Sends a method to a place with headers and a body, and returns the entity tag of the answer."""


def by_aiohttp(requests: BlobRequests) -> Send:
    """Send as the service does."""

    async def send(method: str, place: str, headers: dict[str, str], body: bytes | None) -> str:
        return (await requests.send(method, place, headers, body)).headers["ETag"]

    return send


class Signing(AsyncHTTPPolicy[HttpRequest, AsyncHttpResponse]):
    """Authorizes each try."""

    def __init__(self, authorize: Authorize) -> None:
        super().__init__()
        self._authorize = authorize

    async def send(self, request: PipelineRequest[HttpRequest]) -> Any:
        """Add the header, and send."""
        http = request.http_request
        http.headers["Authorization"] = await self._authorize(http.method, http.url, http.headers)
        return await self.next.send(request)


def by_azure_core(url: str, authorize: Authorize, transport: AioHttpTransport) -> Send:
    """Send the same through a pipeline of three policies."""
    pipeline = AsyncPipeline[HttpRequest, AsyncHttpResponse](transport, [AsyncRetryPolicy(), Signing(authorize)])

    async def send(method: str, place: str, headers: dict[str, str], body: bytes | None) -> str:
        headers |= {"x-ms-version": API_VERSION, "x-ms-date": formatdate(usegmt=True)}
        request = HttpRequest(method, f"{url}{place}", headers=headers, content=body)
        async with asyncio.timeout(60):
            return (await pipeline.run(request)).http_response.headers["ETag"]

    return send


async def processor_ms(send: Send, method: str, callers: int) -> float:
    """Send CALLS requests; return the time per request."""

    async def one(caller: int) -> None:
        tag = await send("GET", f"/b{caller}", {}, None)
        for _ in range(CALLS // callers):
            headers = {"Content-Type": "application/json", "Content-Length": str(len(BODY)), "If-Match": tag}
            if method == "GET":
                await send("GET", f"/b{caller}", {}, None)
            else:
                tag = await send("PUT", f"/b{caller}", headers | {"x-ms-blob-type": "BlockBlob"}, BODY)

    start = time.process_time()
    await asyncio.gather(*map(one, range(callers)))
    return (time.process_time() - start) / CALLS * 1e3


async def compare(first: Send, second: Send, method: str, callers: int) -> None:
    """Print the medians of both sides, measured in turns, and what the second one saves in the median round."""
    rounds: list[tuple[float, float]] = []
    for _ in range(ROUNDS + 1):
        rounds.append((await processor_ms(first, method, callers), await processor_ms(second, method, callers)))
    del rounds[0]  # it warms up
    before, after = (statistics.median(times) for times in zip(*rounds, strict=True))
    saved = statistics.median(1 - two / one for one, two in rounds)
    print(f"{method}, {callers} at a time: azure-core {before:.3f} ms, aiohttp {after:.3f} ms, saved {saved:.0%}")


async def main() -> None:
    """Measure all kinds of request."""
    with tempfile.TemporaryDirectory() as directory, Azurite(log=Path(directory) / "log") as azurite:
        url = create_container(azurite.account_url, "bench")
        async with (
            storage_authorization(url, ACCOUNT_KEY) as authorize,
            AioHttpTransport(use_env_settings=False) as transport,
            open_requests(
                url, account_key=ACCOUNT_KEY, timeout_seconds=30, backoff_seconds=0.3, clock=SystemClock()
            ) as requests,
        ):
            for number in range(max(CALLERS)):
                headers = {"x-ms-blob-type": "BlockBlob", "Content-Length": str(len(BODY))}
                await requests.send("PUT", f"/b{number}", headers | {"Content-Type": "application/json"}, BODY)
            for method in ("GET", "PUT"):
                for callers in CALLERS:
                    await compare(by_azure_core(url, authorize, transport), by_aiohttp(requests), method, callers)


if __name__ == "__main__":
    uvloop.run(main())
