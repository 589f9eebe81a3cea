"""List the audit records of a user's documents."""

from collections.abc import Sequence
from functools import partial

from memnet.domain.core import cursor as cursors
from memnet.domain.core.errors import HistoryCorrupt, InvalidCursor, MalformedRequest
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, UserScope, check_identifier
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import record_bytes
from memnet.domain.documents.audit_values import public_view
from memnet.domain.documents.envelope import Envelope
from memnet.paging import rows
from memnet.ports import Page
from memnet.service import Service
from memnet.stores import AuditLog, DocumentStore, list_baselines, read_records


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
    after_name, after_sequence = _read_cursor(listing, cursor)
    records: list[bytes] = []
    for key in await _keys(scope, namespace, path, service.documents):
        name = f"{key.namespace}/{key.path}"
        if name < after_name:
            continue
        stored = await service.documents.get(key)
        if stored is None:
            continue
        current = envelope.load(stored.data)
        if current.erased:
            continue
        after = after_sequence if name == after_name else 0
        found = await _records(scope, current, after, limit - len(records), service.audit)
        records += [record_bytes(public_view(record)) for record in found]
        if found and len(records) == limit:
            return Page(records, cursors.encode(listing, f"{found[-1]['sequence']}:{name}"))
    return Page(records, None)


async def _records(scope: UserScope, current: Envelope, after: int, limit: int, audit: AuditLog) -> Sequence[Record]:
    """Return the next stored records after change `after`. Retention may delete records meanwhile."""
    begins = min(await _begins_after(scope, current, audit), current.commit.sequence - 1)
    while True:
        first = max(after, begins) + 1
        last = min(current.commit.sequence, first + limit - 1)
        try:
            return await read_records(scope, current, first, last, audit=audit)
        except HistoryCorrupt:
            newer = await _begins_after(scope, current, audit)
            if newer <= begins:
                raise
            begins = newer


async def _begins_after(scope: UserScope, current: Envelope, audit: AuditLog) -> int:
    """Return the last change whose records retention has deleted; 0 if there is none."""
    known = (await list_baselines(scope, current.doc_id, audit=audit)).get(current.doc_id)
    number = known[-1].rpartition("-")[2] if known else "0"
    return int(number) if number.isascii() and number.isdecimal() else 0


async def _keys(
    scope: UserScope, namespace: str | None, path: str | None, documents: DocumentStore
) -> Sequence[DocumentKey]:
    if path is not None:
        if namespace is None:
            raise MalformedRequest("A path needs its namespace.")
        return [DocumentKey(scope, namespace, path)]
    start = f"{check_identifier('namespace', namespace)}/" if namespace is not None else ""
    keys = [row.key async for row in rows(partial(documents.list, scope, start))]
    return sorted(keys, key=lambda key: f"{key.namespace}/{key.path}")


def _read_cursor(listing: str, text: str | None) -> tuple[str, int]:
    """Return the document and the number of the change that the page begins after."""
    if text is None:
        return "", 0
    sequence, _, name = cursors.decode(listing, text).partition(":")
    if not (sequence.isascii() and sequence.isdecimal()):
        raise InvalidCursor()
    return name, int(sequence)
