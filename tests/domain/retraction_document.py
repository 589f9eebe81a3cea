"""A document with statements and notes whose changes are recorded, so that a source of it can be taken back."""

from dataclasses import dataclass, field
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import SchemaViolation
from memnet.domain.core.json_patch import apply
from memnet.domain.core.scope import Json
from memnet.domain.documents.retraction_gate import decide_retraction
from memnet.domain.documents.write_decision import Decision
from memnet.domain.governance.retraction import Why
from memnet.domain.governance.retraction_origins import sources_of
from memnet.domain.governance.retraction_reach import Reach
from memnet.domain.governance.retraction_undo import known_values
from memnet.domain.governance.retraction_units import TakenBack
from memnet.domain.governance.retraction_values import take_back
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.history.origin_table import dump_origins, load_origins
from memnet.domain.history.origins import Origins
from memnet.domain.history.restored_origins import restored
from tests.domain.samples import patch_command, version_with
from tests.domain.statement_document import Statements, day

BAD = Source(kind=SourceKind.CONVERSATION, conversation_id="bad")


@dataclass
class Recorded:
    """A document of statements, and the origins of its values."""

    document: Statements = field(default_factory=Statements)
    origins: Origins = field(default_factory=Origins)
    sequence: int = 0
    records: list[Any] = field(default_factory=list)
    closed: list[Source] = field(default_factory=list)
    """The sources that were taken back."""

    def __post_init__(self) -> None:
        self.record([{"op": "add", "path": "/content", "value": self.copied()}], reason="live_update")

    def copied(self) -> Json:
        """The content, as a copy."""
        return _copy(self.document.content)

    def shortened(self) -> Json:
        """The origins, read with a baseline before each change."""
        origins = Origins()
        for one in self.records:
            origins.take(one)
            assert origins.content is not None
            form = _copy(dump_origins(origins.content))
            origins = Origins(load_origins(form, origins.content.plain()), sequence=origins.sequence)
        assert origins.content is not None
        return dump_origins(origins.content)

    def record(self, ops: list[Any], **members: Any) -> None:
        """Make the operations on the tree."""
        self.sequence += 1
        made = {"sequence": self.sequence, "ops": _copy(ops), "reason": "live_update"}
        made |= {"timestamp": day(1), "change_id": f"d-{self.sequence:012}", "actor": "a", "application": None}
        made |= {"profile_id": "p", "binding_id": "b", "profile_version": "1", "source_time": None}
        self.records.append(_copy(made | {"confidence": None, "evidence": None} | members))
        self.origins.take(self.records[-1])

    def taken(self, decision: Decision | None) -> None:
        """Record what a decision of the document was."""
        assert decision is not None
        self.record(
            decision.ops, reason=str(decision.reason), evidence=decision.evidence, confidence=decision.confidence
        )

    def say(self, value: str | None, source: str, at: int, **members: Any) -> Any:
        """State a fact from a conversation."""
        cited = {"conversation_id": source, "message_ids": [f"m{at}"]}
        own: dict[str, Any] = {"subject": "user", "attribute": "lives in", "value": value, "text": f"In {value}."}
        entry = {name: one for name, one in (own | {"evidence": cited} | members).items() if one is not None}
        settled = self.document.patch({"op": "add", "path": "/content/facts/-", "value": entry}, at=at, evidence=cited)
        self.taken(self.document.decision)
        return settled[0]

    def patch(self, *ops: Any, source: str | None = None, **members: Any) -> None:
        """Send a patch from a conversation."""
        cited = None if source is None else {"conversation_id": source, "message_ids": ["m"]}
        self.document.patch(*ops, evidence=cited, **members)
        self.taken(self.document.decision)

    def confirm(self, pending_id: str, **members: Any) -> None:
        """Confirm a pending item."""
        self.document.confirm(pending_id, **members)
        self.taken(self.document.decision)

    def plan(self, source: Source = BAD) -> TakenBack:
        """What happens if the source is taken back; each patch goes through the gate."""
        return self._planned(self.reach(source))

    def reach(self, source: Source) -> Reach:
        """What rests on a source, beside those that are closed already."""
        return Reach(source, closed=tuple(map(Reach, self.closed)))

    def _planned(self, reach: Reach) -> TakenBack:
        content, rules = self.origins.content, self.document.rules
        assert content is not None
        assert canonical(content.plain()) == canonical(self.document.content)
        sections = rules.profile.upkeep_rules["b"]
        known = known_values(content)

        def fits(ops: Any, named: Any) -> Why | None:
            command = patch_command(*_copy(list(ops)))
            current = version_with(rules, self.copied())
            try:
                decide_retraction(command, rules, current, named=named, known=known, statements=sections)
            except SchemaViolation:
                return Why.SCHEMA
            return None

        return take_back(content, reach, sections, fits, self.origins.changes)

    def take_back(self, source: Source = BAD) -> TakenBack:
        """Take the source back."""
        made, content = self.plan(source), self.origins.content
        assert content is not None
        if made.ops:
            back = restored(self.copied(), made.ops, sources_of(content, made.ops, self.reach(source)))
            self.document.content = apply({"content": self.copied()}, _copy(list(made.ops)))["content"]
            why = {"retraction_id": "r", "merged": list(made.merged)} | ({"restored": back} if back else {})
            self.record(list(made.ops), reason="retraction", evidence=why)
        self.closed.append(source)
        return made


def op(verb: str, path: str, *value: Any) -> dict[str, Any]:
    """An operation below the content."""
    return {"op": verb, "path": f"/content{path}"} | ({"value": value[0]} if value else {})


def _copy(value: Json) -> Json:
    return orjson.loads(canonical(value))
