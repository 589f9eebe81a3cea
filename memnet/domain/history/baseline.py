"""A baseline: a document as one change left it, from which the next segment of its history continues.

It holds the content and where each of its values comes from (memnet.domain.history.origin_table).

It is derived from the records alone, so any process derives the same one. The next record confirms it: it names the
hash of the change's record, its ETag and the hash of its content. It has two forms, as a record has: open, as archives
have it, and with its content sealed, as it is stored (memnet.domain.history.baseline_values).
"""

from dataclasses import dataclass
from typing import Any

import orjson

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.retention_policy import ruled_by
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.json_types import members_of
from memnet.domain.core.scope import DocumentKey, ETag, Json, UserScope
from memnet.domain.documents.audit_record import BrokenChain, Fold, Version
from memnet.domain.documents.envelope import change_id
from memnet.domain.documents.write_decision import NO_CONTENT_HASH
from memnet.domain.history.origin_table import dump_origins, load_origins
from memnet.domain.history.origins import Origins

BASELINE_VERSION = 3
"""The one version that is written and read."""
ORIGINS = "origins"
VALUES_DO_NOT_OPEN = "the values of the baseline do not open"
_TEXTS = ("record_hash", "etag", "timestamp", "actor", "schema_id", "schema_version", "created_at", "doc_id")
_NUMBERS = ("sequence", "created_sequence")
_OPTIONAL = ("profile_id", "schema_sha256")


@dataclass(frozen=True, slots=True)
class SealedValues:
    """The values of a baseline as they are stored: what they have to hash to, and their ciphertext."""

    values_hash: str
    ciphertext: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The state of a document after one change, and the members of that change that the chain continues from."""

    key: DocumentKey
    doc_id: str
    sequence: int
    record_hash: str
    """The hash of the change's record: what the next record names."""
    etag: ETag
    """The ETag that the change gave; a deletion gives one, too."""
    timestamp: str
    actor: str
    schema_id: str
    schema_version: str
    schema_sha256: str | None
    created_at: str
    created_sequence: int
    profile_id: str | None
    """By whose rule the change was kept."""
    deleted: bool
    content: Json = None
    origins: Json = None
    """The origins of the content's values, in their compact form; None of a deleted document."""
    sealed: SealedValues | None = None
    """Content and origins, if they were not opened: then it is unknown what the document held."""

    @property
    def change_id(self) -> str:
        """The name of the change, and so of the baseline."""
        return change_id(self.doc_id, self.sequence)

    @property
    def is_sealed(self) -> bool:
        """Whether its content is still sealed."""
        return self.sealed is not None

    @property
    def content_hash(self) -> str:
        """The hash that the next record names for the content before it."""
        return NO_CONTENT_HASH if self.deleted else sha256_hex(canonical(self.content))

    def version(self) -> Version:
        """The version it holds; without a document if its content was not opened."""
        is_unknown = self.deleted or self.is_sealed
        return Version(
            change=members_of(self),
            etag=self.etag,
            created_at=self.created_at,
            created_sequence=self.created_sequence,
            record_hash=self.record_hash,
            content=None if is_unknown else canonical(self.content),
        )

    def fold(self) -> Fold:
        """A fold that takes the next record. Raises BrokenChain if its content was not opened."""
        if self.sealed is not None:
            raise BrokenChain(self.change_id, VALUES_DO_NOT_OPEN)
        return Fold(
            self.doc_id,
            sequence=self.sequence,
            previous_hash=self.record_hash,
            etag=None if self.deleted else self.etag,
            content_hash=self.content_hash,
            created_at=self.created_at,
            created_sequence=self.created_sequence,
            # A copy: a fold patches what it holds.
            state=None if self.deleted else orjson.loads(canonical(self.content)),
            is_vouched=False,
        )

    def tree(self) -> Origins:
        """The origins of its values, which the changes after it continue. Raises BrokenChain if they are none."""
        if self.sealed is not None:
            raise BrokenChain(self.change_id, VALUES_DO_NOT_OPEN)
        if self.deleted:
            return Origins(sequence=self.sequence)
        try:
            return Origins(load_origins(self.origins, self.content), sequence=self.sequence)
        except ValueError as error:
            raise BrokenChain(self.change_id, "the origins of the baseline are not those of its content") from error


def baseline_of(key: DocumentKey, version: Version, profile_id: str | None, origins: Origins) -> Baseline:
    """The baseline of the change that made `version` and left `origins`."""
    record = version.change
    return Baseline(
        key=key,
        doc_id=record["doc_id"],
        sequence=version.sequence,
        record_hash=version.record_hash,
        etag=version.etag,
        timestamp=version.timestamp,
        actor=record["actor"],
        schema_id=record["schema_id"],
        schema_version=record["schema_version"],
        schema_sha256=record["schema_sha256"],
        # The records of a deleted document do not show when it was created.
        created_at="" if version.content is None else version.created_at,
        created_sequence=version.created_sequence,
        profile_id=profile_id,
        deleted=version.content is None,
        content=None if version.content is None else orjson.loads(version.content),
        origins=None if origins.content is None else dump_origins(origins.content),
    )


class Deriving:
    """Derives the baselines of a document from its records, given as verified versions one after the other."""

    def __init__(self, key: DocumentKey, before: Baseline | None) -> None:
        """Begin with the baseline `before` the records, if any. Raises BrokenChain if it has no origins."""
        self._key = key
        self._origins = Origins() if before is None else before.tree()
        self._profile_id = None if before is None else before.profile_id
        self._version: Version | None = None

    @property
    def sequence(self) -> int:
        """The change whose baseline it can derive; 0 before the first record."""
        return 0 if self._version is None else self._version.sequence

    def take(self, version: Version) -> None:
        """Take the next version; that of the baseline itself changes nothing."""
        if version.sequence > self._origins.sequence:
            record = dict(version.change)
            self._profile_id = ruled_by(record, self._profile_id)
            self._origins.take(record)
        self._version = version

    def baseline(self) -> Baseline:
        """Return the baseline of the newest version."""
        if self._version is None:
            raise BrokenChain(self._key.blob_name, "there is no version")
        return baseline_of(self._key, self._version, self._profile_id, self._origins)


def plaintext_members(baseline: Baseline) -> dict[str, Any]:
    """Return the members that are stored in plain text: who, when, where, by which rule."""
    return {
        **members_of(baseline, "key", "content", "origins", "sealed"),
        "baseline_version": BASELINE_VERSION,
        "change_id": baseline.change_id,
        "tenant_id": baseline.key.scope.tenant_id,
        "user_id": baseline.key.scope.user_id,
        "namespace": baseline.key.namespace,
        "path": baseline.key.path,
    }


def dump(baseline: Baseline) -> bytes:
    """Write it, in the form in which it is."""
    members = plaintext_members(baseline)
    if baseline.sealed is not None:
        of_values = {"values_hash": baseline.sealed.values_hash, "sealed": baseline.sealed.ciphertext}
        return canonical({**members, **of_values})
    members["content_hash"] = baseline.content_hash
    if not baseline.deleted:
        members |= {ROOT: baseline.content, ORIGINS: baseline.origins}
    return canonical(members)


def load(data: bytes) -> Baseline | None:
    """Read what `dump` wrote, in either form; None for any other bytes."""
    try:
        members = orjson.loads(data)
        baseline = Baseline(
            key=DocumentKey(UserScope(members["tenant_id"], members["user_id"]), members["namespace"], members["path"]),
            content=members.get(ROOT),
            origins=members.get(ORIGINS),
            sealed=_sealed(members),
            **{name: members[name] for name in (*_TEXTS, *_NUMBERS, *_OPTIONAL, "deleted")},
        )
        return baseline if _is_typed(members) and dump(baseline) == data else None
    except (ValueError, KeyError, TypeError, AttributeError, InvalidIdentifier):
        return None


def _sealed(members: dict[str, Any]) -> SealedValues | None:
    if "sealed" not in members:
        return None
    if not isinstance(members["values_hash"], str):
        raise TypeError
    return SealedValues(members["values_hash"], members["sealed"])


def _is_typed(members: dict[str, Any]) -> bool:
    """Check the types of the members that nothing else checks."""
    is_text = all(isinstance(members[name], str) for name in _TEXTS)
    is_number = all(type(members[name]) is int for name in _NUMBERS)
    is_optional = all(isinstance(members[name], str | None) for name in _OPTIONAL)
    return is_text and is_number and is_optional and isinstance(members["deleted"], bool)
