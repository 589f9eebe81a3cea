"""Read what a document's history begins with."""

from memnet.domain import baseline as baselines
from memnet.domain.baseline import Baseline
from memnet.domain.baseline_values import BaselinePlace
from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken
from memnet.operations.list_baselines import list_baselines
from memnet.operations.open_baseline import open_baseline
from memnet.stores import AuditLog


async def read_baseline(scope: UserScope, doc_id: str, *, audit: AuditLog) -> Baseline | None:
    """Return the document's newest baseline, opened; None if its history begins with its first record.

    Nothing vouches for it yet but its own form. Raises HistoryBroken for any other bytes, or if it does not open,
    VaultUnavailable, Unavailable.
    """
    while True:
        known = (await list_baselines(scope, doc_id, audit=audit)).get(doc_id)
        if not known:
            return None
        data = await audit.read_baseline(scope, known[-1])
        if data is None:
            # A newer one has taken its place.
            continue
        found = baselines.load(data)
        if found is None or found.change_id != known[-1] or found.key.scope != scope:
            raise HistoryBroken("The document's baseline cannot be read.", change_id=known[-1])
        return await open_baseline(found, BaselinePlace(scope, found.change_id), vault=audit.vault)
