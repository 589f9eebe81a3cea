"""Whether anything is stored about a user: a misspelt id is refused instead of being given a record."""

from functools import partial

from memnet.domain.core.scope import UserScope
from memnet.domain.governance.erasure import kind_of
from memnet.paging import rows
from memnet.service import Service

BATCH = 64


async def is_known(scope: UserScope, service: Service) -> bool:
    """Return whether anything but keys and marks is stored about a user. Raises Unavailable."""
    async for found in rows(partial(service.user_storage.list, scope), BATCH):
        is_current = found.kept_until is None and not found.copy
        if is_current and kind_of(scope, found.name) not in ("keys", "marks"):
            return True
    return False
