"""The values of an audit record: what of it can tell of a person, and how that is sealed under the user's data key.

A record has two forms. Open, as archives have it, it has all members. As it is stored, its values are one ciphertext:

    { the clear members, "values_hash": SHA-256 of the values, "sealed": { ciphertext, nonce, … } }

The salt among the values keeps the hash from telling what they are. The record's own hash goes over the clear members
and the values' hash: so the chain holds without a key, and for any ciphertext of the values.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import UserScope
from memnet.domain.sealing import sealing
from memnet.domain.sealing.sealing import DataKey, to_base64

RECORD_VERSION = 2
"""The one version that is written and read."""
SALT_BYTES = 32
VALUES = frozenset(
    {
        "ops",
        "ops_hash",
        "content_hash_before",
        "content_hash",
        "note",
        "evidence",
        "redirected",
        "idempotency_key",
        "lineage",
        "request_hash",
        "source_time",
        "values_salt",
    }
)
"""What a person said or did, what can be guessed to be that by its hash, and the salt."""
CLEAR = frozenset(
    {
        "record_version",
        "change_id",
        "sequence",
        "timestamp",
        "actor",
        "reason",
        "tenant_id",
        "user_id",
        "doc_id",
        "namespace",
        "path",
        "binding_id",
        "profile_id",
        "profile_version",
        "profile_sha256",
        "schema_id",
        "schema_version",
        "schema_sha256",
        "pre_etag",
        "post_etag",
        "confidence",
        "previous_record_hash",
        "values_hash",
    }
)
"""Who, when, where and by which rule."""


@dataclass(frozen=True, slots=True)
class AuditRecordLocation:
    """The location of a record, to which its sealed values are bound."""

    scope: UserScope
    change_id: str

    @property
    def blob_name(self) -> str:
        """The name of the record's blob."""
        return f"{self.scope.prefix}audit/{self.change_id}.json"


@dataclass(frozen=True, slots=True)
class Sealing:
    """What the values of one new record are sealed with."""

    data_key: DataKey
    salt: bytes = field(repr=False)
    nonce: bytes


def with_values_hash(members: Record, salt: bytes) -> Record:
    """Return the open record with these members, salted."""
    record = {**members, "record_version": RECORD_VERSION, "values_salt": to_base64(salt)}
    return {**record, "values_hash": values_hash(record)}


def values_hash(record: Record) -> str:
    """The hash of an open record's values. Raises KeyError if it lacks one."""
    return sha256_hex(_values(record))


def hash_input(record: Record) -> Record:
    """Return the members that the record's own hash goes over: all but the values, sealed or not."""
    return {name: value for name, value in record.items() if name not in VALUES and name != "sealed"}


def has_form(record: Record) -> bool:
    """Return whether a record is of the current version and has exactly the members of one of its forms."""
    return record.get("record_version") == RECORD_VERSION and record.keys() in (CLEAR | VALUES, CLEAR | {"sealed"})


def is_sealed(record: Record) -> bool:
    """Whether the values are not there to be read."""
    return "sealed" in record


def data_key_ids(records: Iterable[Record]) -> set[str]:
    """Which data keys open what is sealed in these records; without those of what nothing opens."""
    return {key_id for key_id in map(_data_key_id, filter(is_sealed, records)) if key_id is not None}


def seal(record: Record, place: AuditRecordLocation, *, data_key: DataKey, nonce: bytes) -> Record:
    """Return the form in which an open record is stored at `place`."""
    sealed = sealing.seal(_values(record), place, data_key=data_key, nonce=nonce)
    return {**hash_input(record), "sealed": orjson.loads(sealed)}


def opened(record: Record, place: AuditRecordLocation, keys: Mapping[str, DataKey]) -> Record:
    """The open form of a stored record.

    Raises DecryptionFailed if the key is not among `keys`, the record is of another place, or anything in it was
    altered.
    """
    if not (is_sealed(record) and has_form(record)):
        raise DecryptionFailed()
    data = _sealed(record)
    data_key = keys.get(sealing.sealing_key_id(data))
    if data_key is None:
        raise DecryptionFailed()
    values: Any = orjson.loads(sealing.unseal(data, place, data_key=data_key))
    if (
        not isinstance(values, dict)
        or values.keys() != VALUES
        or sha256_hex(canonical(values)) != record["values_hash"]
    ):
        raise DecryptionFailed()
    return {**hash_input(record), **values}


def public_view(record: Record) -> Record:
    """What of an open record is shown: all but the salt, which would let others find out values by trying."""
    return {name: value for name, value in record.items() if name != "values_salt"}


def _data_key_id(record: Record) -> str | None:
    try:
        return sealing.sealing_key_id(_sealed(record))
    except DecryptionFailed:
        return None


def _values(record: Record) -> bytes:
    return canonical({name: record[name] for name in VALUES})


def _sealed(record: Record) -> bytes:
    return canonical(record["sealed"])
