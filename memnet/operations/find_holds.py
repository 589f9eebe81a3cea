"""Find the legal holds that cover a user: what retention and erasure ask before they remove anything."""

import asyncio

from memnet.domain.document import UserScope
from memnet.domain.hold import HoldChange, places_over
from memnet.operations.read_hold import read_hold
from memnet.stores import HoldStore


async def find_holds(scope: UserScope, *, holds: HoldStore) -> tuple[HoldChange, ...]:
    """Return the holds that are in force over the user, its own first, then the tenant's; empty if there is none.

    Raises HistoryBroken, Unavailable.
    """
    newest = await asyncio.gather(*(read_hold(place, holds=holds) for place in places_over(scope)))
    return tuple(change for change in newest if change is not None and change.holds)
