"""Read what last happened to the legal hold on a place."""

from memnet.domain import hold as hold_records
from memnet.domain.errors import HistoryBroken
from memnet.domain.hold import HoldChange, HoldKey, HoldPlace
from memnet.ports import HoldStore

PAGE = 1000


async def read_hold(place: HoldPlace, *, holds: HoldStore) -> HoldChange | None:
    """Return the newest change, which says whether the place is held; None if there never was a hold.

    Raises HistoryBroken if it cannot be read, Unavailable: from neither may anyone conclude that there is no hold.
    """
    newest: HoldKey | None = None
    cursor: str | None = None
    while True:
        page = await holds.list(place, limit=PAGE, cursor=cursor)
        newest = page.items[-1] if page.items else newest
        cursor = page.next_cursor
        if cursor is None:
            break
    if newest is None:
        return None
    data = await holds.read(newest)
    if data is None:
        raise HistoryBroken("A stored legal hold is gone.", hold=newest.blob_name)
    return hold_records.load(newest, data)
