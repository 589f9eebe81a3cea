"""The Embedder port over HTTP: Azure OpenAI, or any endpoint that speaks OpenAI's embeddings API."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from azure.core.exceptions import AzureError
from openai import AsyncOpenAI, BadRequestError, OpenAIError, omit

from memnet.adapters.azure.openai_client import UNREADABLE, describe, open_client
from memnet.domain.core.errors import Unavailable

MAX_CHARS = 8_000
"""Characters of a text that count, from its beginning; the models take 8,192 tokens."""

BATCH = 64
"""Texts of one request; the API takes 2,048, and 300,000 tokens."""

MAX_RETRIES = 2
"""After a connection error, 408, 409, 429 or 5xx; with the client's backoff, and within the time of the call."""

CALL_TRIES = 2
"""A call may take as long as this many tries that hang."""

_log = logging.getLogger("memnet.embeddings")


class OpenAIEmbedder:
    """Requests embeddings: "Create embeddings" of OpenAI's API reference."""

    def __init__(self, client: AsyncOpenAI, *, model: str, dimensions: int, timeout_seconds: float) -> None:
        """Use `open_embeddings`."""
        self._client = client
        self._timeout = timeout_seconds
        self._shortens = True
        self.name = model
        self.dimensions = dimensions

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one vector per text, in batches. Raises Unavailable, also for an unusable response."""
        vectors: list[Sequence[float]] = []
        for start in range(0, len(texts), BATCH):
            # The API refuses an empty text.
            batch = [text[:MAX_CHARS].strip() or " " for text in texts[start : start + BATCH]]
            vectors += await self._call(batch)
        return vectors

    async def _call(self, batch: list[str]) -> list[Sequence[float]]:
        try:
            async with asyncio.timeout(self._timeout * CALL_TRIES):
                vectors = await self._ask(batch)
        except (OpenAIError, AzureError, TimeoutError, *UNREADABLE) as error:
            _log.warning("embeddings: %s", describe(error))
            raise Unavailable(dependency="embeddings") from error
        if [len(vector) for vector in vectors] != [self.dimensions] * len(batch):
            found = sorted({len(vector) for vector in vectors})
            _log.error(
                "embeddings: %d texts, %d vectors of %s numbers; configured are %d (MEMNET_EMBEDDINGS_DIMENSIONS)",
                len(batch),
                len(vectors),
                found,
                self.dimensions,
            )
            raise Unavailable(dependency="embeddings")
        return vectors

    async def _ask(self, batch: list[str]) -> list[Sequence[float]]:
        """Send one request, and a second one if the endpoint does not support `dimensions`, as older models."""
        if self._shortens:
            try:
                return await self._create(batch, shorten=True)
            except BadRequestError:
                vectors = await self._create(batch, shorten=False)
                self._shortens = False
                return vectors
        return await self._create(batch, shorten=False)

    async def _create(self, batch: list[str], *, shorten: bool) -> list[Sequence[float]]:
        answer = await self._client.embeddings.create(
            input=batch, model=self.name, dimensions=self.dimensions if shorten else omit
        )
        return [list(row.embedding) for row in sorted(answer.data, key=lambda row: row.index)]


@asynccontextmanager
async def open_embeddings(
    url: str, *, key: str | None, model: str, dimensions: int, timeout_seconds: float
) -> AsyncIterator[OpenAIEmbedder]:
    """Connect to `url`, the part before /embeddings, with its key or, on Azure without one, an Entra identity.

    `timeout_seconds` bounds one try. Nothing is sent before the first call. Raises ValueError if neither a key nor
    an Entra token can be sent there.
    """
    async with open_client(url, key=key, timeout_seconds=timeout_seconds, max_retries=MAX_RETRIES) as client:
        yield OpenAIEmbedder(client, model=model, dimensions=dimensions, timeout_seconds=timeout_seconds)
