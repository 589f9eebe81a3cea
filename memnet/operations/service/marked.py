"""Look at what a user's marks name, and remove the marks that are not needed any more."""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.waiting import WaitingKind, WaitingMark
from memnet.paging import bounded
from memnet.service import Service

MARKS = 100
"""The marks of a user that one request looks at, the oldest hour first."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Marked(Generic[T]):
    """What the marks of a user name and what waits, in the order of the marks."""

    waits: list[T]
    is_complete: bool
    """False: the user has more marks than one request looks at."""


async def look_at_marked(
    scope: UserScope, kind: WaitingKind, look: Callable[[WaitingMark], Awaitable[T | None]], service: Service
) -> Marked[T]:
    """Return what `look` finds for each item that the marks of a user name; None: it does not wait.

    One mark of an item that waits is enough, so the later ones are removed, and all of an item that does not wait; but
    only settled marks, because another one may announce a write. The marks of an item that cannot be read stay. Costs
    one listing, and what `look` costs for each item. Raises Unavailable.
    """
    page = await service.waiting.list(scope, kind, limit=MARKS)
    marks = defaultdict[str, list[WaitingMark]](list)
    for mark in page.items:
        marks[mark.item].append(mark)
    now = service.clock.now()
    waits: list[T] = []
    spare: list[WaitingMark] = []

    async def look_at(of_item: list[WaitingMark]) -> tuple[T | None, list[WaitingMark]]:
        try:
            found = await look(of_item[0])
        except HistoryCorrupt:
            return None, []
        return found, of_item if found is None else of_item[1:]

    for found, unneeded in await bounded(look_at, list(marks.values())):
        waits += [] if found is None else [found]
        spare += [mark for mark in unneeded if mark.is_settled(now)]
    await service.waiting.remove(spare)
    return Marked(waits, page.next_cursor is None)
