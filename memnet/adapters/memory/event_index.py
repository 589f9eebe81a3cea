"""EventIndex in dicts: ranks by shared words, weighted by rarity, and by the cosine of vectors."""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from memnet.domain.core.scope import UserScope
from memnet.domain.events.event_search import SEARCHED, IndexKind, IndexQuery, Place, Vector, follows, matches
from memnet.domain.events.index_layout import IndexVersion
from memnet.ports import EventHit, Hits, Indexed, IndexedTurn, IndexMissing

_WORD = re.compile(r"\w+")

_Fields = Mapping[str, Any]
_Index = dict[str, _Fields]


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

    async def upload(self, name: str, documents: Sequence[Indexed]) -> frozenset[str]:
        index = await self._get(name)
        index.update({document.key: document.fields() for document in documents})
        return frozenset()

    async def delete(self, name: str, keys: Sequence[str]) -> frozenset[str]:
        index = await self._get(name)
        for key in keys:
            index.pop(key, None)
        return frozenset()

    async def search(self, name: str, query: IndexQuery, vector: Vector | None) -> Hits:
        index = await self._get(name)
        found = {key: fields for key, fields in index.items() if _is_found(fields, query)}
        scores = _scores(found, index, query, vector)
        ranked = _ranked(scores)
        if query.words is None:
            ranked.sort(key=lambda key: str(found[key]["timestamp"]), reverse=True)
        end = query.skip + query.top
        hits = [
            EventHit(
                key,
                found[key]["payload"].encode(),
                scores[key],
                IndexKind(found[key]["kind"]),
                found[key].get("embedding"),
            )
            for key in ranked[query.skip : end]
        ]
        return Hits(hits, len(ranked) > end)

    async def list(self, name: str, tenant_id: str | None, *, limit: int, after: str | None) -> Sequence[EventHit]:
        where = {"kind": IndexKind.EVENT.value} | ({} if tenant_id is None else {"tenant_id": tenant_id})
        found = await self._list(name, where, limit, after)
        return [EventHit(fields["id"], fields["payload"].encode(), 0.0) for fields in found]

    async def list_turns(
        self, name: str, where: Mapping[str, str], *, limit: int, after: str | None
    ) -> Sequence[IndexedTurn]:
        found = await self._list(name, {"kind": IndexKind.TURN.value, **where}, limit, after)
        named = ("tenant_id", "user_id", "snapshot")
        return [
            IndexedTurn(key=one["id"], data=one["payload"].encode(), **{name: one[name] for name in named})
            for one in found
        ]

    async def list_of_user(self, name: str, scope: UserScope, *, limit: int, after: str | None = None) -> Sequence[str]:
        where = {"tenant_id": scope.tenant_id, "user_id": scope.user_id}
        return [fields["id"] for fields in await self._list(name, where, limit, after)]

    async def _list(self, name: str, where: Mapping[str, str], limit: int, after: str | None) -> Sequence[_Fields]:
        index = await self._get(name)
        found = (index[key] for key in sorted(index) if key > (after or ""))
        return [fields for fields in found if all(fields[name] == value for name, value in where.items())][:limit]

    async def ping(self) -> None:
        await asyncio.sleep(0)

    async def _get(self, name: str) -> _Index:
        await asyncio.sleep(0)
        if name not in self._indexes:
            raise IndexMissing(name)
        return self._indexes[name]


def _is_found(fields: _Fields, query: IndexQuery) -> bool:
    return matches(fields, query) and follows(Place(fields["timestamp"], fields["id"]), query.after)


def _scores(found: _Index, index: _Index, query: IndexQuery, vector: Vector | None) -> dict[str, float]:
    if query.words is None:
        return dict.fromkeys(found, 1.0)
    if vector is None:
        return _lexical(found, index, query.words)
    return {key: _cosine(fields["vector"], vector) for key, fields in found.items() if "vector" in fields}


def _ranked(scores: dict[str, float]) -> list[str]:
    return sorted(scores, key=lambda key: (-scores[key], key))


def _lexical(found: _Index, index: _Index, words: str) -> dict[str, float]:
    """Return the summed rarity of the words that each document shares with the query, without zeros."""
    holders = Counter(word for fields in index.values() for word in _words(fields))
    wanted = set(_WORD.findall(words.lower()))
    scores = {
        key: sum(math.log(1 + len(index) / holders[word]) for word in wanted & _words(fields))
        for key, fields in found.items()
    }
    return {key: score for key, score in scores.items() if score}


def _words(fields: _Fields) -> set[str]:
    return set(_WORD.findall(fields.get(SEARCHED, "").lower()))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0
