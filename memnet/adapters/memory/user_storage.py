"""UserStorage over the memory stores, as if they were one container."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from memnet.adapters.memory.tags import Tags
from memnet.domain import cursor as cursors
from memnet.domain.document import StorageETag
from memnet.domain.erasure import Found, Whose, is_of, prefixes_of
from memnet.ports import Page, StoreConflict


class Holder(Protocol):
    """A memory store that things can be listed in and taken out of by their names."""

    def holdings(self) -> Mapping[str, object]:
        """What it holds, by the names that blobs of one container have; what is written anew is another object."""
        ...

    def drop(self, name: str) -> None:
        """Take it out; a missing one is fine."""
        ...


class MemoryUserStorage:
    """The UserStorage port for tests; errors as the port says, except that it is never unavailable."""

    def __init__(self, *stores: Holder) -> None:
        """Look into these stores."""
        self._stores = stores
        self._tagged: dict[str, tuple[object, StorageETag]] = {}
        self._tags = Tags()

    async def list(self, scope: Whose, *, limit: int, cursor: str | None) -> Page[Found]:
        """List it, the keys first. Raises InvalidCursor."""
        after = (-1, "") if cursor is None else _read(cursors.decode(scope.prefix, cursor))
        await asyncio.sleep(0)
        prefixes = prefixes_of(scope)
        names = {name: self._tag(name, held) for name, held in self._all().items() if is_of(scope, name)}
        ranked = sorted((next(n for n, p in enumerate(prefixes) if name.startswith(p)), name) for name in names)
        found = [place for place in ranked if place > after]
        following = None
        if len(found) > limit:
            rank, name = found[limit - 1]
            following = cursors.encode(scope.prefix, f"{rank}:{name}")
        return Page([Found(name, names[name]) for _, name in found[:limit]], following)

    async def delete(self, scope: Whose, found: Found, *, known_at: datetime) -> None:
        """Take it out of whichever store holds it; dates are not looked at. Raises StoreConflict, ValueError."""
        if not is_of(scope, found.name):
            raise ValueError("this is not the user's")
        await asyncio.sleep(0)
        held = self._all().get(found.name)
        if held is None:
            return
        if self._tag(found.name, held) != found.tag:
            raise StoreConflict
        for store in self._stores:
            store.drop(found.name)
        del self._tagged[found.name]

    def _all(self) -> Mapping[str, object]:
        return {name: held for store in self._stores for name, held in store.holdings().items()}

    def _tag(self, name: str, held: object) -> StorageETag:
        """The same for as long as the same object is held under the name."""
        known = self._tagged.get(name)
        if known is None or known[0] is not held:
            known = self._tagged[name] = held, self._tags.make()
        return known[1]


def _read(position: str) -> tuple[int, str]:
    rank, _, name = position.partition(":")
    return int(rank), name
