"""Find out which documents' histories begin with a baseline."""

from collections.abc import Mapping

from memnet.domain.document import UserScope
from memnet.stores import AuditLog

PAGE = 1000


async def list_baselines(scope: UserScope, doc_id: str = "", *, audit: AuditLog) -> Mapping[str, list[str]]:
    """Return the change ids of the baselines by document, of one or of all, the newest last. Raises Unavailable.

    There is more than one where an older one has not been removed yet: the newest is the one that counts.
    """
    found: dict[str, list[str]] = {}
    cursor: str | None = None
    while True:
        page = await audit.list_baselines(scope, doc_id, limit=PAGE, cursor=cursor)
        for change_id in page.items:
            of = change_id.rpartition("-")[0]
            if doc_id in ("", of):
                found.setdefault(of, []).append(change_id)
        cursor = page.next_cursor
        if cursor is None:
            return found
