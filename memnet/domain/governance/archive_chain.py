"""The history of a document in an archive: each record is checked against the one before it or the baseline."""

from collections import deque
from dataclasses import dataclass, field

import orjson
from pydantic import ValidationError

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.canonical_json import MAX_DEPTH, canonical, check_depth
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import DocumentKey, Json
from memnet.domain.documents.audit_record import BrokenChain, Fold, Version, read_record, record_bytes
from memnet.domain.documents.commit import MAX_RECEIPTS, applied_request
from memnet.domain.documents.envelope import AppliedRequest, Commit, Envelope, Position, change_id
from memnet.domain.governance.archive import ArchivedDocument
from memnet.domain.history import baseline as baselines
from memnet.domain.history.baseline import Baseline

Texts = dict[tuple[str, str], str | None]
"""The SHA-256 of each version of a profile or schema, by id and version; None: only deletions name the version."""


@dataclass
class Chain:
    """Reads the records of the document `key` from the first that is stored to the last."""

    key: DocumentKey
    doc_id: str
    profiles: Texts = field(default_factory=dict)
    schemas: Texts = field(default_factory=dict)
    """The versions that its records name. Chains that share these are checked against each other."""
    records: int = 0

    def __post_init__(self) -> None:
        self.fold = Fold(self.doc_id)
        self._applied: deque[AppliedRequest] = deque(maxlen=MAX_RECEIPTS)
        self._written_by: tuple[str | None, str | None] = (None, None)
        self._newest: Version | None = None
        self._schema: tuple[str, str] = ("", "")
        self._actor = ""

    def read(self, data: bytes) -> Record | Baseline:
        """Read the next line of the archive. Raises BrokenChain."""
        baseline = baselines.load(data) if self._newest is None else None
        if baseline is not None:
            self.begin(baseline)
            return baseline
        record = read_record(data)
        if record is None:
            raise BrokenChain(self._next, "the record is not in the form that memnet writes")
        self.add(record)
        return record

    def begin(self, baseline: Baseline) -> bytes:
        """Begin with a baseline; return its bytes. Raises BrokenChain, also if it is sealed or has no origins."""
        if (baseline.key, baseline.doc_id) != (self.key, self.doc_id):
            raise BrokenChain(self._next, "the baseline is of another document")
        if baseline.sequence < 1:
            raise BrokenChain(self._next, "the baseline has no sequence")
        baseline.tree()
        self.fold, self._newest = baseline.fold(), baseline.version()
        self._note(baseline.schema_id, baseline.schema_version, baseline.schema_sha256, baseline.actor)
        self.records += 1
        return baselines.dump(baseline)

    def add(self, record: Record) -> bytes:
        """Add the next record; return its bytes. Raises BrokenChain."""
        location = tuple(record.get(name) for name in ("tenant_id", "user_id", "namespace", "path"))
        if location != (self.key.scope.tenant_id, self.key.scope.user_id, self.key.namespace, self.key.path):
            raise BrokenChain(self._next, "the record is of another document")
        named = self._next
        try:
            version = self.fold.take(record)
            self._applied.append(applied_request(self.key, record))
            self._note(record["schema_id"], record["schema_version"], record["schema_sha256"], record["actor"])
            if record["profile_id"] is not None:
                version_of = (record["profile_id"], record["profile_version"])
                self._note_text(self.profiles, version_of, record["profile_sha256"])
                self._written_by = (record["profile_id"], record["binding_id"])
        except (KeyError, TypeError, ValueError) as error:
            raise BrokenChain(named, "the record lacks a member or has one of another type") from error
        self._newest = version
        self.records += 1
        return record_bytes(record)

    def row(self) -> ArchivedDocument:
        """Return the document's row of the manifest. Raises BrokenChain without a record, or with an unknown one."""
        if not self.fold.is_vouched:
            raise BrokenChain(change_id(self.doc_id, self.fold.sequence), "the record is missing")
        newest = self._version()
        profile_id, binding_id = self._written_by
        try:
            return ArchivedDocument(
                doc_id=self.doc_id,
                namespace=self.key.namespace,
                path=self.key.path,
                etag=newest.etag,
                sequence=newest.sequence,
                updated_at=newest.timestamp,
                deleted=newest.content is None,
                schema_id=self._schema[0],
                schema_version=self._schema[1],
                record_hash=newest.record_hash,
                profile_id=profile_id,
                binding_id=binding_id,
            )
        except ValidationError as error:
            raise BrokenChain(newest.change_id, "the record has a member of another type") from error

    def document(self) -> bytes:
        """Return the line of the document's file. Raises BrokenChain without a record."""
        newest = self._version()
        return canonical(
            {
                "doc_id": self.doc_id,
                "namespace": self.key.namespace,
                "path": self.key.path,
                "etag": newest.etag,
                "sequence": newest.sequence,
                "document": newest.document,
            }
        )

    def envelope(self, stored: Record, position: Position) -> Envelope:
        """Return the document's blob; `stored` is its newest record as it is stored at `position`.

        Raises BrokenChain without a record.
        """
        newest = self._version()
        return Envelope(
            doc_id=self.doc_id,
            schema_id=self._schema[0],
            schema_version=self._schema[1],
            created_at=self.fold.created_at,
            updated_at=newest.timestamp,
            updated_by=self._actor,
            content=None if newest.content is None else orjson.loads(newest.content),
            deleted=newest.content is None,
            commit=Commit(
                sequence=newest.sequence,
                etag=newest.etag,
                record_hash=self.fold.previous_hash,
                created_sequence=newest.created_sequence,
                outbox=(stored,),
                position=position,
                receipts=tuple(self._applied),
            ),
        )

    @property
    def _next(self) -> str:
        return change_id(self.doc_id, self.fold.sequence + 1)

    def _version(self) -> Version:
        if self._newest is None:
            raise BrokenChain(self._next, "the record is missing")
        return self._newest

    def _note(self, schema_id: str, schema_version: str, schema_sha256: str | None, actor: str) -> None:
        texts = all(isinstance(text, str) for text in (schema_id, schema_version, actor))
        if not (texts and isinstance(schema_sha256, str | None)):
            raise BrokenChain(self._next, "the record has a member of another type")
        self._schema, self._actor = (schema_id, schema_version), actor
        self._note_text(self.schemas, self._schema, schema_sha256)

    def _note_text(self, known: Texts, version: tuple[str, str], sha256: str | None) -> None:
        if None not in (sha256, known.get(version)) and known[version] != sha256:
            raise BrokenChain(self._next, f"{'/'.join(version)} has two texts")
        known[version] = sha256 or known.get(version)


def is_valid(content: Json, schema: Schema) -> bool:
    """Return whether the service could have written this content."""
    try:
        check_depth({ROOT: content}, MAX_DEPTH)
    except MalformedRequest:
        return False
    return not schema.violations(content)
