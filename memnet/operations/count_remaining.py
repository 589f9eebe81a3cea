"""Count what is left of a user under a legal hold."""

from collections import Counter
from collections.abc import Sequence

from memnet.domain.document import UserScope
from memnet.domain.erasure import INDEXED, kind_of
from memnet.domain.erasure_receipt import Remainder, held_back
from memnet.operations.count_indexed import count_indexed
from memnet.operations.list_stored import list_stored
from memnet.ports import Erasing


async def count_remaining(scope: UserScope, covers: str, *, erasing: Erasing) -> Sequence[Remainder]:
    """Return it by kind; `covers` is what the hold is on. Messages in queues are not looked at: without the rest they
    come to nothing. Raises Unavailable.
    """
    found = Counter(kind_of(scope, one.name) for one in await list_stored(scope, storage=erasing.storage))
    if erasing.search is not None:
        found[INDEXED] = await count_indexed(scope, search=erasing.search)
    return held_back(+found, covers)
