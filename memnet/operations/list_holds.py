"""List what is held in a tenant."""

from collections.abc import Sequence

from memnet.domain.hold import HoldChange, HoldPlace
from memnet.operations.read_hold import read_hold
from memnet.stores import HoldStore

PAGE = 1000


async def list_holds(tenant_id: str, *, holds: HoldStore) -> Sequence[HoldChange]:
    """Return the holds in force on the tenant and on its users, the tenant's own first, then by user.

    Raises InvalidIdentifier, HistoryBroken, Unavailable.
    """
    places: dict[HoldPlace, None] = {}
    cursor: str | None = None
    while True:
        page = await holds.list_of_tenant(tenant_id, limit=PAGE, cursor=cursor)
        places |= dict.fromkeys(key.place for key in page.items)
        cursor = page.next_cursor
        if cursor is None:
            break
    found = [await read_hold(place, holds=holds) for place in places]
    return [change for change in found if change is not None and change.holds]
