"""Count what is left of a user under a legal hold."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from memnet.domain.core.scope import UserScope
from memnet.domain.governance.erasure import COPIES, INDEXED, kind_of
from memnet.domain.governance.erasure_receipt import Remainder, recoverable, withheld
from memnet.operations.events.count_indexed import count_indexed
from memnet.paging import rows
from memnet.service import Service


async def count_remaining(scope: UserScope, covers: str, service: Service) -> Sequence[Remainder]:
    """Return it by kind, and what was deleted and can be recovered; `covers` is what the hold is on. Messages in queues
    are not looked at: without the rest they come to nothing. Raises Unavailable.
    """
    stored = [found async for found in rows(partial(service.user_storage.list, scope))]
    there = [one for one in stored if one.kept_until is None]
    found = Counter(COPIES if one.copy else kind_of(scope, one.name) for one in there)
    found[INDEXED] = await count_indexed(scope, search=service.search)
    return [*withheld(+found, covers), *recoverable(scope, stored)]
