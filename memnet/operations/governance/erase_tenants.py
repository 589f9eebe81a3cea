"""Go on with all erasures of tenants that run: what a timer does."""

import logging
from collections import Counter

from memnet.domain.core.errors import HistoryCorrupt, Unavailable
from memnet.operations.governance.erase_tenant import erase_tenant
from memnet.operations.governance.erase_user import Erased
from memnet.service import Service

log = logging.getLogger(__name__)


async def erase_tenants(service: Service) -> Counter[Erased]:
    """Run each as far as it gets; return how many came how far. One that fails does not stop the others.

    Raises Unavailable if they cannot be listed.
    """
    found = Counter[Erased]()
    for tenant_id in await service.erasures.list_ending():
        try:
            found[await erase_tenant(tenant_id, service)] += 1
        except (Unavailable, HistoryCorrupt) as error:
            log.error("tenant_erasure_failed tenant=%s error=%s", tenant_id, error.code)
            found[Erased.FAILING] += 1
        except Exception:
            log.exception("the erasure of a tenant failed unexpectedly")
            found[Erased.FAILING] += 1
    return found
