"""EventIndex in dicts: ranks by shared words, weighted by rarity, and by the cosine of vectors."""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Sequence

from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import from_text
from memnet.domain.events.event import Event
from memnet.domain.events.event_search import EventQuery, IndexDocument, Vector
from memnet.domain.events.index_layout import IndexVersion
from memnet.ports import EventHit, Hits, IndexMissing

_WORD = re.compile(r"\w+")
_RANK_CONSTANT = 60

_Index = dict[str, IndexDocument]


class MemoryEventIndex:
    """The EventIndex port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self) -> None:
        self._indexes: dict[str, _Index] = {}
        self._versions: dict[str, IndexVersion] = {}

    def new_name(self, suffix: str) -> str:
        return f"events-{suffix}"

    async def create(self, version: IndexVersion) -> None:
        await asyncio.sleep(0)
        self._indexes.setdefault(version.name, {})
        self._versions.setdefault(version.name, version)

    async def matches(self, version: IndexVersion) -> bool:
        await self._get(version.name)
        return self._versions[version.name] == version

    async def drop(self, name: str) -> None:
        await asyncio.sleep(0)
        self._indexes.pop(name, None)
        self._versions.pop(name, None)

    async def upload(self, name: str, documents: Sequence[IndexDocument]) -> frozenset[str]:
        index = await self._get(name)
        index.update({document.key: document for document in documents})
        return frozenset()

    async def delete(self, name: str, keys: Sequence[str]) -> frozenset[str]:
        index = await self._get(name)
        for key in keys:
            index.pop(key, None)
        return frozenset()

    async def search(self, name: str, query: EventQuery, vector: Vector | None) -> Hits:
        index = await self._get(name)
        found = {key: document for key, document in index.items() if _matches(document, query)}
        scores = _scores(found, index, query.words, vector)
        ranked = _ranked(scores)
        if query.words is None:
            ranked.sort(key=lambda key: found[key].stored.event.timestamp, reverse=True)
        end = query.skip + query.top
        hits = [EventHit(key, found[key].stored.data, scores[key]) for key in ranked[query.skip : end]]
        return Hits(hits, len(ranked) > end)

    async def list(self, name: str, tenant_id: str | None, *, limit: int, after: str | None) -> Sequence[EventHit]:
        index = await self._get(name)
        keys = [
            key
            for key in sorted(index)
            if key > (after or "") and tenant_id in (None, index[key].stored.key.scope.tenant_id)
        ]
        return [EventHit(key, index[key].stored.data, 0.0) for key in keys[:limit]]

    async def list_of_user(self, name: str, scope: UserScope, *, limit: int, after: str | None = None) -> Sequence[str]:
        index = await self._get(name)
        keys = [key for key in sorted(index) if index[key].stored.key.scope == scope and key > (after or "")]
        return keys[:limit]

    async def ping(self) -> None:
        await asyncio.sleep(0)

    async def _get(self, name: str) -> _Index:
        await asyncio.sleep(0)
        if name not in self._indexes:
            raise IndexMissing(name)
        return self._indexes[name]


def _matches(document: IndexDocument, query: EventQuery) -> bool:
    event, time = document.stored.event, from_text(document.stored.event.timestamp)
    return (
        document.stored.key.scope == query.scope
        and query.service in (None, event.service_id)
        and query.source_type in (None, event.source_type)
        and (query.project is None or query.project in event.project_ids)
        and (query.entity is None or query.entity in event.entities)
        and (query.since is None or time >= query.since)
        and (query.until is None or time < query.until)
    )


def _scores(found: _Index, index: _Index, words: str | None, vector: Vector | None) -> dict[str, float]:
    if words is None:
        return dict.fromkeys(found, 1.0)
    lexical = _lexical(found, index, words)
    if vector is None:
        return lexical
    near = {key: _cosine(document.vector, vector) for key, document in found.items() if document.vector is not None}
    fused: dict[str, float] = {}
    for scores in (lexical, near):
        for rank, key in enumerate(_ranked(scores)):
            fused[key] = fused.get(key, 0.0) + 1 / (_RANK_CONSTANT + rank)
    return fused


def _ranked(scores: dict[str, float]) -> list[str]:
    return sorted(scores, key=lambda key: (-scores[key], key))


def _lexical(found: _Index, index: _Index, words: str) -> dict[str, float]:
    """Return the summed rarity of the words that each document shares with the query, without zeros."""
    holders = Counter(word for document in index.values() for word in _words(document.stored.event))
    wanted = set(_WORD.findall(words.lower()))
    scores = {
        key: sum(math.log(1 + len(index) / holders[word]) for word in wanted & _words(document.stored.event))
        for key, document in found.items()
    }
    return {key: score for key, score in scores.items() if score}


def _words(event: Event) -> set[str]:
    return set(_WORD.findall(" ".join([event.digest, *event.keywords, *event.entities]).lower()))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
