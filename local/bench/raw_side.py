"""A GET by aiohttp alone, signed here: what reading a blob takes at the least from Python."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from email.utils import formatdate
from urllib.parse import urlsplit

import aiohttp

from local.bench import subject
from local.bench.timing import together
from local.stack.azurite_server import ACCOUNT_KEY, ACCOUNT_NAME

VERSION = "2021-12-02"


class RawSide:
    """GET with a pool of connections and a Shared Key signature, without any SDK."""

    def __init__(self, container_url: str) -> None:
        """`container_url` is the service's container."""
        self._container = container_url
        self._key = base64.b64decode(ACCOUNT_KEY)
        self._session: aiohttp.ClientSession | None = None

    async def measure(self, name: str, users: Sequence[str], clients: int, count: int, pause: float) -> list[float]:
        """Measure `get`, the only call."""
        self._session = self._session or aiohttp.ClientSession(auto_decompress=False)
        return await together([self._get] * clients, users, count, pause)

    async def close(self) -> None:
        """Close the connections."""
        if self._session:
            await self._session.close()

    async def _get(self, user: str) -> bytes:
        assert self._session is not None
        url = f"{self._container}/{subject.blob_name(user, subject.BINDINGS[0])}"
        async with self._session.get(url, headers=self._signed(urlsplit(url).path)) as answer:
            answer.raise_for_status()
            return await answer.read()

    def _signed(self, path: str) -> dict[str, str]:
        """Return the headers of a GET (REST API: Authorize with Shared Key)."""
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": VERSION}
        lines = ["GET", *[""] * 11, *(f"{name}:{value}" for name, value in headers.items()), f"/{ACCOUNT_NAME}{path}"]
        signature = hmac.digest(self._key, "\n".join(lines).encode(), hashlib.sha256)
        return {**headers, "Authorization": f"SharedKey {ACCOUNT_NAME}:{base64.b64encode(signature).decode()}"}
