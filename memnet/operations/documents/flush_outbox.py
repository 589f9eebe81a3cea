"""Give committed records their place in audit/."""

from collections.abc import Sequence

from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import UserScope
from memnet.domain.documents.audit_record import record_bytes
from memnet.stores import AuditLog


async def flush_outbox(scope: UserScope, records: Sequence[Record], *, audit: AuditLog) -> None:
    """Append records of a committed version that are not known to stand there; any number of times, by anyone.

    Only what a confirmed read or write of the document held may be passed: an attempt that was not committed must
    leave no record. Raises HistoryCorrupt, Unavailable.
    """
    for record in records:
        if not audit.stands(scope, record["change_id"]):
            await audit.append(scope, record["change_id"], record_bytes(record))
