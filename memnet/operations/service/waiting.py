"""List what waits for a person across the users of a tenant, from marks alone."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from memnet.domain.core import cursor as cursors
from memnet.domain.core.errors import HistoryCorrupt, InvalidCursor
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.documents import envelope
from memnet.domain.documents.confirmation import waiting
from memnet.domain.governance import erasure as erasures
from memnet.domain.governance import retraction as retractions
from memnet.domain.governance.retraction import retraction_key
from memnet.domain.governance.waiting import WaitingKind, WaitingMark, kind_of, waiting_in
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay import replay as replays
from memnet.domain.replay.conflict import ConflictStatus, conflict_key
from memnet.domain.replay.replay import ReplayStatus, replay_key
from memnet.operations.replay.jobs import find_due_job
from memnet.operations.service.marked import look_at_marked
from memnet.paging import bounded
from memnet.ports import Page
from memnet.service import Service

PAGE = 25
"""The users that one request looks at; each costs one listing, and one read for each of its items."""
RUNNING = "running"
SOURCES = (*WaitingKind, RUNNING)
"""The lists behind the list, in their order: the marks of each kind, then the running erasures."""


@dataclass(frozen=True, slots=True)
class Open:
    """What waits in an item: how many things, and since when."""

    count: int
    since: str


async def list_waiting(
    tenant_id: str, service: Service, *, kind: WaitingKind | None, limit: int, cursor: str | None
) -> Page[dict[str, Any]]:
    """Return what waits for a person, of one kind or of all, with one row for each user and kind.

    Only marked users are read, 25 for a request; marks of what no longer waits are removed. A page may be short or
    empty. Raises InvalidIdentifier, InvalidCursor, Unavailable.
    """
    listing = f"{waiting_in(tenant_id, kind or WaitingKind.PENDING)} {kind}"
    number, inner = _position(listing, cursor)
    rows: list[dict[str, Any]] = []
    budget = min(limit, PAGE)
    while number < len(SOURCES) and budget > 0:
        source = SOURCES[number]
        following = None
        if kind in (None, source) or (kind is WaitingKind.ERASURE and source == RUNNING):
            page = await _users(tenant_id, source, service, limit=budget, cursor=inner)
            found = await bounded(partial(_row, source, service), page.items)
            rows += [row for row in found if row is not None]
            budget, following = budget - len(page.items), page.next_cursor
        number, inner = (number, following) if following is not None else (number + 1, None)
    return Page(rows, cursors.encode(listing, f"{number}:{inner or ''}") if number < len(SOURCES) else None)


def _position(listing: str, cursor: str | None) -> tuple[int, str | None]:
    """Which source to continue with, and where in it."""
    if cursor is None:
        return 0, None
    number, _, inner = cursors.decode(listing, cursor).partition(":")
    if not (number.isascii() and number.isdecimal() and int(number) < len(SOURCES)):
        raise InvalidCursor()
    return int(number), inner or None


async def _users(tenant_id: str, source: str, service: Service, *, limit: int, cursor: str | None) -> Page[UserScope]:
    if source == RUNNING:
        return await service.erasures.list_erasing(tenant_id, limit=limit, cursor=cursor)
    return await service.waiting.list_users(tenant_id, WaitingKind(source), limit=limit, cursor=cursor)


async def _row(source: str, service: Service, scope: UserScope) -> dict[str, Any] | None:
    if source == RUNNING:
        return await _running(scope, service)
    kind = WaitingKind(source)
    found = await look_at_marked(scope, kind, lambda mark: LOOKS[mark.kind](mark, service), service)
    if not found.waits:
        return None
    since = min(item.since for item in found.waits)
    row: dict[str, Any] = {"kind": kind.value, "user_id": scope.user_id, "since": since}
    row |= {"count": sum(item.count for item in found.waits), "complete": found.is_complete}
    return row | ({"status": "partial"} if kind is WaitingKind.ERASURE else {})


async def _running(scope: UserScope, service: Service) -> dict[str, Any] | None:
    stored = await service.erasures.read(scope)
    if stored is None:
        return None
    since: str | None = None  # of a record that cannot be read
    with suppress(HistoryCorrupt):
        since = erasures.load(scope, stored.data).accepted_at
    row: dict[str, Any] = {"kind": WaitingKind.ERASURE.value, "user_id": scope.user_id, "since": since}
    return row | {"count": 1, "complete": True, "status": "running"}


async def _pending(mark: WaitingMark, service: Service) -> Open | None:
    """Look for the pending items of the mark's kind."""
    namespace, _, path = mark.item.partition("/")
    key = DocumentKey(mark.scope, namespace, path)
    stored = await service.documents.get(key)
    current = envelope.load(stored.data) if stored else None
    if current is None or current.deleted:
        return None
    items = [one.item for one in waiting(service.catalog, key, current.content)]
    found = [item.get("proposed_at") for item in items if kind_of(item) is mark.kind]
    times = [at for at in found if isinstance(at, str)]
    return Open(len(found), min(times, default=to_text(mark.began))) if found else None


async def _conflict(mark: WaitingMark, service: Service) -> Open | None:
    stored = await service.records.read(conflict_key(mark.scope, mark.item))
    conflict = conflicts.load(stored.data) if stored else None
    is_open = conflict is not None and conflict.status is ConflictStatus.OPEN
    return Open(1, conflict.created_at) if conflict is not None and is_open else None


async def _failed_replay(mark: WaitingMark, service: Service) -> Open | None:
    stored = await service.records.read(replay_key(mark.scope, mark.item))
    replay = replays.load(stored.data) if stored else None
    return Open(1, replay.updated_at) if replay is not None and replay.status is ReplayStatus.FAILED else None


async def _withheld(mark: WaitingMark, service: Service) -> Open | None:
    """Look whether anything of the user is stored: an erasure that a hold has prevented must be requested again."""
    return Open(1, to_text(mark.began)) if await service.upkeep.has_data(mark.scope) else None


async def _dead_letter(mark: WaitingMark, service: Service) -> Open | None:
    """Look whether the record of the job still cannot be read."""
    kind, _, job_id = mark.item.partition("/")
    job = Job(JobKind(kind), mark.scope.tenant_id, mark.scope.user_id, job_id)
    try:
        await find_due_job(job, service)
    except HistoryCorrupt:
        return Open(1, to_text(mark.began))
    return None


async def _retraction(mark: WaitingMark, service: Service) -> Open | None:
    """Look whether a retraction waits for its application, or has failed."""
    stored = await service.records.read(retraction_key(mark.scope, mark.item))
    retraction = retractions.load(stored.data) if stored else None
    return Open(1, retraction.updated_at) if retraction is not None and retraction.waits else None


LOOKS: Mapping[WaitingKind, Callable[[WaitingMark, Service], Awaitable[Open | None]]] = MappingProxyType(
    {
        WaitingKind.PENDING: _pending,
        WaitingKind.QUESTION: _pending,
        WaitingKind.CONFLICT: _conflict,
        WaitingKind.FAILED_REPLAY: _failed_replay,
        WaitingKind.ERASURE: _withheld,
        WaitingKind.DEAD_LETTER: _dead_letter,
        WaitingKind.RETRACTION: _retraction,
    }
)
