"""The values of a baseline: what the document held, and how that is sealed under the user's data key.

In archives a baseline says it in clear. As it is stored, its values are one ciphertext:

    { the clear members, "values_hash": SHA-256 of the values, "sealed": { ciphertext, nonce, … } }

The salt among the values keeps the hash from telling what they are. The clear members' own hash is among them, too:
what a baseline says of its change cannot be altered without the key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from memnet.domain import sealing
from memnet.domain.baseline import Baseline, SealedValues, clear_members
from memnet.domain.document import UserScope
from memnet.domain.errors import SealBroken
from memnet.domain.json_text import canonical, digest
from memnet.domain.path_policy import ROOT
from memnet.domain.sealing import DataKey, to_base64

VALUES = frozenset({ROOT, "clear_hash", "values_salt"})


@dataclass(frozen=True, slots=True)
class BaselinePlace:
    """Where a baseline stands, or will stand: what its values open at."""

    scope: UserScope
    change_id: str

    @property
    def blob_name(self) -> str:
        """The name of the baseline's blob."""
        return f"{self.scope.prefix}baselines/{self.change_id}.json"


def seal(baseline: Baseline, place: BaselinePlace, *, data_key: DataKey, salt: bytes, nonce: bytes) -> Baseline:
    """The form in which an open baseline is stored at `place`."""
    members = {ROOT: baseline.content, "clear_hash": _clear_hash(baseline), "values_salt": to_base64(salt)}
    values = canonical(members)
    ciphertext = orjson.loads(sealing.seal(values, place, data_key=data_key, nonce=nonce))
    return replace(baseline, content=None, sealed=SealedValues(digest(values), ciphertext))


def opened(baseline: Baseline, place: BaselinePlace, keys: Mapping[str, DataKey]) -> Baseline:
    """Return the open form of a baseline that is stored at `place`.

    Raises SealBroken if the baseline is not sealed, the key is not among `keys`, the baseline is of another place, or
    anything in it was altered.
    """
    if baseline.sealed is None:
        raise SealBroken()
    data = canonical(baseline.sealed.ciphertext)
    data_key = keys.get(sealing.sealing_key_id(data))
    if data_key is None:
        raise SealBroken()
    text = sealing.unseal(data, place, data_key=data_key)
    values: Any = orjson.loads(text)
    if not isinstance(values, dict) or values.keys() != VALUES or digest(text) != baseline.sealed.values_hash:
        raise SealBroken()
    if values["clear_hash"] != _clear_hash(baseline):
        raise SealBroken()
    return replace(baseline, content=values[ROOT], sealed=None)


def data_key_ids(baseline: Baseline) -> set[str]:
    """Return the data key that opens it; none if it is not sealed, or cannot be."""
    if baseline.sealed is None:
        return set()
    try:
        return {sealing.sealing_key_id(canonical(baseline.sealed.ciphertext))}
    except SealBroken:
        return set()


def _clear_hash(baseline: Baseline) -> str:
    return digest(canonical(clear_members(baseline)))
