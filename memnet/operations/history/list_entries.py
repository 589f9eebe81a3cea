"""List what a user's documents say, entry by entry, each with its origin."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memnet.domain.catalog.catalog import protected_sections
from memnet.domain.core import cursor as cursors
from memnet.domain.core.errors import InvalidCursor
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.domain.history.entries import entries_of
from memnet.domain.history.statements import EntryState
from memnet.domain.recall.entry_uses import Uses
from memnet.domain.recall.importance import live_importance, moment
from memnet.operations.catalog import get_profile
from memnet.operations.history.closed_entries import list_closed
from memnet.operations.history.entry_filter import EntryFilter, ListedEntry
from memnet.operations.history.find_version import find_version
from memnet.paging import bounded
from memnet.ports import Page
from memnet.service import Service
from memnet.stores import StoredHistory

PAGE = 25
"""The maximum number of documents that one page reads, each with a baseline and a segment, or of events."""
AT_ONCE = 4
"""Histories that are read at the same time: each needs the memory of its document and of one segment."""


async def list_entries(
    scope: UserScope, actor: Actor, service: Service, *, only: EntryFilter, limit: int, cursor: str | None
) -> Page[ListedEntry]:
    """Return the entries of up to `limit` documents (25 at most) in name order, then the closed ones in events.

    The origin of an entry is read from one baseline of its document and the records after it, and each link is checked.
    A page may be empty before the end. The uses of a page cost one storage call. Raises ProfileNotFound,
    ProfileForbidden, BindingNotFound, MalformedRequest, InvalidCursor, HistoryCorrupt, VaultUnavailable, Unavailable.
    """
    if only.profile_id is not None:
        await get_profile(only.profile_id, actor, service)
    only.check(service.catalog, actor)
    limit, listing = min(limit, PAGE), f"{scope.prefix} closed entries"
    after = None if cursor is None else _after(listing, cursor)
    if after is not None:
        page = await list_closed(scope, actor, service, only=only, limit=limit, cursor=after or None)
        following = None if page.next_cursor is None else cursors.encode(listing, page.next_cursor)
    else:
        page = await _of_documents(scope, actor, service, only, limit, cursor)
        following = page.next_cursor
        if following is None and EntryState.CLOSED in only.states:
            # The events follow; they have a page of their own.
            following = cursors.encode(listing, "")
    return Page(await _with_uses(scope, page.items, service), following)


async def _with_uses(scope: UserScope, listed: Sequence[ListedEntry], service: Service) -> Sequence[ListedEntry]:
    found = await service.usage.read(scope) if listed else {}
    now = service.clock.now()
    return [_with_use(entry, found.get(entry.key, {}), now) for entry in listed]


def _with_use(entry: ListedEntry, counted: Mapping[str, Uses], now: datetime) -> ListedEntry:
    said = entry.said
    used = None if said.entry_id is None else counted.get(said.entry_id)
    uses, last = (0, None) if used is None else (used.uses, used.last_used_at)
    since = moment(last or said.validity.valid_from or said.last_verified_at)
    live = None if said.importance is None else round(live_importance(said.importance, uses, since, now), 4)
    return replace(entry, uses=None if said.entry_id is None else uses, last_used_at=last, live_importance=live)


def _after(listing: str, cursor: str) -> str | None:
    """Return the position among the events, "" for their beginning; None: the cursor is one of the documents."""
    try:
        return cursors.decode(listing, cursor)
    except InvalidCursor:
        return None


async def _of_documents(
    scope: UserScope, actor: Actor, service: Service, only: EntryFilter, limit: int, cursor: str | None
) -> Page[ListedEntry]:
    page = await service.documents.list(scope, "", limit=limit, cursor=cursor)
    named = {row.key: only.covering(service.catalog, row.key, actor) for row in page.items if not row.summary.deleted}
    wanted = [key for key, covering in named.items() if covering or not only.is_by_rules]
    histories = await service.audit.histories(scope) if wanted else {}

    async def entries(key: DocumentKey) -> Sequence[ListedEntry]:
        stored = await service.documents.get(key)
        current = envelope.load(stored.data) if stored else None
        if current is None or current.deleted:
            return []
        history = histories.get(current.doc_id, StoredHistory())
        sequence = current.commit.sequence
        found = await find_version(key, current, sequence, service, is_traced=True, history=history)
        if found.origins is None or found.origins.content is None:
            return []
        pending = protected_sections(service.catalog, key).pending
        said = entries_of(found.origins.content, named[key], pending, actor)
        return [ListedEntry(key, current.commit.etag, one) for one in said if only.takes(one)]

    found = await bounded(entries, wanted, at_once=AT_ONCE)
    return Page([entry for of_document in found for entry in of_document], page.next_cursor)
