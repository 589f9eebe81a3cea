"""A document with statements, whose changes are decided in memory, and the intervals that they leave."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

from memnet.domain.catalog.catalog import Catalog, WriteRules
from memnet.domain.catalog.profile import Profile
from memnet.domain.core.access import Reason, Role
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import apply
from memnet.domain.core.scope import Actor, ETag, Json
from memnet.domain.documents.commands import ConfirmPending, IfExists, IfMatch, RejectPending, Settled
from memnet.domain.documents.confirmation import decide_confirmation, decide_rejection
from memnet.domain.documents.write_decision import Decision, decide_maintenance, decide_patch, decide_replacement
from tests.domain.samples import ALICE, BOB, KEY, op, patch_command, replace_command, small_rules, version_with

MOMENT: dict[str, Any] = {"type": ["string", "null"], "format": "date-time"}
STATEMENT: dict[str, Any] = {
    "type": "object",
    "required": ["subject", "attribute"],
    "properties": {
        **{name: {"type": "string"} for name in ("id", "text", "subject", "attribute", "breed", "colour")},
        **{name: {"type": ["string", "null"]} for name in ("aspect", "value", "claimed_by", "replaces", "replaced_by")},
        "confidence": {"type": "number"},
        "importance": {"type": "number"},
        "evidence": {"type": "object"},
        "valid_from": MOMENT,
        "valid_until": MOMENT,
        "last_verified_at": {"type": "string", "format": "date-time"},
        "expires_at": {"type": "string", "format": "date-time"},
    },
}
SCHEMA: dict[str, Any] = {
    "properties": {
        "facts": {"type": "array", "items": STATEMENT},
        "notes": {"type": "array"},
        "waiting": {"type": "array", "items": {"type": "object"}},
    }
}
STATEMENTS: dict[str, Any] = {
    "about": ["subject", "attribute", "aspect"],
    "value_field": "value",
    "from_field": "valid_from",
    "until_field": "valid_until",
    "replaces_field": "replaces",
    "replaced_field": "replaced_by",
    "several": {"attribute": ["owns", "Knows"]},
    "question": "Earlier: {old} Now: {new} Which holds?",
    "decides": "user",
}
SERVICE = Actor("svc-worker", frozenset())


def day(number: int) -> str:
    """Noon of a day in 2026."""
    return f"2026-01-{number:02}T12:00:00.000000Z"


def statement_rules(*, pending: bool = True, upkeep: dict[str, Any] | None = None, **statements: Any) -> WriteRules:
    """The rules of a section `facts`; `statements` replace members of its statement rules."""
    rule = {"section": "/facts", "merge": True, "expires_field": "expires_at", "statements": STATEMENTS | statements}
    rule["trim_by"], rule["keep"] = [{"field": "importance"}], 100
    profile: dict[str, Any] = {"upkeep_rules": {"b": [rule | (upkeep or {})]}}
    if pending:
        profile["pending_sections"] = {"b": "/waiting"}
    initial: dict[str, Json] = {"facts": [], "notes": [], "waiting": []}
    return small_rules(schema=SCHEMA, binding={"initial_content": initial}, **profile)


def fact(value: str | None = "Lisbon", **members: Any) -> dict[str, Any]:
    """Where the user lives, unless `members` say otherwise."""
    found = {"subject": "user", "attribute": "lives in", "value": value, "text": f"User lives in {value}."} | members
    return {name: member for name, member in found.items() if member is not None}


@dataclass
class Statements:
    """A document whose changes are decided and applied without a store."""

    rules: WriteRules = field(default_factory=statement_rules)
    content: Json = None
    number: int = 0
    others: dict[str, Profile] = field(default_factory=dict)
    """Profiles of other products, by id."""

    def __post_init__(self) -> None:
        self.content = self.content or {"facts": [], "notes": [], "waiting": []}
        self.settled: tuple[Settled, ...] = ()
        self.decision: Decision | None = None

    @property
    def facts(self) -> list[dict[str, Any]]:
        """The entries."""
        return list(self.content["facts"])

    @property
    def waiting(self) -> list[dict[str, Any]]:
        """The pending items."""
        return list(self.content["waiting"])

    def open(self) -> list[Any]:
        """The values of the open entries."""
        return sorted(entry["value"] for entry in self.facts if not entry.get("valid_until"))

    def of(self, value: str) -> dict[str, Any]:
        """The last entry with this value."""
        return [entry for entry in self.facts if entry.get("value") == value][-1]

    def patch(self, *ops: Any, at: int | str | None = None, by: Actor = ALICE, **members: Any) -> list[Settled]:
        """Apply a patch that was stated `at` a day, and return its verdicts."""
        self.number += 1
        said = day(at) if isinstance(at, int) else at
        chosen: dict[str, Any] = {"source_time": said, "actor": by, "idempotency_key": f"k{self.number}"}
        chosen["precondition"] = IfMatch(ETag("any"))
        command = patch_command(*ops, **(chosen | members))
        head = version_with(self.rules, self.content)
        self._take(
            decide_patch(command, self.rules, head, proposed_at=day(30), proposal_id=f"p{self.number}"),
        )
        return list(self.settled)

    def say(self, value: str | None, at: int | str | None = None, **members: Any) -> Settled:
        """Add a statement, and return its verdict. `members` of a command are those of its entry, but for `by`."""
        by = members.pop("by", ALICE)
        own = {"evidence": {"conversation_id": f"c{self.number}"}} | members
        (settled,) = self.patch(op("add", "/content/facts/-", value=fact(value, **own)), at=at, by=by)
        return settled

    def confirm(self, pending_id: str, by: Actor = BOB, now: str | None = None, **members: Any) -> list[Settled]:
        """Confirm a pending item on the last day of the month, unless `now` is given; `members` are of the command."""
        self.number += 1
        command = ConfirmPending(
            key=KEY,
            actor=replace(by, roles=by.roles or frozenset({Role.WRITE, Role.READ})),
            precondition=IfExists(),
            idempotency_key=f"confirm-{self.number}",
            pending_id=pending_id,
            **{"confidence": 0.9, "evidence": {"conversation_id": "confirmation"}, **members},
        )
        self._take(
            decide_confirmation(command, self._catalog(), version_with(self.rules, self.content), now=now or day(31))
        )
        return list(self.settled)

    def reject(self, pending_id: str, by: Actor = BOB) -> None:
        """Reject a pending item."""
        self.number += 1
        command = RejectPending(
            key=KEY,
            actor=replace(by, roles=by.roles or frozenset({Role.WRITE, Role.READ})),
            precondition=IfExists(),
            idempotency_key=f"reject-{self.number}",
            pending_id=pending_id,
        )
        self._take(decide_rejection(command, self._catalog(), version_with(self.rules, self.content)))

    def admit(self, *principals: str) -> None:
        """Let only these principals use the profile."""
        profile = self.rules.profile.model_copy(update={"allowed_principals": principals})
        self.rules = WriteRules(profile, self.rules.binding, self.rules.schema)

    def product(self, profile_id: str, *principals: str) -> Profile:
        """Return the same profile of another product."""
        update = {"profile_id": profile_id, "allowed_principals": principals}
        return self.rules.profile.model_copy(update=update)

    def _catalog(self) -> Catalog:
        schema = self.rules.schema
        return Catalog({"p": self.rules.profile, **self.others}, {(schema.schema_id, schema.version): schema})

    def put(self, content: Json) -> None:
        """Replace the content."""
        self._take(decide_replacement(replace_command(content), self.rules, version_with(self.rules, self.content)))

    def tend(self, *ops: Any) -> None:
        """Apply a patch of upkeep."""
        command = patch_command(*ops, reason=Reason.COMPACTION, actor=SERVICE)
        self._take(decide_maintenance(command, self.rules, version_with(self.rules, self.content)))

    def _take(self, decision: Decision) -> None:
        # The audit record replays the operations: they must give the content.
        replayed = apply({"content": self.content}, [dict(one) for one in decision.ops])["content"]
        assert canonical(replayed) == canonical(decision.content)
        self.decision, self.content, self.settled = decision, decision.content, decision.settled


def intervals(facts: list[dict[str, Any]]) -> dict[Any, list[Any]]:
    """What held when, by what it is about, in the order of time."""
    found: dict[Any, list[Any]] = defaultdict(list)
    for entry in facts:
        about = tuple(entry.get(name) for name in STATEMENTS["about"])
        details = tuple(sorted(name for name in ("breed", "colour") if entry.get(name)))
        found[about].append((entry.get("valid_from"), entry.get("valid_until"), entry.get("value"), details))
    return {about: sorted(rows, key=in_time) for about, rows in found.items()}


def in_time(row: Any) -> Any:
    """The order of time: what is open comes last."""
    return row[0], row[1] or "~", row[2:]


def check_chain(facts: list[dict[str, Any]]) -> None:
    """Check that the entries about each thing follow each other without overlap or gap, and that the links agree."""
    by_thing: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    ids = [entry["id"] for entry in facts]
    assert len(set(ids)) == len(ids)
    for entry in facts:
        by_thing[tuple(entry.get(name) for name in STATEMENTS["about"])].append(entry)
    for entries in by_thing.values():
        (entry,) = [one for one in entries if one.get("replaces") is None]
        for _ in entries[1:]:
            (following,) = [one for one in entries if one["id"] == entry["replaced_by"]]
            assert entry["valid_until"] == following["valid_from"]
            assert following["replaces"] == entry["id"]
            entry = following
        assert entry.get("valid_until") is None
        assert entry.get("replaced_by") is None
