"""Remove what imports have left of a user and is over: old records, and who imported what."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from memnet.domain import attachment as attachments
from memnet.domain.archive import read_manifest
from memnet.domain.attachment import Attachment, Dated, Part
from memnet.domain.errors import HistoryBroken, SealBroken
from memnet.domain.record import RecordKey, RecordKind
from memnet.domain.retention import Kind
from memnet.operations.open_attachment import open_attachment
from memnet.operations.remove_due import Remove, RetentionRun, remove_due
from memnet.stores import RecordStore, Vault

PAGE = 500
READ = 64
"""The most old records that are read at once to find the first one that stays."""
AT_ONCE = 16
KIND = "imports"


@dataclass(frozen=True, slots=True)
class _Due:
    one: Attachment
    is_first: bool = False
    """Whether it goes before the others: another one says by which rule, or since when, it is over."""


@dataclass(frozen=True, slots=True)
class _Work:
    """What is removed of one imported archive, and all that this takes."""

    run: RetentionRun
    records: RecordStore
    vault: Vault | None
    arrived: str | None
    """When it was last imported, if that is known: nothing of it is younger, whatever it says of itself."""

    def is_over(self, at: str, kind: Kind, profile_id: str | None) -> bool:
        last_due = self.run.policy.last_due(kind, profile_id, self.run.as_of)
        return bool(last_due) and min(at, self.arrived or at) <= last_due

    def key(self, one: Attachment) -> RecordKey:
        return RecordKey(self.run.scope, RecordKind.IMPORTS, one.name)


async def retain_imports(*, run: RetentionRun, records: RecordStore, vault: Vault | None) -> None:
    """Remove old records by the audit rule and their own time, each document's from its oldest on, and runs by the
    rule of jobs; the manifest and the last run of an import wait until nothing else of it is left.

    What says of itself that it is younger than its import is counted from the import. What cannot be read stays, and
    is counted. Raises HistoryBroken if a hold cannot be read, VaultUnavailable if something is sealed and there is no
    vault, Unavailable.
    """
    for archive, told in attachments.by_archive(await _attachments(run, records)).items():
        runs = [one.at for one in told.get(archive, ()) if one.part is Part.RUNS]
        work = _Work(run, records, vault, max(runs, default=None))
        stays = False
        for of, parts in told.items():
            if of != archive and await _retain(parts, work):
                stays = True
        # Last: it says who brought in the rest, and when.
        await _retain(told.get(archive, ()), work, others_stay=stays)


async def _attachments(run: RetentionRun, records: RecordStore) -> Sequence[Attachment]:
    found: list[Attachment] = []
    cursor: str | None = None
    while True:
        page = await records.list(run.scope, RecordKind.IMPORTS, limit=PAGE, cursor=cursor)
        for key in page.items:
            attachment = attachments.parse(key.name)
            if attachment is None:
                run.report.broken[KIND] += 1
            else:
                found.append(attachment)
        cursor = page.next_cursor
        if cursor is None:
            return found


async def _retain(parts: Sequence[Attachment], work: _Work, *, others_stay: bool = False) -> bool:
    """Remove what is over of all that tells of one archive; say whether any of it stays."""
    run, tally = work.run, work.run.report.tallies[KIND]
    runs = sorted((one for one in parts if one.part is Part.RUNS), key=lambda one: one.name)
    old = sorted((one for one in parts if one.doc_id), key=lambda one: (one.doc_id, one.sequence, one.name))
    manifests = [one for one in parts if one.part is Part.MANIFEST]
    over = [_Due(one) for one in runs[:-1] if work.is_over(one.at, Kind.JOBS, None)]
    tally.kept += len(runs[:-1]) - len(over)
    for _, document in groupby(old, key=lambda one: one.doc_id):
        over += await _over([*document], work)
    gone = await remove_due(over, _remover(work), tally, run=run)
    stays = others_stay or len(gone) < len(old) + len(runs[:-1])
    end = [*(_Due(one, is_first=True) for one in manifests), *(_Due(one) for one in runs[-1:])]
    at = runs[-1].at if runs else await _finished_at(manifests, work)
    if at is None:
        return stays or bool(end)
    if not work.is_over(at, Kind.JOBS, None):
        tally.kept += len(end)
        return True
    if stays:
        tally.waiting += len(end)
        return True
    return len(await remove_due(end, _remover(work), tally, run=run)) < len(end)


async def _over(document: Sequence[Attachment], work: _Work) -> Sequence[_Due]:
    """What is over of one document's old records: one that has to stay keeps those after it."""
    due: list[_Due] = []
    profile_id: str | None = None
    start, size = 0, 1
    while start < len(document):
        batch = document[start : start + size]
        for number, (one, found) in enumerate(zip(batch, await _read(batch, work), strict=True), start):
            if found is None:
                continue
            names_none = found.profile_id is None
            profile_id = profile_id if names_none else found.profile_id
            if not work.is_over(found.at, Kind.AUDIT, profile_id):
                work.run.report.tallies[KIND].kept += len(document) - number
                return due
            # A deletion goes by the change before it, so it goes before that one does.
            due.insert(len(due) - names_none, _Due(one, is_first=names_none))
        # Mostly nothing is over, and the first one says so.
        start, size = start + len(batch), min(2 * size, READ)
    return due


async def _read(batch: Sequence[Attachment], work: _Work) -> Sequence[Dated | None]:
    """How old each is; None for one that has gone, or cannot be read."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def read(one: Attachment) -> Dated | None:
        async with gate:
            data = await _data(one, work)
        try:
            return None if data is None else attachments.dated(one, data)
        except HistoryBroken:
            work.run.report.broken[KIND] += 1
            return None

    return await asyncio.gather(*map(read, batch))


async def _finished_at(manifests: Sequence[Attachment], work: _Work) -> str | None:
    """When the archive was made: all there is to go by where none of its runs is."""
    for one in manifests:
        data = await _data(one, work)
        if data is not None and attachments.fits(one, data):
            return read_manifest(data).finished_at
        work.run.report.broken[KIND] += data is not None
    return None


async def _data(one: Attachment, work: _Work) -> bytes | None:
    key = work.key(one)
    stored = await work.records.read(key)
    try:
        return None if stored is None else await open_attachment(key, stored.data, vault=work.vault)
    except SealBroken:
        return b""


def _remover(work: _Work) -> Remove[_Due]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def delete(due: _Due, known_at: datetime) -> None:
        async with gate:
            await work.records.delete(work.key(due.one), known_at=known_at)

    async def remove(batch: Sequence[_Due], known_at: datetime) -> Sequence[_Due]:
        for is_first in (True, False):
            await asyncio.gather(*(delete(due, known_at) for due in batch if due.is_first is is_first))
        return batch

    return remove
