"""A document with a pending section whose changes are decided and taken over in memory."""

from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from memnet.domain.catalog.catalog import Catalog, ProtectedSections, WriteRules, protected_sections
from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, Json
from memnet.domain.documents.commands import ConfirmPending, IfExists, IfMatch, Redirection, RejectPending
from memnet.domain.documents.confirmation import decide_confirmation, decide_rejection
from memnet.domain.documents.write_decision import decide_maintenance, decide_patch
from tests.domain.samples import EVIDENCE, KEY, NOW, patch_command, small_rules, version_with

READER = Actor("svc-bob", frozenset({"Memory.Read", "Memory.Write"}))
LATER = datetime(2026, 6, 1, tzinfo=UTC)
FACT = {
    "type": "object",
    "required": ["text"],
    "properties": {
        "id": {"type": "string"},
        "mark": {"type": "integer"},
        "text": {"type": "string"},
        "confidence": {"type": "number"},
        "evidence": {"type": "object"},
        "last_verified_at": {"type": "string", "format": "date"},
    },
}
SCHEMA = {
    "properties": {
        "facts": {"type": "array", "items": FACT},
        "likes": {"type": "array", "items": {"type": "string"}},
        "home": {"type": "string"},
        "waiting": {"type": "array", "items": {"type": "object"}},
    }
}
MERGED = {"merge": True, "stale_after_days": 30}
PROFILE: dict[str, Any] = {
    "durable_sections": {"b": ["/facts", "/likes", "/home"]},
    "pending_sections": {"b": "/waiting"},
    "confidence_rules": {"min_confidence_for_durable_fact": 0.8},
    "upkeep_rules": {"b": [{"section": "/waiting", "merge": True}, {"section": "/facts", **MERGED}]},
    "binding": {"initial_content": {"facts": [], "likes": [], "home": "Bern", "waiting": []}},
}


@dataclass
class Memory:
    """A document whose changes are decided and taken over, without a store."""

    content: Json
    rules: WriteRules
    number: int = 0
    catalog: Catalog = field(init=False)

    def __post_init__(self) -> None:
        schema = self.rules.schema
        self.catalog = Catalog({"p": self.rules.profile}, {(schema.schema_id, schema.version): schema})
        self.head = version_with(self.rules, self.content)

    def patch(self, *ops: Any, sure: float = 0.9, **members: Any) -> tuple[Redirection, ...]:
        """Patch as Alice, and return what was redirected."""
        self.number += 1
        chosen = {"precondition": IfMatch(self.head.commit.etag), "confidence": sure, "evidence": EVIDENCE} | members
        command = patch_command(*deepcopy(ops), **chosen)
        made = decide_patch(command, self.rules, self._now(), proposed_at=NOW, proposal_id=f"w{self.number}")
        self.content = made.content
        return made.redirected

    def propose(self, *ops: Any, **members: Any) -> str:
        """Propose as Alice, and return the id of the item."""
        return str(self.patch(*ops, sure=0.1, **members)[0]["pending_id"])

    def confirm(self, pending_id: str, actor: Actor = READER, **members: Any) -> Any:
        """Confirm as another, and return the change."""
        claim: dict[str, Any] = {"confidence": 0.95, "evidence": {"event_id": "e1"}}
        asked: dict[str, Any] = {"key": KEY, "actor": actor, "precondition": IfExists(), "idempotency_key": "k"}
        command = ConfirmPending(pending_id=pending_id, **asked | claim | members)
        made = decide_confirmation(command, self.catalog, self._now(), now="2026-06-01T00:00:00.000000Z")
        self.content = made.content
        return made

    def reject(self, pending_id: str, actor: Actor = READER, note: str | None = None) -> Any:
        """Reject, and return the change."""
        command = RejectPending(
            key=KEY, actor=actor, precondition=IfExists(), idempotency_key="k", pending_id=pending_id, note=note
        )
        made = decide_rejection(command, self.catalog, self._now())
        self.content = made.content
        return made

    def tend(self, planner: Any) -> None:
        """Run upkeep."""
        around: ProtectedSections = protected_sections(self.catalog, KEY, self.head.commit.etag)
        plan = planner(self.content, self.rules, around, LATER)
        if plan.ops:
            command = patch_command(*plan.ops, reason=Reason.COMPACTION)
            self.content = decide_maintenance(command, self.rules, self._now()).content

    def _now(self) -> Any:
        return replace(self.head, content=deepcopy(self.content))


def memory(**sections: Any) -> Memory:
    profile = {name: value for name, value in sections.items() if name in ("confirmed_by", "allowed_principals")}
    content = {"facts": [], "likes": [], "home": "Bern", "waiting": []}
    content |= {name: value for name, value in sections.items() if name not in profile}
    return Memory(content, small_rules(schema=SCHEMA, **PROFILE, **profile))


def fact(name: str, **members: Any) -> dict[str, Any]:
    return {"id": f"id-{name}", "text": name, **members}


ABCD = [fact(name) for name in "abcd"]


def texts(subject: Memory) -> list[str]:
    return [one["text"] for one in subject.content["facts"]]
