"""Plan what happens to the values of one document when a source is taken back, from where each value comes from.

A value that rests on the source alone is removed, or the value before it returns. One with another source stays and
loses the evidence of this one. Statements are folded again without the observations of the source, so what it closed
holds again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.evidence import POINTERS
from memnet.domain.core.json_patch import Pointer
from memnet.domain.core.scope import Json
from memnet.domain.documents.difference import GONE
from memnet.domain.documents.entry import ALSO, evidence_of, evidence_with, rule_of
from memnet.domain.documents.pending_item import ALSO_PROPOSED_BY
from memnet.domain.documents.statement import kept_members, observations_of, statements_of, thing_of, time_of
from memnet.domain.documents.statement_fold import fold
from memnet.domain.documents.statement_question import section_of
from memnet.domain.governance.retraction import PlannedValue, ValueFate, Why
from memnet.domain.governance.retraction_evidence import cited, items_of, parts_cited
from memnet.domain.governance.retraction_joined import Joined, joins_source, part
from memnet.domain.governance.retraction_questions import is_question, proposals_in, remaining, without_copies
from memnet.domain.governance.retraction_reach import Reach
from memnet.domain.governance.retraction_units import (
    Fits,
    TakenBack,
    Unit,
    as_far_as_it_fits,
    made_of,
    planned_value,
    things_of,
    times_gone,
    with_member,
    without_beginning,
)
from memnet.domain.governance.source import SourceKind
from memnet.domain.history.origin import Origin, Traced

_CITING = frozenset(POINTERS)
PROPOSAL_EVIDENCE = "evidence"
"""The member of a pending item with the evidence of the patch that proposed it."""


def take_back(
    content: Traced, reach: Reach, rules: Sequence[SectionUpkeep], fits: Fits, changes: Sequence[Origin] = ()
) -> TakenBack:
    """Return what happens to the values of a document whose tree is `content`; `rules` are those of its sections.

    `changes` are those that are kept, also those of which no value is left.

    What may not be taken back, by `fits`, stays and is reported. The same goes for entries that name the source in
    their evidence and are older than the history that is kept.
    """
    taking = _Taking(reach, rules, part(content, reach, rules))
    taking.look(content, changes)
    taking.walk(content, ())
    taking.fold_statements(content)
    taking.ask_again()
    taking.clean_bases()
    changed = [unit for unit in taking.units if unit.is_changed]
    made = made_of(changed, taking.added)
    refusal = fits(made.ops, made.named) if made.ops else None
    refused: list[PlannedValue] = []
    if refusal is not None:
        made, refused = as_far_as_it_fits(changed, taking.added, fits)
    unknown = [planned_value(unit, ValueFate.UNRESOLVED, Why.OLDER_THAN_HISTORY) for unit in taking.unknown]
    return replace(made, values=(*made.values, *refused, *unknown))


@dataclass(slots=True)
class _Taking:
    """The units of one document while they are planned."""

    reach: Reach
    rules: Sequence[SectionUpkeep]
    joined: Joined
    units: list[Unit] = field(default_factory=list)
    added: list[Unit] = field(default_factory=list)
    """Entries that a statement is split into."""
    questions: list[tuple[Unit, Traced]] = field(default_factory=list)
    """The pending items that contradict a statement."""
    unknown: list[Unit] = field(default_factory=list)
    cited: set[bytes] = field(default_factory=set)
    """What other changes cite, those of the values before included."""
    withdrawn: set[bytes] = field(default_factory=set)
    """What the changes of the source cite."""
    same: set[int] = field(default_factory=set)
    """The nodes, by identity, whose value before is the same: they stay, and come from where that one does."""

    def look(self, content: Traced, changes: Sequence[Origin]) -> None:
        """Note what the changes of the source cite, and what the others do."""
        known = {origin.key: origin for origin in changes}
        for _, node in content.nodes():
            for one in [node, *node.before()]:
                known |= {origin.key: origin for _, within in one.nodes() for origin in within.sources()}
            if isinstance(node.value, dict) and node.value.keys() & _CITING:
                self._trust(node)
        for origin in known.values():
            if self.reach.withdraws(origin):
                self.withdrawn |= parts_cited(origin)
            elif origin.states and not self.reach.is_void(origin):
                self.cited |= parts_cited(origin)

    def _trust(self, item: Traced) -> None:
        """Evidence that an earlier retraction has left in an entry was proven then."""
        if any(one.origin.reason == Reason.RETRACTION for _, one in item.nodes()):
            plain = {name: value for name, value in item.plain().items() if name != ALSO}
            (self.withdrawn if self.reach.source.cites(plain) else self.cited).add(cited(plain))

    def walk(self, node: Traced, place: Pointer) -> None:
        """Find the units below a node: elements of arrays, and scalars outside of them."""
        if isinstance(node.value, list):
            # The array itself says nothing: it stays, empty if everything in it goes.
            for index, child in node.children():
                self._entry(child, (*place, index), rule_of(place, self.rules))
        elif place and node.children() and self.reach.takes_all(node) and not self.reach.is_stated(node):
            self.units.append(Unit(place, node.plain(), self._earlier(node), put_back=self._put_back(node)))
        elif isinstance(node.value, dict):
            for name, child in node.children():
                self.walk(child, (*place, name))
        else:
            self.units.append(Unit(place, node.value, self._rest(node), put_back=self._put_back(node)))

    def _entry(self, node: Traced, place: Pointer, rule: SectionUpkeep) -> None:
        before = node.plain()
        if is_question(before, self.rules):
            unit = Unit(place, before, before, node=node)
            self.units.append(unit)
            self.questions.append((unit, node))
            return
        is_statement = rule.statements is not None and isinstance(node.value, dict)
        after = self._statement(node, rule) if is_statement else self._rest(node, rule)
        if not node.origin.is_known and self._rests_by_its_evidence(before, rule):
            # Only its evidence says so, which a client may have written: not enough to remove it.
            after = before
            self.unknown.append(Unit(place, before, after))
        unit = Unit(place, before, after, node=node, put_back=self._put_back(node))
        is_of_source = self.reach.takes_all(node) and not self.reach.is_stated(node, _kept(rule))
        unit.is_rewritten = is_statement and is_of_source and after is not GONE
        self.units.append(unit)

    def _rests_by_its_evidence(self, entry: Json, rule: SectionUpkeep) -> bool:
        items = evidence_of(entry, rule)
        return bool(items) and all(self.reach.source.cites(item) for item in items)

    def _rest(self, node: Traced, rule: SectionUpkeep | None = None) -> Any:
        """Return what remains of a value; `rule` of an entry names the member with its evidence."""
        if not node.children():
            return self._own(node)
        if self.reach.takes_all(node) and not self.reach.is_stated(node, _kept(rule)):
            return self._earlier(node)
        if isinstance(node.value, list):
            remains = [self._rest(child) for _, child in node.children()]
            return [value for value in remains if value is not GONE]
        evidence = rule.evidence_field if rule is not None else None
        links = () if rule is None or rule.statements is None else kept_members(rule)
        kept = {}
        for name, child in node.children():
            if name in links:
                # The fold of the statements writes them.
                remains = child.plain()
            else:
                remains = self._evidence(child) if name == evidence else self._rest(child, self._within(name, rule))
            if remains is GONE and name != evidence and self._is_cited(node, evidence):
                # Another source vouches for the entry as a whole.
                remains = child.plain()
            if remains is not GONE:
                kept[name] = remains
        return kept

    def _own(self, node: Traced) -> Any:
        """Return what remains of a scalar."""
        if self.reach.takes_all(node):
            return self._earlier(node)
        if joins_source(node, self.reach):
            return next((one.plain() for one in node.before() if not self.reach.voids(one)), node.plain())
        return node.plain()

    def _is_cited(self, node: Traced, evidence: str | None) -> bool:
        """Whether an item of the entry's evidence is one that another change cites."""
        return any(cited(item) in self.cited for item in self._left(node.value.get(evidence)))

    def _statement(self, node: Traced, rule: SectionUpkeep) -> Any:
        """Return what remains of a statement: it rests on the items of its evidence, which the gate moves with them.

        An item that is not of the source counts if another change cites it: the source may have written any.
        """
        child = node.value.get(rule.evidence_field)
        items, kept = items_of(child), self._left(child)
        if self.reach.takes_all(node) and not self.reach.is_stated(node, _kept(rule)):
            taken_over = self.joined.get((rule.place, _id(node, rule)), frozenset())
            kept = [item for item in kept if cited(item) in self.cited - taken_over]
            return {**node.plain(), rule.evidence_field: evidence_with(kept)} if kept else self._earlier(node)
        had = observations_of(node.plain(), rule)
        is_of_source = all(cited(item) in self.withdrawn for item, _ in items)
        is_said_alone = all(one.item is not None for one in had) and not self._is_completed(node, rule)
        if items and not kept and is_of_source and is_said_alone:
            # Another change may have put it: the gate gives a statement that is split a new place.
            return GONE
        remains = self._rest(node, rule)
        statements, until = statements_of(rule), node.value.get(statements_of(rule).until_field)
        if until is not None and statements.replaced_field not in node.value and self.reach.withdraws(until.origin):
            # Closed without a successor: it holds again, or ends when another change has closed it.
            remains = with_member(remains, statements.until_field, self._clean(until))
        name = statements.from_field
        began = node.value.get(name)
        if began is not None and kept and isinstance(remains, dict) and self.reach.withdraws(began.origin):
            # An entry that the source split begins later, and the fold joins its parts again by their observations.
            earlier = self._clean(began)
            if earlier is None or time_of({name: earlier}, name) > time_of(node.plain(), name):
                remains = with_member(remains, name, earlier)
        return remains

    def _clean(self, node: Traced) -> Json:
        return next((one.plain() for one in node.before() if not self.reach.is_void(one.origin)), None)

    def _is_completed(self, node: Traced, rule: SectionUpkeep) -> bool:
        """Whether another change has stated a member of an entry that exists."""
        own = {*_kept(rule), rule.evidence_field}
        return any(
            child.origin.key != node.origin.key
            and self.reach.is_stated(child)
            and not any(map(self.reach.withdraws, child.sources()))
            for name, child in node.children()
            if name not in own
        )

    def _within(self, name: str, rule: SectionUpkeep | None) -> SectionUpkeep | None:
        """A pending item holds the entry that it proposes in `target.value`; it has evidence of its own."""
        return rule if name in ("target", "value") else None

    def _earlier(self, node: Traced) -> Any:
        """Return the newest value before that another change has stated; GONE if there is none."""
        for earlier in node.before():
            if not self.reach.voids(earlier):
                remains = self._rest(earlier)
                if remains is not GONE and canonical(remains) == canonical(node.plain()):
                    self.same.add(id(node))
                return remains
        return GONE

    def _put_back(self, node: Traced) -> tuple[Pointer, ...]:
        """Return the pointers, below a unit, of what is put back as it is."""
        if id(node) in self.same:
            return ((),)
        children = node.children() if isinstance(node.value, dict) else ()
        return tuple((name, *place) for name, child in children for place in self._put_back(child))

    def _evidence(self, node: Traced) -> Any:
        """Return the evidence without the items of the source; an item goes as a whole."""
        kept = self._left(node)
        if len(kept) == len(items_of(node)):
            return node.plain()
        return evidence_with(kept) if kept else GONE

    def _left(self, evidence: Traced | None) -> list[Json]:
        """Return the items of evidence that are not of the source."""
        if evidence is None:
            return []
        return [item for item, nodes in items_of(evidence) if not self._is_withdrawn(item, nodes, evidence)]

    def _is_withdrawn(self, item: Json, nodes: Sequence[Traced], evidence: Traced) -> bool:
        """An item that an actor wrote names no actor: it goes by where it comes from, unless it was there before."""
        if self.reach.source.kind is not SourceKind.ACTOR:
            return self.reach.source.cites(item)
        leaves = [one for node in nodes for _, one in node.nodes() if not one.children()]
        before = [earlier for earlier in evidence.before() if not self.reach.voids(earlier)]
        was_there = any(canonical(item) == canonical(one) for earlier in before for one, _ in items_of(earlier))
        return bool(leaves) and all(map(self.reach.takes_all, leaves)) and not was_there

    def fold_statements(self, content: Traced) -> None:
        """Fold the statements about each thing that the plan changes again."""
        for rule in {rule.place: rule for rule in self.rules if rule.statements is not None}.values():
            of_section = {int(unit.place[-1]): unit for unit in self.units if unit.place[:-1] == rule.place}
            self._relink(of_section.values(), rule)
            things = {
                thing_of(one, rule)
                for unit in of_section.values()
                if unit.is_changed
                for one in (unit.before, unit.after)
                if isinstance(one, dict)
            }
            gone = times_gone(of_section.values(), rule)
            for thing in things:
                self._fold(thing, of_section, gone, rule)

    def ask_again(self) -> None:
        """Take the proposals of the source out of the questions; each asks about what is open then."""
        for unit, node in self.questions:
            rule = section_of(unit.before, self.rules)
            assert rule is not None
            entries = [(one.before, one.after) for one in [*self.units, *self.added] if one.place[:-1] == rule.place]
            proposals = [self._proposal(one, rule) for one in proposals_in(node)]
            also = self._rest(node.value[ALSO_PROPOSED_BY]) if ALSO_PROPOSED_BY in node.value else []
            unit.after = remaining(unit.before, proposals, also if isinstance(also, list) else [], entries, rule)

    def clean_bases(self) -> None:
        """Take what is gone out of the parts of the document that pending items keep to be rebased on."""
        gone = [unit for unit in self.units if unit.after is GONE and isinstance(unit.before, dict)]
        for unit in self.units:
            if isinstance(unit.after, dict) and "base" in unit.after:
                unit.after = without_copies(unit.after, gone, self.reach.source, self.rules)

    def _proposal(self, node: Traced, rule: SectionUpkeep) -> Any:
        """Return what remains of a proposal of a question: it rests on the items of its evidence, as a statement does.

        Where it comes from decides if evidence does not name the source: a question that another writer joins, or that
        a retraction has changed, is written again.
        """
        target, child = node.value["target"], node.value.get(PROPOSAL_EVIDENCE)
        items, kept = items_of(child), self._left(child)
        said = [origin for origin in target.sources() if origin.states]
        is_of_source = any(map(self.reach.withdraws, said)) and all(map(self.reach.is_void, said))
        if is_of_source:
            kept = [item for item in kept if cited(item) in self.cited]
        if not kept and (items or is_of_source):
            return GONE
        made = node.plain()
        entry, evidence = target.value["value"], target.value["value"].value.get(rule.evidence_field)
        if kept:
            made[PROPOSAL_EVIDENCE] = evidence_with(kept)
        if evidence is not None:
            remains = self._evidence(evidence)
            value = {name: one for name, one in entry.plain().items() if name != rule.evidence_field}
            made["target"]["value"] = value if remains is GONE else {**value, rule.evidence_field: remains}
        return made

    def _relink(self, units: Collection[Unit], rule: SectionUpkeep) -> None:
        """Open the entries that entries of the source have closed; those may be gone already."""
        statements = statements_of(rule)
        ids = {unit.before.get(rule.id_field) for unit in units if isinstance(unit.before, dict)}
        remain = {unit.after.get(rule.id_field) for unit in units if isinstance(unit.after, dict)}
        for unit in units:
            if not isinstance(unit.after, dict) or unit.node is None:
                continue
            for name in (statements.replaced_field, statements.replaces_field):
                link = unit.node.value.get(name)
                if link is None or link.value in remain:
                    continue
                if link.value not in ids and not self.reach.withdraws(link.origin):
                    continue
                unit.after = with_member(unit.after, name, None)
                if name == statements.replaced_field:
                    until = self._ended(unit.node.value.get(statements.until_field), link)
                    unit.after = with_member(unit.after, statements.until_field, until)

    def _ended(self, until: Traced | None, link: Traced) -> Json:
        """Return when another change has ended an entry, without a successor, before the link was written; or None."""
        clean = [one for one in until.before() if not self.reach.is_void(one.origin)] if until is not None else []
        is_ended = bool(clean) and clean[0].origin.key < link.origin.key and self._clean(link) is None
        return clean[0].plain() if is_ended else None

    def _fold(self, thing: Any, of_section: Mapping[int, Unit], gone: set[str], rule: SectionUpkeep) -> None:
        about = {slot: unit for slot, unit in of_section.items() if thing in things_of(unit, rule)}
        held = {
            slot: without_beginning(unit.after, gone, rule)
            for slot, unit in about.items()
            if isinstance(unit.after, dict) and thing_of(unit.after, rule) == thing
        }
        group = (rule.place, thing)
        for unit in about.values():
            unit.group, unit.rule = group, rule
        if not held:
            return
        runs = fold(held, rule)
        for slot in held:
            about[slot].after = GONE
        for run in runs:
            if run.slot is None:
                self.added.append(Unit((*rule.place, "-"), None, run.entry, group))
                continue
            unit = about[run.slot]
            unit.after = run.entry
            others = [about[slot] for slot in run.slots() if slot != run.slot]
            # What the source put has nothing to add to where the entry comes from.
            unit.merged = tuple(one.place for one in others if _gone(one) and not one.is_rewritten)


def _kept(rule: SectionUpkeep | None) -> Sequence[str]:
    """Return the members of an entry that the service keeps."""
    if rule is None:
        return ()
    return (rule.id_field, *(() if rule.statements is None else kept_members(rule)))


def _id(node: Traced, rule: SectionUpkeep) -> Json:
    own = node.value.get(rule.id_field)
    return own.value if own is not None and isinstance(own.value, str) else None


def _gone(unit: Unit) -> bool:
    return unit.after is GONE
