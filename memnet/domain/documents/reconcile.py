"""Settle the statements in a patch: the gate that leaves at most one open entry about each thing.

A patch says what was stated; the gate writes what follows from all that was observed, in the order of source times
(`statement_fold`). Its result is ordinary operations, which the audit record replays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.path_policy import ROOT, lies_within, touches
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import StatementContradicted
from memnet.domain.core.json_patch import Op, Operation, apply, member_ops, parse_patch, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.documents import statement_question
from memnet.domain.documents.answer import Answer
from memnet.domain.documents.claim import check_codes
from memnet.domain.documents.commands import PatchDocument, Settled
from memnet.domain.documents.entry import entries_at, evidence_of
from memnet.domain.documents.pending_item import proposals_of, written
from memnet.domain.documents.section_changes import SentChanges
from memnet.domain.documents.section_gate import SectionGate
from memnet.domain.documents.statement import AT, Entry, contradictions
from memnet.domain.documents.statement_source import StatementSource


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a patch becomes."""

    ops: list[Operation]
    """The operations to apply and to store."""
    effective: list[Operation]
    """The operations as sent, except those that became pending items."""
    settled: tuple[Settled, ...] = ()
    statements: Mapping[int, Op] = field(default_factory=dict)
    """By index, the statement that an operation makes, as the addition of an entry, which a pending item can hold."""


def settle(
    ops: list[Operation],
    command: PatchDocument,
    rules: WriteRules,
    before: Json,
    *,
    now: str,
    proposal_ids: Sequence[str] = (),
    is_confirmed: bool = False,
    is_corroborated: bool = False,
    answer: Answer | None = None,
) -> Settlement:
    """Return the operations that a patch of the content `before` becomes. Neither is changed.

    `now` is the source time of a patch without one; `proposal_ids` are the ids of the pending items that it may need,
    in order. `is_confirmed`, `is_corroborated`: the patch applies a pending item, so that it asks nothing; `answer`:
    what the confirmation decided about a question.

    Raises StatementContradicted for a change of a closed entry or of what an entry is about, and what
    `json_patch.apply` raises.
    """
    sections = [rule for rule in rules.section_rules if rule.statements]
    sent = SentChanges(before, sections)
    if not any(sent.is_about_entries(op) or sent.is_about_sections(op) for op in ops):
        return Settlement(ops, ops)
    # Applied as a whole first: an error names the index of the operation.
    apply({ROOT: orjson.loads(canonical(before))}, orjson.loads(canonical([op.body for op in ops])))
    applies_item = is_confirmed or is_corroborated
    items = _waiting_entries(before, rules) if applies_item else ()
    source = StatementSource(command, now, _evidence(items), _claimants(items), is_confirmed, is_corroborated, answer)
    gate = _Gate(source, rules, sent, proposal_ids)
    gate.state = {ROOT: orjson.loads(canonical(before))}
    for index, op in enumerate(ops):
        if sent.is_about_sections(op):
            gate.flush()
            gate.pass_on(op)
            check_codes(before, gate.state[ROOT], sections, command.claimed_by)
            sent.restart(gate.state)
        elif not sent.is_about_entries(op) or (op.verb == "test" and not sent.has_changes):
            sent.pass_on(op)
            gate.pass_on(op)
        else:
            for part in sent.collect(index, op):
                gate.pass_on(part)
    gate.flush()
    effective = [gate.proposed.get(index, op) for index, op in enumerate(ops)]
    return Settlement(gate.ops, effective, tuple(gate.settled), gate.statements)


def confirms(ops: Sequence[Operation], rules: WriteRules) -> bool:
    """Whether a patch applies pending items: it removes some, and writes elsewhere."""
    section = rules.profile.pending.get(rules.binding.binding_id)
    places = [place for op in ops for place in written(op)]
    if section is None or all(lies_within(place, section) for place in places):
        return False
    return any(op.verb in ("remove", "move") and touches(written(op)[-1], section) for op in ops)


def check_contradictions(rules: WriteRules, before: Json, after: Json) -> None:
    """Raise StatementContradicted if `after` has more open entries about one thing than one, and than `before`."""
    found = contradictions(before, after, rules.section_rules)
    if found:
        raise StatementContradicted(pointers=[f"/{ROOT}{place}" for place in found])


@dataclass(slots=True)
class _Gate:
    """One patch that is being settled."""

    source: StatementSource
    rules: WriteRules
    sent: SentChanges
    proposal_ids: Sequence[str]
    state: Json = None
    """The document as the settled operations leave it."""
    ops: list[Operation] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    statements: dict[int, Op] = field(default_factory=dict)
    proposed: dict[int, Operation] = field(default_factory=dict)

    def pass_on(self, op: Operation) -> None:
        """Apply an operation and keep it."""
        self.ops.append(op)
        self.state = apply(self.state, orjson.loads(canonical([op.body])))

    def flush(self) -> None:
        """Settle the collected changes of entries, and write what follows from them."""
        for rule, changes in self.sent.take():
            before = dict(enumerate(entries_at(self.state[ROOT], rule.section)))
            section = SectionGate(rule, self.source, self._ask, dict(before))
            for change in changes:
                section.settle(change)
            self.settled += section.settled
            path = pointer_text((ROOT, *rule.place, "-"))
            for index, entry in section.statements.items():
                self.statements[index] = {"op": "add", "path": path, "value": entry}
            for op in parse_patch(_difference(rule, before, section.held)):
                self.pass_on(op)

    def _ask(self, index: int, rule: SectionUpkeep, entry: Entry, held: Entry, is_rival: bool) -> str | None:
        """Make a pending item of a statement that contradicts the entry `held`; return its id, None without a place.

        `is_rival`: the entry is another claimant's, so that the tenant decides.
        """
        command = self.source.command
        if command.binding_id not in self.rules.profile.pending:
            return None
        made = statement_question.proposal(
            command,
            self.rules,
            rule,
            entry,
            held,
            content=self.state[ROOT],
            pending_id=self.proposal_ids[len(self.proposed)],
            proposed_at=self.source.now,
            decides="tenant" if is_rival else None,
        )
        self.proposed[index] = made
        self.pass_on(made)
        return str(made.value["id"])


def _waiting_entries(content: Json, rules: WriteRules) -> Sequence[tuple[Entry, SectionUpkeep]]:
    """Return the entries that the pending items of the document propose, with each rule of the binding."""
    section = rules.pending_section
    found: list[tuple[Entry, SectionUpkeep]] = []
    items = [] if section is None else entries_at(content, section)
    for one in (one for item in items if isinstance(item, dict) for one in proposals_of(item)):
        target = one.get("target")
        value = target.get("value") if isinstance(target, dict) else None
        if isinstance(value, dict):
            found += [(value, rule) for rule in rules.section_rules]
    return found


def _evidence(items: Sequence[tuple[Entry, SectionUpkeep]]) -> frozenset[bytes]:
    """Return the items of evidence of what waits; the service has written their times."""
    every = (one for value, rule in items for one in evidence_of(value, rule))
    return frozenset(canonical(one) for one in every if isinstance(one, dict) and AT in one)


def _claimants(items: Sequence[tuple[Entry, SectionUpkeep]]) -> Mapping[str, Json]:
    """Return the codes of the claimants of what waits, by the id of the entry."""
    named = [(value, rule, rule.statements.claimed_by_field) for value, rule in items if rule.statements is not None]
    return {str(value.get(rule.id_field)): value.get(name) for value, rule, name in named if name is not None}


def _difference(rule: SectionUpkeep, before: Mapping[int, Json], after: Mapping[int, Json]) -> list[Op]:
    """Return the operations that turn the entries of a section into others; changed ones member by member."""
    ops: list[Op] = []
    at = (ROOT, *rule.place)
    for slot in sorted(before.keys() & after.keys()):
        old, new = before[slot], after[slot]
        if canonical(old) == canonical(new):
            continue
        place = (*at, str(slot))
        if not isinstance(old, dict) or not isinstance(new, dict):
            ops.append({"op": "replace", "path": pointer_text(place), "value": new})
            continue
        ops += member_ops(place, old, new)
    for slot in sorted(before.keys() - after.keys(), reverse=True):
        ops.append({"op": "remove", "path": pointer_text((*at, str(slot)))})
    for slot in sorted(after.keys() - before.keys()):
        ops.append({"op": "add", "path": pointer_text((*at, "-")), "value": after[slot]})
    return ops
