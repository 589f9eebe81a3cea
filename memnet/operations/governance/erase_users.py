"""Go on with all erasures that run: what a timer does."""

import asyncio
import logging
from collections import Counter

from memnet.domain.core.errors import HistoryCorrupt, Unavailable
from memnet.domain.core.scope import UserScope
from memnet.operations.governance.erase_user import Erased, erase_user
from memnet.service import Service

AT_ONCE = 4
log = logging.getLogger(__name__)


async def erase_users(tenant_id: str | None, service: Service) -> Counter[Erased]:
    """Run every erasure of a tenant, or of all, as far as it gets; return how many came how far.

    One that fails does not stop the others. It may run beside itself. Raises InvalidIdentifier, Unavailable if the
    fences cannot be listed.
    """
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(scope: UserScope) -> Erased:
        async with gate:
            try:
                return await erase_user(scope, service)
            except (Unavailable, HistoryCorrupt) as error:
                # Not whose: a log outlives an erasure.
                log.error("erasure_failed tenant=%s error=%s", scope.tenant_id, error.code)
            except Exception:
                log.exception("an erasure failed in a way that nobody thought of")
            return Erased.FAILING

    scopes = sorted(await service.erasures.erasing(tenant_id), key=lambda scope: scope.prefix)
    return Counter(await asyncio.gather(*map(one, scopes)))
