"""The values of a baseline: what the document held and where it came from, sealed under the user's data key.

In archives a baseline says it in clear. As it is stored, its values are one ciphertext:

    { the clear members, "values_hash": SHA-256 of the values, "sealed": { ciphertext, nonce, … } }

The salt among the values keeps the hash from telling what they are. The clear members' own hash is among them, too:
what a baseline says of its change cannot be altered without the key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import orjson

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.scope import UserScope
from memnet.domain.history.baseline import ORIGINS, Baseline, SealedValues, plaintext_members
from memnet.domain.sealing import sealing
from memnet.domain.sealing.sealing import DataKey, to_base64

VALUES = frozenset({ROOT, ORIGINS, "clear_hash", "values_salt"})


@dataclass(frozen=True, slots=True)
class BaselineLocation:
    """The location of a baseline, which its sealed values are bound to."""

    scope: UserScope
    change_id: str

    @property
    def blob_name(self) -> str:
        """The name to which its values are sealed."""
        return f"{self.scope.prefix}audit/{self.change_id}.baseline"


def seal(baseline: Baseline, place: BaselineLocation, *, data_key: DataKey, salt: bytes, nonce: bytes) -> Baseline:
    """The form in which an open baseline is stored at `place`."""
    values = canonical(
        {
            ROOT: baseline.content,
            ORIGINS: baseline.origins,
            "clear_hash": _clear_hash(baseline),
            "values_salt": to_base64(salt),
        }
    )
    ciphertext = orjson.loads(sealing.seal(values, place, data_key=data_key, nonce=nonce))
    return replace(baseline, content=None, origins=None, sealed=SealedValues(sha256_hex(values), ciphertext))


def opened(baseline: Baseline, place: BaselineLocation, keys: Mapping[str, DataKey]) -> Baseline:
    """Return the open form of a baseline. Raises DecryptionFailed without its key, or if altered or moved."""
    if baseline.sealed is None:
        raise DecryptionFailed()
    sealed = baseline.sealed
    values = sealing.open_values(sealed.ciphertext, place, keys, names=VALUES, values_hash=sealed.values_hash)
    if values["clear_hash"] != _clear_hash(baseline):
        raise DecryptionFailed()
    return replace(baseline, content=values[ROOT], origins=values[ORIGINS], sealed=None)


def data_key_ids(baseline: Baseline) -> set[str]:
    """Return the data key that opens it; none if it is not sealed, or cannot be."""
    return sealing.data_key_ids([] if baseline.sealed is None else [baseline.sealed.ciphertext])


def _clear_hash(baseline: Baseline) -> str:
    return sha256_hex(canonical(plaintext_members(baseline)))
