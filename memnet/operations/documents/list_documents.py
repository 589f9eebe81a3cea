"""List a user's documents."""

from memnet.domain.core.identifiers import check_identifier, check_path_prefix
from memnet.domain.core.scope import UserScope
from memnet.ports import Page
from memnet.stores import DocumentStore, ListedDocument


async def list_documents(
    scope: UserScope,
    *,
    namespace: str | None,
    prefix: str | None,
    limit: int,
    cursor: str | None,
    documents: DocumentStore,
) -> Page[ListedDocument]:
    """Return up to `limit` documents in name order; `prefix` is of the path, within `namespace` or any namespace.

    Deleted documents are left out, so a page may be short; it is empty only at the end. Raises InvalidIdentifier,
    InvalidCursor, Unavailable.
    """
    start = ""
    if namespace is not None:
        start = f"{check_identifier('namespace', namespace)}/"
    if prefix:
        start += check_path_prefix(prefix)
    while True:
        page = await documents.list(scope, start, limit=limit, cursor=cursor)
        rows = [row for row in page.items if not row.summary.deleted]
        if rows or page.next_cursor is None:
            return Page(rows, page.next_cursor)
        cursor = page.next_cursor
