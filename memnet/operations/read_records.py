"""Read the audit records of one document in the order they happened."""

from collections.abc import Sequence

from memnet.domain.document import UserScope
from memnet.domain.envelope import Envelope, Record
from memnet.operations.open_audit_records import open_audit_records
from memnet.operations.read_stored_records import read_stored_records
from memnet.stores import AuditLog


async def read_records(scope: UserScope, head: Envelope, first: int, last: int, *, audit: AuditLog) -> Sequence[Record]:
    """Return the records of changes `first` to `last`, opened, those still in the document's outbox included.

    Raises HistoryBroken with a record that is missing, is not what was written or does not open, VaultUnavailable,
    Unavailable.
    """
    stored = await read_stored_records(scope, head, first, last, audit=audit)
    return await open_audit_records(scope, stored, vault=audit.vault)
