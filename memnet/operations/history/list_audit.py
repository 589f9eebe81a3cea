"""List the audit records of a user's documents."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise

from memnet.domain.core import cursor as cursors
from memnet.domain.core.errors import HistoryCorrupt, InvalidCursor, MalformedRequest
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, UserScope, check_identifier
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import record_bytes
from memnet.domain.documents.audit_values import public_view
from memnet.domain.documents.envelope import Envelope
from memnet.paging import MAX_CONCURRENCY, bounded, rows
from memnet.ports import Page
from memnet.service import Service
from memnet.stores import DocumentStore, StoredHistory, Unsealing, stream_stored_records

Span = tuple[Envelope, StoredHistory, int, int]
"""The first and the last of consecutive changes of a document whose records are in one segment."""


async def list_audit(
    scope: UserScope, service: Service, *, namespace: str | None, path: str | None, limit: int, cursor: str | None
) -> Page[bytes]:
    """Return up to `limit` records as JSON: document by document in name order, the oldest record of each first.

    Values are unsealed, and the salt is left out. Records of deleted documents are included; records that retention has
    deleted, and records of a user who is being erased, are not. `namespace` and `path` filter the documents. Raises
    InvalidIdentifier, InvalidCursor, HistoryCorrupt, VaultUnavailable, Unavailable; MalformedRequest: there is a path
    and no namespace.
    """
    listing = f"{scope.prefix}audit of {namespace or '*'}/{path or '*'}"
    after = _read_cursor(listing, cursor)
    reading = _Reading(scope, service)
    if path is not None:
        if namespace is None:
            raise MalformedRequest("A path needs its namespace.")
        named: Sequence[tuple[DocumentKey, int]] = [(DocumentKey(scope, namespace, path), limit)]
    else:
        named, reading.histories = await asyncio.gather(
            _documents(scope, namespace, service.documents), service.audit.histories(scope)
        )
    waiting = [(key, changes) for key, changes in named if _name(key) >= after[0]]
    found: list[tuple[DocumentKey, Record]] = []
    while waiting and len(found) < limit:
        wave = _wave(waiting, limit - len(found))
        found += await reading.records(wave, after, limit - len(found))
        waiting = waiting[len(wave) :]
    unsealing = Unsealing(scope, service.audit.vault)
    items = [record_bytes(public_view(await unsealing.unseal(record))) for _, record in found]
    if len(found) < limit:
        return Page(items, None)
    key, record = found[-1]
    return Page(items, cursors.encode(listing, f"{record['sequence']}:{_name(key)}"))


@dataclass(slots=True)
class _Reading:
    """Reads the records of one page."""

    scope: UserScope
    service: Service
    histories: Mapping[str, StoredHistory] | None = None
    """Those of the user, if the page is not of one document."""

    async def records(
        self, keys: Sequence[DocumentKey], after: tuple[str, int], limit: int
    ) -> Sequence[tuple[DocumentKey, Record]]:
        """Return the next stored records of these documents. Retention may delete records meanwhile."""
        documents = list(filter(None, await bounded(self._document, keys)))
        histories = self.histories if self.histories is not None else await self._list(documents)
        while True:
            spans = _spans(documents, histories, after, limit)
            try:
                records = await bounded(self._span, [span for _, span in spans])
            except HistoryCorrupt:
                before, histories = histories, await self._list(documents)
                if all(histories[one].begins == before[one].begins for one in histories.keys() & before.keys()):
                    raise
                # A retention run has removed records meanwhile.
                documents = list(filter(None, await bounded(self._document, keys)))
                continue
            return [(key, record) for (key, _), part in zip(spans, records, strict=True) for record in part]

    async def _list(self, documents: Sequence[tuple[DocumentKey, Envelope]]) -> Mapping[str, StoredHistory]:
        stored = await bounded(partial(self.service.audit.histories, self.scope), [c.doc_id for _, c in documents])
        return {doc_id: history for found in stored for doc_id, history in found.items()}

    async def _document(self, key: DocumentKey) -> tuple[DocumentKey, Envelope] | None:
        stored = await self.service.documents.get(key)
        current = envelope.load(stored.data) if stored else None
        return None if current is None or current.erased else (key, current)

    async def _span(self, span: Span) -> Sequence[Record]:
        current, history, first, last = span
        stream = stream_stored_records(self.scope, current, first, last, audit=self.service.audit, history=history)
        return [record async for record in stream]


async def _documents(
    scope: UserScope, namespace: str | None, documents: DocumentStore
) -> Sequence[tuple[DocumentKey, int]]:
    """Return the documents in name order, each with its number of changes."""
    start = f"{check_identifier('namespace', namespace)}/" if namespace is not None else ""
    found = [(row.key, row.summary.sequence) async for row in rows(partial(documents.list, scope, start))]
    return sorted(found, key=lambda row: _name(row[0]))


def _wave(waiting: Sequence[tuple[DocumentKey, int]], limit: int) -> Sequence[DocumentKey]:
    """Return the next documents to read at the same time: as many as fill the page, by their numbers of changes."""
    totals = accumulate(changes for _, changes in waiting[:MAX_CONCURRENCY])
    return [key for key, _ in waiting[: 1 + sum(total < limit for total in totals)]]


def _spans(
    documents: Sequence[tuple[DocumentKey, Envelope]],
    histories: Mapping[str, StoredHistory],
    after: tuple[str, int],
    limit: int,
) -> Sequence[tuple[DocumentKey, Span]]:
    """Return the next `limit` stored changes of these documents, segment by segment."""
    found: list[tuple[DocumentKey, Span]] = []
    for key, current in documents:
        history = histories.get(current.doc_id, StoredHistory())
        first = max(after[1] + 1 if _name(key) == after[0] else 1, history.begins)
        end = min(current.commit.sequence, first + limit - 1) + 1
        if first < end:
            bounds = [first, *(one for one in history.segments if first < one < end), end]
            found += [(key, (current, history, start, stop - 1)) for start, stop in pairwise(bounds)]
            limit -= end - first
    return found


def _name(key: DocumentKey) -> str:
    return f"{key.namespace}/{key.path}"


def _read_cursor(listing: str, text: str | None) -> tuple[str, int]:
    """Return the document and the number of the change that the page begins after."""
    if text is None:
        return "", 0
    sequence, _, name = cursors.decode(listing, text).partition(":")
    if not (sequence.isascii() and sequence.isdecimal()):
        raise InvalidCursor()
    return name, int(sequence)
