"""The SemanticRouter port on an Embedder: the cosine of the conversation's text and each candidate's text."""

import asyncio
import hashlib
import logging
import math
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from operator import mul

from memnet.domain.core.errors import Unavailable
from memnet.ports import Embedder

CHUNK = 64
"""Candidates embedded at a time: what is done stays, even if the time is up before the rest."""

_log = logging.getLogger("memnet.routing")


class EmbeddingRouter:
    """Remembers the vectors of candidates by the hash of their text, the `remembered` last used ones."""

    def __init__(self, embedder: Embedder, *, timeout_seconds: float, remembered: int = 8192) -> None:
        """`timeout_seconds` bounds one ranking: an assembly waits for it."""
        self._embedder = embedder
        self._timeout = timeout_seconds
        self._remembered = remembered
        self._vectors: OrderedDict[bytes, array[float]] = OrderedDict()

    async def score(self, text: str, candidates: Sequence[str]) -> Sequence[float] | None:
        """Return one cosine per candidate, negative ones as 0; None if the embedder fails or is too slow."""
        try:
            async with asyncio.timeout(self._timeout):
                vectors = await self._recalled(candidates)
                asked = _unit((await self._embedder.embed([text]))[0])
        except (Unavailable, TimeoutError) as error:
            _log.warning("semantic routing: %s", type(error).__name__)
            return None
        # In a thread: a few hundred candidates take milliseconds.
        return await asyncio.to_thread(lambda: [_cosine(asked, vector) for vector in vectors])

    async def _recalled(self, texts: Sequence[str]) -> "list[array[float]]":
        keys = [hashlib.sha256(text.encode(errors="replace")).digest() for text in texts]
        found = {key: self._vectors[key] for key in keys if key in self._vectors}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        waiting = list(missing)
        for start in range(0, len(waiting), CHUNK):
            chunk = waiting[start : start + CHUNK]
            for key, vector in zip(chunk, await self._embedder.embed([missing[key] for key in chunk]), strict=True):
                found[key] = _unit(vector)
                self._remember(key, found[key])
        for key in keys:
            self._remember(key, found[key])
        return [found[key] for key in keys]

    def _remember(self, key: bytes, vector: "array[float]") -> None:
        self._vectors[key] = vector
        self._vectors.move_to_end(key)
        while len(self._vectors) > self._remembered:
            self._vectors.popitem(last=False)


def _unit(vector: Sequence[float]) -> "array[float]":
    length = math.hypot(*vector) or 1.0
    return array("f", (number / length for number in vector))


def _cosine(one: "array[float]", other: "array[float]") -> float:
    product: float = sum(map(mul, one, other))
    return min(1.0, max(0.0, round(product, 4)))
