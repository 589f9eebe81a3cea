"""Open the values of a user's stored audit records."""

from collections.abc import Mapping, Sequence

from memnet.domain import audit_values
from memnet.domain.audit_values import RecordPlace
from memnet.domain.document import UserScope
from memnet.domain.envelope import Record
from memnet.domain.errors import HistoryBroken, SealBroken, VaultUnavailable
from memnet.operations.open_data_keys import open_data_keys
from memnet.stores import Vault


async def open_audit_records(
    scope: UserScope, records: Mapping[str, Record], *, vault: Vault | None
) -> Sequence[Record]:
    """Return the open form of records, given by the change whose place they stand in; the keys are opened once.

    Raises HistoryBroken with the first change whose record does not open there, VaultUnavailable, also where a record
    is sealed and there is no vault, and Unavailable.
    """
    if not any(map(audit_values.must_be_sealed, records.values())):
        return list(records.values())
    if vault is None:
        raise VaultUnavailable()
    keys = await open_data_keys(scope, audit_values.data_key_ids(records.values()), vault=vault)
    opened = []
    for change_id, record in records.items():
        if audit_values.must_be_sealed(record):
            try:
                opened.append(audit_values.opened(record, RecordPlace(scope, change_id), keys))
            except SealBroken as error:
                reason = "the values of the record do not open"
                raise HistoryBroken(change_id=change_id, reason=reason) from error
        else:
            opened.append(record)
    return opened
