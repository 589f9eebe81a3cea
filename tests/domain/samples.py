"""Commands, rules and histories for the tests: the shipped profiles, and one small profile that may be bent."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from memnet.catalog import load_catalog
from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.access import Reason
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import Actor, DocumentKey, Json, UserScope
from memnet.domain.documents import audit_record, audit_values, commit
from memnet.domain.documents.audit_values import SALT_BYTES, AuditRecordLocation, Sealing
from memnet.domain.documents.commands import (
    DeleteDocument,
    IfAbsent,
    IfMatch,
    PatchDocument,
    Precondition,
    ReplaceDocument,
    WriteCommand,
)
from memnet.domain.documents.envelope import Envelope, dump, load
from memnet.domain.documents.write_decision import Decision, decide_deletion, decide_patch, decide_replacement
from memnet.domain.sealing.sealing import NONCE_BYTES, DataKey, from_base64

ROOT = Path(__file__).resolve().parents[2]
CATALOG = load_catalog(ROOT / "profiles", ROOT / "schemas", ROOT / "prompts")
SCOPE = UserScope("t1", "u1")
EVIDENCE = {"conversation_id": "c1", "message_ids": ["m1"]}
NOW = "2026-02-14T20:00:00.000000Z"
ALICE, BOB = Actor("svc-alice", frozenset()), Actor("svc-bob", frozenset())
ANYTHING = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "memnet:any:1.0.0", "type": "object"}
KEY = DocumentKey(SCOPE, "n", "d.json")


def op(verb: str, path: str, **members: Any) -> dict[str, Any]:
    """One operation; `from_` stands for the member `from`."""
    if "from_" in members:
        members["from"] = members.pop("from_")
    return {"op": verb, "path": path, **members}


def patch_command(*ops: Any, **members: Any) -> PatchDocument:
    """A live patch of the small document by Alice, unless `members` say otherwise."""
    chosen: dict[str, Any] = {
        "key": KEY,
        "actor": ALICE,
        "precondition": IfAbsent(),
        "idempotency_key": "k",
        "profile_id": "p",
        "binding_id": "b",
        "ops": list(ops),
        "reason": Reason.LIVE_UPDATE,
    }
    return PatchDocument(**chosen | members)


def replace_command(content: Json, **members: Any) -> ReplaceDocument:
    """A PUT of the small document."""
    chosen: dict[str, Any] = {
        "key": KEY,
        "actor": ALICE,
        "precondition": IfAbsent(),
        "idempotency_key": "k",
        "profile_id": "p",
        "binding_id": "b",
        "schema_id": "any",
        "schema_version": "1.0.0",
        "content": content,
    }
    return ReplaceDocument(**chosen | members)


def delete_command(precondition: Precondition, **members: Any) -> DeleteDocument:
    """A DELETE of the small document."""
    chosen: dict[str, Any] = {"key": KEY, "actor": ALICE, "precondition": precondition, "idempotency_key": "k"}
    return DeleteDocument(**chosen | members)


def small_rules(*, schema: Json = None, binding: dict[str, Any] | None = None, **profile: Any) -> WriteRules:
    """A profile of one binding without any limit that is in the way; `profile` and `binding` replace members."""
    body: dict[str, Any] = {
        "profile_id": "p",
        "document_bindings": [
            {
                "binding_id": "b",
                "namespace": "n",
                "path": "d.json",
                "schema_id": "any",
                "schema_version": "1.0.0",
                "max_chars": 1_000_000,
                "read_priority": 1,
                **(binding or {}),
            }
        ],
        "writable_path_rules": {"b": [""]},
        "max_ops": 1000,
    }
    made = Profile.model_validate_json(orjson.dumps(body | profile))
    return WriteRules(made, made.document_bindings[0], Schema.compile("any", "1.0.0", {**ANYTHING, **(schema or {})}))


LENIENT = small_rules()


def shipped_rules(profile_id: str, binding_id: str) -> WriteRules:
    """The rules of a shipped profile's binding."""
    profile = CATALOG.profile(profile_id)
    binding = profile.binding(binding_id)
    assert binding is not None
    return WriteRules(profile, binding, CATALOG.schema(binding.schema_id, binding.schema_version))


def shipped_command(profile_id: str, binding_id: str, *ops: Any, **members: Any) -> PatchDocument:
    """A live patch by Alice under a shipped profile; a template's variable is x1."""
    key = shipped_rules(profile_id, binding_id).binding.resolve(SCOPE, "x1")
    return patch_command(*ops, **{"key": key, "profile_id": profile_id, "binding_id": binding_id} | members)


DATA_KEY = DataKey("key-0", bytes(range(32)))
SEALING = Sealing(DATA_KEY, bytes(SALT_BYTES), bytes(NONCE_BYTES))


def open_record(record: Record, data_key: DataKey) -> Record:
    """The open form of a stored record."""
    return audit_values.opened(record, AuditRecordLocation(SCOPE, record["change_id"]), {data_key.key_id: data_key})


def altered(record: Record, **members: Any) -> Record:
    """An open record with other members, whose values fit in themselves."""
    return audit_values.with_values_hash({**record, **members}, from_base64(record["values_salt"]))


@dataclass
class History:
    """One document's life, change by change, as the operations would make it."""

    rules: WriteRules = field(default_factory=small_rules)
    records: list[Record] = field(default_factory=list)
    versions: list[bytes] = field(default_factory=list)
    """The blob after each change."""
    data_key: DataKey | None = None
    """What seals the records from now on; None: a key of no account, and `records` are kept open."""

    @property
    def head(self) -> Envelope:
        """The current version."""
        return load(self.versions[-1])

    def write(self, command: WriteCommand, now: str = NOW) -> Envelope:
        """Decide and commit; every record counts as flushed."""
        head = self.head if self.versions else None
        salt = len(self.versions).to_bytes(SALT_BYTES, "big")
        version = commit.next_version(
            head,
            command,
            self.decide(command, head),
            now=now,
            new_doc_id="doc-1",
            flushed=len(self.versions),
            sealing=Sealing(self.data_key or DATA_KEY, salt, salt[-NONCE_BYTES:]),
        )
        self.versions.append(dump(version))
        stored = orjson.loads(audit_record.record_bytes(version.commit.outbox[-1]))
        self.records.append(stored if self.data_key else open_record(stored, DATA_KEY))
        return self.head

    def opened(self) -> list[Record]:
        """The records in their open form."""
        key = self.data_key
        return [open_record(record, key) for record in self.records] if key else self.records

    def decide(self, command: WriteCommand, head: Envelope | None) -> Decision:
        """What the operation's `decide` does."""
        if isinstance(command, PatchDocument):
            return decide_patch(command, self.rules, head, proposed_at=NOW, proposal_id=f"p{len(self.versions)}")
        if isinstance(command, ReplaceDocument):
            return decide_replacement(command, self.rules, head)
        assert isinstance(command, DeleteDocument)
        assert head is not None
        return decide_deletion(command, head)

    def patch(self, *ops: Any, now: str = NOW, **members: Any) -> Envelope:
        """Patch the newest version, each time under a new key."""
        precondition = IfMatch(self.head.commit.etag) if self.versions and not self.head.deleted else IfAbsent()
        chosen = {"precondition": precondition, "idempotency_key": f"k{len(self.versions) + 1}"}
        return self.write(patch_command(*ops, **chosen | members), now)

    def delete(self, **members: Any) -> Envelope:
        """Delete the newest version."""
        chosen = {"idempotency_key": f"k{len(self.versions) + 1}"}
        return self.write(delete_command(IfMatch(self.head.commit.etag), **chosen | members))


def draft(rules: WriteRules, command: PatchDocument, content: Json = None) -> Decision:
    """Decide a patch over a document with this content; without one, of a document to be created."""
    head = None if content is None else version_with(rules, content)
    return decide_patch(command, rules, head, proposed_at=NOW, proposal_id="proposal")


def version_with(rules: WriteRules, content: Json) -> Envelope:
    """A first version that was put in place whatever the rules say of its content."""
    made = decide_replacement(replace_command(content), LENIENT, None)
    version = commit.next_version(
        None, replace_command(content), made, now=NOW, new_doc_id="doc-1", flushed=0, sealing=SEALING
    )
    members = orjson.loads(dump(version))
    members |= {"schema_id": rules.schema.schema_id, "schema_version": rules.schema.version}
    return load(orjson.dumps(members))
