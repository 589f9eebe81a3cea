"""List what happened to a user's documents: the audit records themselves."""

from collections.abc import Sequence

from memnet.domain import cursor as cursors
from memnet.domain import envelope
from memnet.domain.audit import record_bytes
from memnet.domain.document import DocumentKey, UserScope
from memnet.domain.errors import InvalidCursor, MalformedRequest
from memnet.domain.identifiers import check_identifier
from memnet.operations.read_records import read_records
from memnet.ports import AuditLog, DocumentStore, Page

LISTING = 1000


async def list_audit(
    scope: UserScope,
    *,
    namespace: str | None,
    path: str | None,
    limit: int,
    cursor: str | None,
    documents: DocumentStore,
    audit: AuditLog,
) -> Page[bytes]:
    """Return up to `limit` records as JSON: document by document in name order, each in the order it happened.

    Deleted documents are included. Narrowed by `namespace`, or by `namespace` and `path`. Raises InvalidIdentifier,
    InvalidCursor, MalformedRequest for a path without a namespace, HistoryBroken, Unavailable.
    """
    listing = f"{scope.prefix}audit of {namespace or '*'}/{path or '*'}"
    after_name, after_sequence = _read_cursor(listing, cursor)
    records: list[bytes] = []
    for key in await _keys(scope, namespace, path, documents):
        name = f"{key.namespace}/{key.path}"
        if name < after_name:
            continue
        stored = await documents.get(key)
        if stored is None:
            continue
        head = envelope.load(stored.data)
        first = after_sequence + 1 if name == after_name else 1
        last = min(head.commit.sequence, first + limit - len(records) - 1)
        records += [record_bytes(r) for r in await read_records(scope, head, first, last, audit=audit)]
        if len(records) == limit:
            return Page(records, cursors.encode(listing, f"{last}:{name}"))
    return Page(records, None)


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
    """The document and the change after which to go on."""
    if text is None:
        return "", 0
    sequence, _, name = cursors.decode(listing, text).partition(":")
    if not (sequence.isascii() and sequence.isdecimal()):
        raise InvalidCursor()
    return name, int(sequence)
