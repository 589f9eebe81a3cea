"""Read what is kept of a document's history: its baseline, if it has one, and the records after it."""

from collections.abc import Sequence

from memnet.domain.baseline import Baseline
from memnet.domain.document import UserScope
from memnet.domain.envelope import Envelope, Record
from memnet.domain.errors import HistoryBroken
from memnet.operations.read_baseline import read_baseline
from memnet.operations.read_records import read_records
from memnet.stores import AuditLog


async def read_history(
    scope: UserScope, head: Envelope, last: int, *, audit: AuditLog
) -> tuple[Baseline | None, Sequence[Record]]:
    """Return the baseline and the records after it, up to change `last`; without a baseline from the first on.

    Old records may be removed meanwhile: then a newer baseline stands for them, which is begun with. Raises
    HistoryBroken with a record that is missing or not what was written, VaultUnavailable, Unavailable.
    """
    baseline = await read_baseline(scope, head.doc_id, audit=audit)
    while True:
        first = 1 if baseline is None else baseline.sequence + 1
        try:
            return baseline, await read_records(scope, head, first, last, audit=audit)
        except HistoryBroken:
            newer = await read_baseline(scope, head.doc_id, audit=audit)
            if newer is None or (baseline is not None and newer.sequence <= baseline.sequence):
                raise
            baseline = newer
