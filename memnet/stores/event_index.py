"""The indexes: the register of small blobs below search/ that names them, and writes to all of them."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol, TypeVar

from memnet.domain.core.errors import ErasureRunning, MemnetError, Unavailable
from memnet.domain.core.metric import SEARCH_DURATION, SEARCH_RESULTS
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.events.event import EventKey, StoredEvent
from memnet.domain.events.event_search import IndexDocument, IndexQuery, Vector
from memnet.domain.events.index_layout import (
    LAYOUT,
    REBUILD,
    REGISTER,
    IndexVersion,
    Layout,
    dump_layout,
    load_layout,
    load_reindexing,
)
from memnet.ports import (
    Embedder,
    EventIndex,
    Hits,
    IdGenerator,
    Indexed,
    IndexMissing,
    StoreConflict,
    StoredBlob,
    Telemetry,
)
from memnet.stores.blobs import Blobs, FenceCheck
from memnet.stores.erasures import ErasureStore
from memnet.stores.unsealed_turns import UnsealedTurns

UPLOAD_SECONDS = 300.0
"""The time from a check of the fence to the end of the upload that relies on it: well below the time for which an
erasure waits for writes that began before it.
"""
PAGE = 900
log = logging.getLogger(__name__)


class SearchRegister:
    """The layout of the indexes, and other small records about them."""

    def __init__(self, blobs: Blobs, *, fresh_seconds: float = 2.0) -> None:
        """`fresh_seconds` is how long this process may use a layout before it reads it again."""
        self.fresh_seconds = fresh_seconds
        self._blobs = blobs
        self._known: StoredBlob | None = None
        self._layout: Layout | None = None
        self._asked_at: float | None = None

    async def recent(self) -> Layout | None:
        """Return the layout, at most `fresh_seconds` old, or None if there is none. Raises Unavailable."""
        # The loop's time is monotonic; it is taken before the read, so the age is never understated.
        now = asyncio.get_running_loop().time()
        if self._asked_at is None or now - self._asked_at >= self.fresh_seconds:
            stored = await self._blobs.storage.get(_name(LAYOUT), self._known)
            if stored is not self._known or stored is None:
                self._known = stored
                self._layout = None if stored is None else load_layout(stored.data)
            self._asked_at = now
        return self._layout

    async def read(self, name: str) -> StoredBlob | None:
        """Return the current record, or None if it does not exist. Raises Unavailable."""
        return await self._blobs.storage.get(_name(name))

    async def write(self, name: str, data: bytes, *, replaces: StorageETag | None) -> StorageETag:
        """Write a record if its tag is `replaces`, or, with None, if it does not exist; return the new tag.

        Raises StoreConflict, and Unavailable when the outcome is unknown.
        """
        self._asked_at = None if name == LAYOUT else self._asked_at
        tag = await self._blobs.storage.put(_name(name), data, replaces=replaces)
        self._asked_at = None if name == LAYOUT else self._asked_at
        return tag


def _name(name: str) -> str:
    return f"{REGISTER}{name}.json"


@dataclass(frozen=True, slots=True)
class Search:
    """The indexes and what writing to them needs; without an embedder, search ranks by words alone."""

    index: EventIndex
    register: SearchRegister
    fences: ErasureStore
    """Nothing of users who have a fence is indexed."""
    embedder: Embedder | None = None
    telemetry: Telemetry | None = None
    unsealed: UnsealedTurns = field(default_factory=UnsealedTurns)
    """The messages that this process has read in results."""

    async def find(self, name: str, query: IndexQuery, vector: Vector | None) -> Hits:
        """Search one index, and record how long it takes and what it finds. Raises IndexMissing, Unavailable."""
        started = perf_counter()
        try:
            hits = await self.index.search(name, query, vector)
        except (MemnetError, IndexMissing) as error:
            failure = error.code.value if isinstance(error, MemnetError) else "index_missing"
            if self.telemetry is not None:
                self.telemetry.record(SEARCH_DURATION, perf_counter() - started, outcome=failure)
            raise
        if self.telemetry is not None:
            outcome = "found" if hits.items else "empty"
            self.telemetry.record(SEARCH_DURATION, perf_counter() - started, outcome=outcome)
            self.telemetry.record(SEARCH_RESULTS, len(hits.items), outcome=outcome)
        return hits

    @property
    def model(self) -> str | None:
        """The configured embeddings' model."""
        return None if self.embedder is None else self.embedder.name

    @property
    def dimensions(self) -> int:
        """The configured embeddings' dimensions; 0 without a model."""
        return 0 if self.embedder is None else self.embedder.dimensions

    def new_version(self, ids: IdGenerator) -> IndexVersion:
        """Return an index with a new name for the configured embeddings. Nothing is created."""
        return IndexVersion(self.index.new_name(ids.new().rpartition("-")[2]), self.model, self.dimensions)


async def ensure_index(search: Search, ids: IdGenerator) -> Layout:
    """Return the layout, at most `fresh_seconds` old; create the first index if there is none. Raises Unavailable."""
    layout = await search.register.recent()
    if layout is not None:
        return layout
    version = search.new_version(ids)
    await search.index.create(version)
    layout = Layout(version)
    try:
        await search.register.write(LAYOUT, dump_layout(layout), replaces=None)
    except StoreConflict:
        stored = await search.register.read(LAYOUT)
        if stored is None:
            raise
        layout = load_layout(stored.data)
        if layout.serving.name != version.name:
            await search.index.drop(version.name)
    return layout


async def find_indexes(*, search: Search) -> Sequence[str]:
    """Return the names of the serving index, the one being built, and those a rebuild has yet to drop.

    Some of them may no longer exist. Reads the current records, not the layout that this process remembers. Raises
    Unavailable.
    """
    # In this order: a rebuild that advances in between is covered by its record, which names all its indexes.
    layout = await search.register.read(LAYOUT)
    rebuild = await search.register.read(REBUILD)
    named = [] if layout is None else [version.name for version in load_layout(layout.data).versions]
    named += [] if rebuild is None else load_reindexing(rebuild.data).names
    return list(dict.fromkeys(named))


async def count_indexed(scope: UserScope, *, search: Search) -> int:
    """Return how many events and turns of a user the indexes show, each counted once. Raises Unavailable."""
    shown: set[str] = set()
    for name in await find_indexes(search=search):
        after: str | None = None
        try:
            while keys := await search.index.list_of_user(name, scope, limit=PAGE, after=after):
                shown.update(keys)
                after = keys[-1]
        except IndexMissing:
            continue
    return len(shown)


class Indexable(Protocol):
    """What an index document is made from."""

    @property
    def index_key(self) -> str:
        """The key of its document."""

    @property
    def scope(self) -> UserScope:
        """Whose it is."""

    @property
    def text(self) -> str:
        """What is embedded."""


Item = TypeVar("Item", bound=Indexable)
Document = Callable[[Item, Vector | None], Indexed]
"""Makes the document of an item with a vector or without one."""


async def index_items(
    items: Sequence[Item],
    document: Document[Item],
    *,
    search: Search,
    ids: IdGenerator,
    checked: FenceCheck | None = None,
) -> frozenset[str]:
    """Upload the documents of stored items to every index; return the keys of those whose marks are no longer needed.

    The layout is read again afterwards. If it names an index that got no upload, every mark stays. If it does not, an
    index that is announced later is filled from a listing that includes these items: a rebuild waits longer than
    `fresh_seconds` before it lists them. `checked` is as in `upload_items`. Raises Unavailable.
    """
    layout = await ensure_index(search, ids)
    complete = await upload_items(items, document, layout.versions, search=search, checked=checked)
    now = await search.register.recent()
    return complete if now is not None and set(now.versions) <= set(layout.versions) else frozenset()


async def index_events(
    stored: Sequence[StoredEvent], *, search: Search, ids: IdGenerator, checked: FenceCheck | None = None
) -> frozenset[EventKey]:
    """Upload stored events as `index_items` does; return those whose pending-index markers may be confirmed."""
    complete = await index_items(stored, IndexDocument, search=search, ids=ids, checked=checked)
    return frozenset(event.key for event in stored if event.index_key in complete)


async def upload_events(
    stored: Sequence[StoredEvent],
    versions: Sequence[IndexVersion],
    *,
    search: Search,
    checked: FenceCheck | None = None,
) -> frozenset[EventKey]:
    """Upload events as `upload_items` does; return the keys of those that all indexes have confirmed."""
    complete = await upload_items(stored, IndexDocument, versions, search=search, checked=checked)
    return frozenset(event.key for event in stored if event.index_key in complete)


async def upload_items(
    items: Sequence[Item],
    document: Document[Item],
    versions: Sequence[IndexVersion],
    *,
    search: Search,
    checked: FenceCheck | None = None,
) -> frozenset[str]:
    """Upload to the given indexes; return the keys of what all of them have confirmed with complete content.

    When the embedding model fails or an index was built with another one, an item is uploaded without its vector and
    does not count as complete. Items of users who are being erased are left out and do not count either: the fences
    are checked before each upload, but for that of `checked`. An upload takes UPLOAD_SECONDS at most, counted from the
    check. Raises Unavailable.
    """
    vectors = await _embed(items, versions, search)
    incomplete: set[str] = set()
    for version in versions:
        fitting = vectors if version.takes(search.model, search.dimensions) else None
        # The items were read a while ago. An erasure that begins after this check deletes what is uploaded now.
        began = asyncio.get_running_loop().time() if checked is None else checked.loop_time
        erasing = await _erasing(items, search, checked)
        incomplete |= {item.index_key for item in items if item.scope in erasing}
        documents = [
            document(item, None if fitting is None else fitting[n])
            for n, item in enumerate(items)
            if item.scope not in erasing
        ]
        try:
            async with asyncio.timeout_at(began + UPLOAD_SECONDS):
                incomplete |= await search.index.upload(version.name, documents)
        except TimeoutError as error:
            raise Unavailable(dependency="search") from error
        except IndexMissing:
            log.error("the index %s does not exist: run memnet search reindex", version.name)
            return frozenset()
        if version.model is not None and fitting is None:
            incomplete |= {item.index_key for item in items}
    return frozenset(item.index_key for item in items if item.index_key not in incomplete)


async def unindex_events(keys: Sequence[EventKey], *, search: Search) -> frozenset[EventKey]:
    """Delete events from every index; return those that no index holds any more. Raises Unavailable.

    A process that read an event before its deletion may index it afterwards: reconciliation then deletes it from the
    index, because its pending-index marker names an event that is not stored.
    """
    left = await unindex([key.index_key for key in keys], search=search)
    return frozenset(key for key in keys if key.index_key not in left)


async def unindex(keys: Sequence[str], *, search: Search) -> frozenset[str]:
    """Delete documents from every index; return the keys of those that remain. Raises Unavailable."""
    layout = await search.register.recent()
    left: set[str] = set()
    for version in layout.versions if layout else ():
        try:
            left |= await search.index.delete(version.name, keys)
        except IndexMissing:
            continue
    return frozenset(left)


async def _erasing(items: Sequence[Indexable], search: Search, checked: FenceCheck | None) -> frozenset[UserScope]:
    """Return those of the items' users whose memory is being erased. Raises Unavailable."""
    scopes = frozenset(item.scope for item in items if checked is None or item.scope != checked.scope)
    if len(scopes) > 1:
        tenants = {scope.tenant_id for scope in scopes}
        return await search.fences.erasing(tenants.pop() if len(tenants) == 1 else None)
    try:
        for scope in scopes:
            await search.fences.check(scope)
    except ErasureRunning:
        return scopes
    return frozenset()


async def _embed(
    items: Sequence[Indexable], versions: Sequence[IndexVersion], search: Search
) -> Sequence[Vector] | None:
    """Return one vector per item; None if no index takes them or the model is unavailable."""
    if search.embedder is None or not any(v.takes(search.model, search.dimensions) for v in versions):
        return None
    try:
        return [list(vector) for vector in await search.embedder.embed([item.text for item in items])]
    except Unavailable:
        return None
