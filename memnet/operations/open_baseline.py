"""Open what a document's history begins with."""

from memnet.domain import baseline_values
from memnet.domain.baseline import VALUES_DO_NOT_OPEN, Baseline
from memnet.domain.baseline_values import BaselinePlace
from memnet.domain.errors import HistoryBroken, SealBroken, VaultUnavailable
from memnet.operations.open_data_keys import open_data_keys
from memnet.stores import Vault


async def open_baseline(baseline: Baseline, place: BaselinePlace, *, vault: Vault | None) -> Baseline:
    """Return the open form of a baseline that stands at `place`; one that is open takes no key.

    Raises HistoryBroken with its change if it does not open there, VaultUnavailable, also where it is sealed and there
    is no vault, and Unavailable.
    """
    if baseline.sealed is None:
        return baseline
    if vault is None:
        raise VaultUnavailable()
    keys = await open_data_keys(place.scope, baseline_values.data_key_ids(baseline), vault=vault)
    try:
        return baseline_values.opened(baseline, place, keys)
    except SealBroken as error:
        raise HistoryBroken(change_id=place.change_id, reason=VALUES_DO_NOT_OPEN) from error
