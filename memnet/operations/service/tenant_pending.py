"""List the questions that a tenant decides, across its users: found by their marks, never by listing users."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.confirmation import Waiting, waiting
from memnet.domain.documents.question_choice import Shown, shown_by
from memnet.domain.governance.waiting import WaitingKind, WaitingMark, kind_of
from memnet.operations.service.marked import look_at_marked
from memnet.paging import bounded
from memnet.ports import Page
from memnet.service import Service

PAGE = 25
"""The users that one page looks at: each costs one listing, and one read for each of its marked documents."""


@dataclass(frozen=True, slots=True)
class TenantQuestion:
    """A question that the tenant decides, its document, and the entry that it asks about."""

    key: DocumentKey
    etag: ETag
    waiting: Waiting
    existing: Shown | None
    """None: the entry that the question shows is not open any more."""


async def list_tenant_pending(
    tenant_id: str, service: Service, *, limit: int, cursor: str | None
) -> Page[TenantQuestion]:
    """Return the pending items that the tenant decides, of up to `limit` users (25 at most) in name order.

    The cost follows what waits or did wait for the tenant, and not the number of users. A page may be empty before the
    end. Raises InvalidIdentifier, InvalidCursor, Unavailable.
    """
    kind, bound = WaitingKind.QUESTION, min(limit, PAGE)
    users = await service.waiting.list_users(tenant_id, kind, limit=bound, cursor=cursor)
    found = await bounded(partial(_of_user, service), users.items)
    return Page([question for of_user in found for question in of_user], users.next_cursor)


async def _of_user(service: Service, scope: UserScope) -> Sequence[TenantQuestion]:
    found = await look_at_marked(scope, WaitingKind.QUESTION, partial(_of_document, service), service)
    return [question for of_document in found.waits for question in of_document]


async def _of_document(service: Service, mark: WaitingMark) -> Sequence[TenantQuestion] | None:
    """Return the questions of a marked document; None if there are none. Raises HistoryCorrupt."""
    namespace, _, path = mark.item.partition("/")
    key = DocumentKey(mark.scope, namespace, path)
    stored = await service.documents.get(key)
    current = envelope.load(stored.data) if stored else None
    if current is None or current.deleted:
        return None
    content, etag = current.content, current.commit.etag
    items = [one for one in waiting(service.catalog, key, content) if kind_of(one.item) is WaitingKind.QUESTION]
    return [TenantQuestion(key, etag, one, shown_by(service.catalog, key, one.item, content)) for one in items] or None
