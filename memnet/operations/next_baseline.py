"""Work out where a document's history has to begin."""

from memnet.domain.audit import BrokenChain, Fold, check_head
from memnet.domain.baseline import Baseline, baseline_of
from memnet.domain.document import DocumentKey
from memnet.domain.envelope import Envelope, Record
from memnet.domain.errors import HistoryBroken
from memnet.domain.history import check_place
from memnet.domain.retention import count_due, ruled_by
from memnet.operations.read_records import read_records
from memnet.operations.remove_due import RetentionRun
from memnet.stores import AuditLog

READ = 64
"""The most records that are read at once to find the first one that stays."""


async def next_baseline(
    key: DocumentKey, head: Envelope, before: Baseline | None, *, run: RetentionRun, audit: AuditLog
) -> Baseline | None:
    """Return the baseline for all records that are over: `before` itself if none is, None if there is none at all.

    Every record it stands for is folded, and what comes after it, the next record or the document, vouches for the
    outcome. Nothing is written. Raises HistoryBroken if the history does not hold, VaultUnavailable,
    Unavailable.
    """
    try:
        return await _next(key, head, before, run, audit)
    except BrokenChain as error:
        raise HistoryBroken(change_id=error.change_id, reason=error.reason) from error
    except (KeyError, TypeError) as error:
        raise HistoryBroken("A record lacks a member or has one of another type.") from error


async def _next(
    key: DocumentKey, head: Envelope, before: Baseline | None, run: RetentionRun, audit: AuditLog
) -> Baseline | None:
    fold = Fold(head.doc_id) if before is None else before.fold()
    if before is not None and before.key != key:
        raise BrokenChain(before.change_id, "the baseline speaks of another document")
    found, profile_id, size = before, before.profile_id if before else None, 1
    following: Record | None = None
    while following is None and fold.sequence < head.commit.sequence:
        first = fold.sequence + 1
        records = await read_records(key.scope, head, first, min(first + size - 1, head.commit.sequence), audit=audit)
        due = count_due(records, profile_id, run.policy, run.as_of)
        for record in records[:due]:
            version = fold.take(record)
            check_place(record, version, key)
            profile_id = ruled_by(record, profile_id)
            found = baseline_of(key, record, version, profile_id)
        following = records[due] if due < len(records) else None
        # Mostly nothing is over, and the first record says so.
        size = min(2 * size, READ)
    if found is None:
        return None
    if following is None:
        check_head(fold, head)
    else:
        fold.take(following)
    return found
