"""The changed marks and due marks, by shard, and the runs over them."""

from collections.abc import Sequence
from functools import partial

from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.upkeep.marks import CHANGED, DUE, ChangedMark, DueMark, Work, is_day, read_changed, read_due
from memnet.domain.upkeep.shard_run import RUNS, ShardRun, dump, labelled, labels, load, run_name
from memnet.paging import bounded, rows
from memnet.ports import Page, StoreConflict
from memnet.stores.blobs import Store

Mark = ChangedMark | DueMark


class UpkeepMarks(Store):
    """The marks of users with work to do. `Blobs` creates the changed marks."""

    async def list_changed(self, shard: str, *, limit: int, cursor: str | None) -> Page[ChangedMark]:
        """List the changed marks of a shard, by user and hour. Raises InvalidCursor, Unavailable."""
        prefix = f"{CHANGED}{shard}/"
        return await self._blobs.rows(prefix, lambda blob: read_changed(blob.name), limit=limit, cursor=cursor)

    async def list_due(self, shard: str, day: str, *, limit: int, cursor: str | None) -> Page[DueMark]:
        """List the due marks of a shard and a day, by user. Raises InvalidCursor, Unavailable."""
        prefix = f"{DUE}{day}/{shard}/"
        return await self._blobs.rows(prefix, lambda blob: read_due(blob.name), limit=limit, cursor=cursor)

    async def list_changed_shards(self) -> Sequence[str]:
        """Return the shards with changed marks. Raises Unavailable."""
        return await self._folders(CHANGED)

    async def list_due_days(self) -> Sequence[str]:
        """Return the days with due marks, the first one first. Raises Unavailable."""
        return [day for day in await self._folders(DUE) if is_day(day)]

    async def list_due_shards(self, day: str) -> Sequence[str]:
        """Return the shards with due marks for a day. Raises Unavailable."""
        return await self._folders(f"{DUE}{day}/")

    async def add_due(self, mark: DueMark) -> None:
        """Create a due mark if it does not exist. Raises ErasureRunning, TenantEnded, Unavailable."""
        try:
            await self._blobs.put_of(mark.scope, mark.blob_name, b"", replaces=None, announced=False)
        except StoreConflict:
            return

    async def remove(self, marks: Sequence[Mark]) -> None:
        """Delete marks; deleting a missing one succeeds. Raises Unavailable."""
        await bounded(self._blobs.storage.delete, [mark.blob_name for mark in marks])

    async def has_data(self, scope: UserScope) -> bool:
        """Return whether anything of the user is stored but marks and holds. Raises Unavailable."""
        return bool((await self._blobs.storage.list(scope.prefix, limit=1, cursor=None)).items)

    async def read_run(self, work: Work, shard: str) -> tuple[ShardRun | None, StorageETag | None]:
        """Return the stored run of a shard and its tag; without a run if it cannot be read. Raises Unavailable."""
        stored = await self._blobs.storage.get(run_name(work, shard))
        return (None, None) if stored is None else (load(stored.data), stored.storage_etag)

    async def write_run(self, run: ShardRun, *, replaces: StorageETag | None) -> StorageETag:
        """Write a run if its tag is `replaces`, or, with None, if it does not exist; return the new tag.

        Raises StoreConflict, and Unavailable when the outcome is unknown.
        """
        return await self._blobs.storage.put(run.blob_name, dump(run), replaces=replaces, metadata=labels(run))

    async def remove_run(self, run: ShardRun, *, tag: StorageETag) -> None:
        """Delete a run. Raises StoreConflict if it has another tag, Unavailable."""
        await self._blobs.storage.delete(run.blob_name, tag=tag)

    async def list_runs(self, work: Work | None = None) -> Sequence[ShardRun]:
        """Return the stored runs of one work or of all, without their cursors. Raises Unavailable."""
        blobs = self._blobs.each(RUNS if work is None else f"{RUNS}{work}/", metadata=True)
        found = [labelled(blob.name, blob.metadata) async for blob in blobs]
        return [run for run in found if run is not None]

    async def _folders(self, prefix: str) -> Sequence[str]:
        listing = partial(self._blobs.storage.list_folders, prefix)
        return [name.removeprefix(prefix).removesuffix("/") async for name in rows(listing)]
