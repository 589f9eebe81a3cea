"""List, confirm and reject pending items: proposed changes that wait for another principal."""

from collections.abc import Sequence
from dataclasses import dataclass

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.errors import DocumentNotFound
from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import ConfirmPending, RejectPending, WriteResult
from memnet.domain.documents.confirmation import Waiting, decide_confirmation, decide_rejection, waiting
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.question_choice import Shown, shown_by
from memnet.domain.documents.write_decision import Decision
from memnet.operations.documents.write import commit_governed
from memnet.paging import bounded
from memnet.ports import Page
from memnet.service import Service

PAGE = 25
"""The maximum number of documents that one page reads: each is read as a whole."""


@dataclass(frozen=True, slots=True)
class ListedPending:
    """A pending item, its document and the version in which it was read."""

    key: DocumentKey
    etag: ETag
    waiting: Waiting
    existing: Shown | None
    """Of a question: the open entry that it shows; None: it is not open any more."""


async def list_pending(scope: UserScope, service: Service, *, limit: int, cursor: str | None) -> Page[ListedPending]:
    """Return the pending items of up to `limit` documents (25 at most) in name order.

    A page may be empty before the end. Raises InvalidCursor, HistoryCorrupt, Unavailable.
    """

    async def items(key: DocumentKey) -> Sequence[ListedPending]:
        stored = await service.documents.get(key)
        current = envelope.load(stored.data) if stored else None
        if current is None or current.deleted:
            return []
        etag, content = current.commit.etag, current.content
        found = waiting(service.catalog, key, content)
        return [ListedPending(key, etag, one, shown_by(service.catalog, key, one.item, content)) for one in found]

    page = await service.documents.list(scope, "", limit=min(limit, PAGE), cursor=cursor)
    found = await bounded(items, [row.key for row in page.items if not row.summary.deleted], at_once=PAGE)
    return Page([item for of_document in found for item in of_document], page.next_cursor)


async def confirm_pending(command: ConfirmPending, service: Service) -> WriteResult:
    """Apply the operation of a pending item to the current version, exactly once, and remove the item.

    Raises what `decide_confirmation` and `commit_change` raise; then nothing has changed.
    """

    def decide(known: Catalog, current: Envelope | None) -> Decision:
        if current is None:
            raise DocumentNotFound()
        return decide_confirmation(command, known, current, now=to_text(service.clock.now()))

    return await commit_governed(command, decide, service)


async def reject_pending(command: RejectPending, service: Service) -> WriteResult:
    """Remove a pending item, exactly once. Nothing else changes.

    Raises what `decide_rejection` and `commit_change` raise; then nothing has changed.
    """

    def decide(known: Catalog, current: Envelope | None) -> Decision:
        if current is None:
            raise DocumentNotFound()
        return decide_rejection(command, known, current)

    return await commit_governed(command, decide, service)
