"""What `Rebuilding` finds in records that are all at hand, with every version."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents.audit_record import Fold, Version
from memnet.domain.documents.envelope import Envelope
from memnet.domain.history.baseline import Baseline, baseline_of
from memnet.domain.history.origins import Origins
from memnet.domain.history.reconstruction import Rebuilding
from tests.domain.samples import KEY


@dataclass(frozen=True)
class Found:
    """What was found, and the versions up to the first fault."""

    fault: str | None
    versions: list[Version]


def rebuild(
    doc_id: str,
    key: DocumentKey | None,
    records: Sequence[Record],
    head: Envelope | None,
    baseline: Baseline | None = None,
    **options: Any,
) -> Found:
    """Rebuild a document from opened records."""
    versions: list[Version] = []
    rebuilding = Rebuilding(doc_id, key, head, baseline, visits=[versions.append], **options)
    for record in records:
        rebuilding.take(record)
    found = rebuilding.finish()
    assert (found.changes, found.fault is not None) == (len(versions), rebuilding.is_over)
    return Found(found.fault, versions)


def baseline_after(
    records: Sequence[Record], number: int, profile_id: str | None, *, key: DocumentKey = KEY
) -> Baseline:
    """Return the baseline of the n-th change, from the records up to it."""
    fold, origins = Fold(records[0]["doc_id"]), Origins()
    for record in records[:number]:
        version = fold.take(record)
        origins.take(record)
    return baseline_of(key, version, profile_id, origins)
