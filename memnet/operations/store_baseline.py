"""Put a baseline in its place, its content sealed where there is a vault."""

from memnet.domain import baseline as baselines
from memnet.domain import baseline_values
from memnet.domain.audit_values import SALT_BYTES
from memnet.domain.baseline import Baseline
from memnet.domain.baseline_values import BaselinePlace
from memnet.domain.errors import HistoryBroken, Unavailable
from memnet.domain.sealing import NONCE_BYTES
from memnet.operations.open_baseline import open_baseline
from memnet.operations.take_current_key import take_current_key
from memnet.stores import AuditLog, Vault


async def store_baseline(baseline: Baseline, *, audit: AuditLog) -> None:
    """Create the baseline, which is given open; if the same one stands there already, that is success.

    No two ciphertexts are alike: the same is what says the same once it is opened. Raises HistoryBroken if another one
    stands there, or one that does not open; SealBroken if the user's keys do not open, ErasureRunning,
    VaultUnavailable, and Unavailable when the outcome is unknown.
    """
    place = BaselinePlace(baseline.key.scope, baseline.change_id)
    stored = baseline if audit.vault is None else await _sealed(baseline, place, audit.vault)
    try:
        await audit.append_baseline(place.scope, place.change_id, baselines.dump(stored))
    except HistoryBroken:
        data = await audit.read_baseline(place.scope, place.change_id)
        if data is None:
            # A newer one has just taken its place.
            raise Unavailable(dependency="blob_storage") from None
        there = baselines.load(data)
        if there is None:
            raise
        there = await open_baseline(there, place, vault=audit.vault)
        if baselines.dump(there) != baselines.dump(baseline):
            raise


async def _sealed(baseline: Baseline, place: BaselinePlace, vault: Vault) -> Baseline:
    data_key = await take_current_key(place.scope, vault=vault)
    salt, nonce = vault.ids.secret(SALT_BYTES), vault.ids.secret(NONCE_BYTES)
    return baseline_values.seal(baseline, place, data_key=data_key, salt=salt, nonce=nonce)
