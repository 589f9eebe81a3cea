"""List what happened to a user's documents: the audit records themselves."""

from collections.abc import Sequence

from memnet.domain.core import cursor as cursors
from memnet.domain.core.errors import HistoryCorrupt, InvalidCursor, MalformedRequest
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, UserScope, check_identifier
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import record_bytes
from memnet.domain.documents.audit_values import public_view
from memnet.domain.documents.envelope import Envelope
from memnet.ports import Page
from memnet.service import Service
from memnet.stores import AuditLog, DocumentStore
from memnet.stores.audit_log import read_records
from memnet.stores.baselines import list_baselines

LISTING = 1000


async def list_audit(
    scope: UserScope, service: Service, *, namespace: str | None, path: str | None, limit: int, cursor: str | None
) -> Page[bytes]:
    """Return up to `limit` records as JSON: document by document in name order, each in the order it happened.

    Their values are opened, and the salt is not shown. Deleted documents are included, and records that retention has
    removed are not, nor those of a user who is being erased. Narrowed by `namespace`, or by `namespace` and `path`.
    Raises InvalidIdentifier, InvalidCursor, MalformedRequest for a path without a namespace, HistoryCorrupt,
    VaultUnavailable, Unavailable.
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
        head = envelope.load(stored.data)
        if head.erased:
            continue
        after = after_sequence if name == after_name else 0
        found = await _records(scope, head, after, limit - len(records), service.audit)
        records += [record_bytes(public_view(record)) for record in found]
        if found and len(records) == limit:
            return Page(records, cursors.encode(listing, f"{found[-1]['sequence']}:{name}"))
    return Page(records, None)


async def _records(scope: UserScope, head: Envelope, after: int, limit: int, audit: AuditLog) -> Sequence[Record]:
    """The next records after change `after` that are kept; some may be removed while they are read."""
    begins = min(await _begins_after(scope, head, audit), head.commit.sequence - 1)
    while True:
        first = max(after, begins) + 1
        last = min(head.commit.sequence, first + limit - 1)
        try:
            return await read_records(scope, head, first, last, audit=audit)
        except HistoryCorrupt:
            newer = await _begins_after(scope, head, audit)
            if newer <= begins:
                raise
            begins = newer


async def _begins_after(scope: UserScope, head: Envelope, audit: AuditLog) -> int:
    """The change up to which there are no records any more; 0 if all are there."""
    known = (await list_baselines(scope, head.doc_id, audit=audit)).get(head.doc_id)
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
    keys: list[DocumentKey] = []
    cursor: str | None = None
    while True:
        page = await documents.list(scope, start, limit=LISTING, cursor=cursor)
        keys += [row.key for row in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return sorted(keys, key=lambda key: f"{key.namespace}/{key.path}")


def _read_cursor(listing: str, text: str | None) -> tuple[str, int]:
    """Return the document and the number of the change after which the page begins."""
    if text is None:
        return "", 0
    sequence, _, name = cursors.decode(listing, text).partition(":")
    if not (sequence.isascii() and sequence.isdecimal()):
        raise InvalidCursor()
    return name, int(sequence)
