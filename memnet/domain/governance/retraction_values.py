"""Plan what happens to the values of one document when a source is taken back, from where each value comes from.

A value that rests on the source alone is removed, or the value before it returns. One with another source stays and
loses the evidence of this one. Statements are folded again without the observations of the source, so what it closed
holds again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import Op, Pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import ALSO, evidence_of, rule_of
from memnet.domain.documents.statement import statements_of, thing_of
from memnet.domain.documents.statement_fold import fold
from memnet.domain.governance.retraction import PlannedValue, ValueFate, Why
from memnet.domain.governance.retraction_reach import Reach
from memnet.domain.history.origin import Traced


class _Gone(Enum):
    GONE = "gone"


GONE: Final = _Gone.GONE
"""What remains of a value that is removed; null is a value."""


@dataclass(slots=True)
class Unit:
    """One entry, or one value outside of arrays, that changes: as it is, and as it remains."""

    place: Pointer
    """Its pointer below the content."""
    before: Json
    after: Any
    group: tuple[Any, ...] = ()
    """Units of one group change together: the entries about one thing."""
    merged: tuple[Pointer, ...] = ()
    """The entries whose evidence it takes over."""

    @property
    def is_changed(self) -> bool:
        """Whether the retraction changes it."""
        return self.after is GONE or canonical(self.before) != canonical(self.after)


@dataclass(frozen=True, slots=True)
class TakenBack:
    """The plan of one document: the operations, in an order in which none moves the place of a later one, and why."""

    ops: Sequence[Op] = ()
    values: Sequence[PlannedValue] = ()
    merged: Sequence[dict[str, Json]] = ()
    """Of entries that say the same in a row again: `from` and `into`, as upkeep's evidence has them."""

    @property
    def named(self) -> Sequence[str]:
        """The pointers that the operations may change."""
        return [value.pointer for value in self.values if value.fate is not ValueFate.UNRESOLVED]


Fits = Callable[[Sequence[Op], Sequence[str]], Why | None]
"""Says why the document may not become what operations at these pointers make of it; None: it may."""


def take_back(content: Traced, reach: Reach, rules: Sequence[SectionUpkeep], fits: Fits) -> TakenBack:
    """Return what happens to the values of a document whose tree is `content`; `rules` are those of its sections.

    What may not be taken back, by `fits`, stays and is reported. The same goes for entries that name the source in
    their evidence and are older than the history that is kept.
    """
    taking = _Taking(reach, rules)
    taking.walk(content, ())
    taking.fold_statements(content)
    changed = [unit for unit in taking.units if unit.is_changed]
    made = _made(changed, taking.added)
    refusal = fits(made.ops, made.named) if made.ops else None
    refused: list[PlannedValue] = []
    if refusal is not None:
        made, refused = _as_far_as_it_fits(changed, taking.added, fits)
    unknown = [_planned(unit, ValueFate.UNRESOLVED, Why.OLDER_THAN_HISTORY) for unit in taking.unknown]
    return replace(made, values=[*made.values, *refused, *unknown])


@dataclass(slots=True)
class _Taking:
    """The units of one document while they are planned."""

    reach: Reach
    rules: Sequence[SectionUpkeep]
    units: list[Unit] = field(default_factory=list)
    added: list[Unit] = field(default_factory=list)
    """Entries that a statement is split into."""
    unknown: list[Unit] = field(default_factory=list)

    def walk(self, node: Traced, place: Pointer) -> None:
        """Find the units below a node: elements of arrays, and scalars outside of them."""
        if place and node.children() and self.reach.takes_all(node) and not self.reach.states(node):
            self.units.append(Unit(place, node.plain(), self._earlier(node)))
        elif isinstance(node.value, dict):
            for name, child in node.children():
                self.walk(child, (*place, name))
        elif isinstance(node.value, list):
            for index, child in node.children():
                self._entry(child, (*place, index), rule_of(place, self.rules))
        else:
            self.units.append(Unit(place, node.value, self._rest(node)))

    def _entry(self, node: Traced, place: Pointer, rule: SectionUpkeep) -> None:
        before = node.plain()
        after = self._rest(node, rule)
        unit = Unit(place, before, after)
        if not node.origin.is_known and not unit.is_changed and self._names_source(before, rule):
            self.unknown.append(unit)
        self.units.append(unit)

    def _names_source(self, entry: Json, rule: SectionUpkeep) -> bool:
        return any(self.reach.source.cites(item) for item in evidence_of(entry, rule))

    def _rest(self, node: Traced, rule: SectionUpkeep | None = None) -> Any:
        """Return what remains of a value; `rule` of an entry names the member with its evidence."""
        if not node.children():
            return self._earlier(node) if self.reach.takes_all(node) else node.plain()
        if self.reach.takes_all(node) and not self.reach.states(node):
            return self._earlier(node)
        if isinstance(node.value, list):
            remains = [self._rest(child) for _, child in node.children()]
            return [value for value in remains if value is not GONE]
        evidence = rule.evidence_field if rule is not None else None
        kept = {}
        for name, child in node.children():
            remains = self._evidence(child) if name == evidence else self._rest(child, self._within(name, rule))
            if remains is not GONE:
                kept[name] = remains
        return kept

    def _within(self, name: str, rule: SectionUpkeep | None) -> SectionUpkeep | None:
        """A pending item holds the entry that it proposes in `target.value`; it has evidence of its own."""
        return rule if name in ("target", "value") else None

    def _earlier(self, node: Traced) -> Any:
        """Return the newest value before that another change has stated; GONE if there is none."""
        for earlier in node.before():
            if not self.reach.takes_all(earlier):
                return self._rest(earlier)
        return GONE

    def _evidence(self, node: Traced) -> Any:
        """Return the evidence without the items of the source; an item goes as a whole."""
        items = _items(node)
        kept = [item for item, nodes in items if not self._is_withdrawn(item, nodes)]
        if len(kept) == len(items):
            return node.plain()
        if not kept:
            return GONE
        own, *rest = kept
        return {**own, ALSO: rest} if rest else own

    def _is_withdrawn(self, item: Json, nodes: Sequence[Traced]) -> bool:
        if self.reach.source.cites(item):
            return True
        leaves = [one for node in nodes for _, one in node.nodes() if not one.children()]
        return bool(leaves) and all(map(self.reach.takes_all, leaves))

    def fold_statements(self, content: Traced) -> None:
        """Fold the statements about each thing that the plan changes again."""
        for rule in {rule.place: rule for rule in self.rules if rule.statements is not None}.values():
            of_section = {int(unit.place[-1]): unit for unit in self.units if unit.place[:-1] == rule.place}
            things = {
                thing_of(one, rule)
                for unit in of_section.values()
                if unit.is_changed
                for one in (unit.before, unit.after)
                if isinstance(one, dict)
            }
            lost = {
                unit.before.get(rule.id_field)
                for unit in of_section.values()
                if unit.after is GONE and isinstance(unit.before, dict)
            } - {None}
            for thing in things:
                self._fold(thing, of_section, lost, rule)

    def _fold(self, thing: Any, of_section: Mapping[int, Unit], lost: set[Json], rule: SectionUpkeep) -> None:
        about = {slot: unit for slot, unit in of_section.items() if thing in _things(unit, rule)}
        held = {
            slot: _without_links(unit.after, lost, rule)
            for slot, unit in about.items()
            if isinstance(unit.after, dict) and thing_of(unit.after, rule) == thing
        }
        group = (rule.place, thing)
        for unit in about.values():
            unit.group = group
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
            unit.merged = tuple(about[slot].place for slot in run.slots() if slot != run.slot and _gone(about[slot]))


def _gone(unit: Unit) -> bool:
    return unit.after is GONE


def _things(unit: Unit, rule: SectionUpkeep) -> list[Any]:
    return [thing_of(one, rule) for one in (unit.before, unit.after) if isinstance(one, dict)]


def _without_links(entry: dict[str, Any], lost: set[Json], rule: SectionUpkeep) -> dict[str, Any]:
    """Return an entry that is neither closed nor begun by entries that are gone."""
    statements, kept = statements_of(rule), dict(entry)
    if kept.get(statements.replaced_field) in lost:
        kept.pop(statements.replaced_field)
        kept.pop(statements.until_field, None)
    if kept.get(statements.replaces_field) in lost:
        kept.pop(statements.replaces_field)
    return kept


def _items(node: Traced) -> list[tuple[Json, list[Traced]]]:
    """Return the items of evidence, each with its nodes; one item of anything that is no object."""
    if not isinstance(node.value, dict):
        return [(node.plain(), [node])]
    also = node.value.get(ALSO)
    rest = list(also.value) if also is not None and isinstance(also.value, list) else []
    own = {name: child for name, child in node.value.items() if not (rest and name == ALSO)}
    first = [({name: child.plain() for name, child in own.items()}, list(own.values()))] if own else []
    return [*first, *((child.plain(), [child]) for child in rest)]


def _as_far_as_it_fits(
    changed: Sequence[Unit], added: Sequence[Unit], fits: Fits
) -> tuple[TakenBack, list[PlannedValue]]:
    """Take the groups one after the other, and leave out each that does not fit."""
    groups: dict[Any, list[Unit]] = {}
    for unit in [*changed, *added]:
        groups.setdefault(unit.group or unit.place, []).append(unit)
    taken: list[Unit] = []
    refused: list[PlannedValue] = []
    for units in groups.values():
        made = _made(*_split([*taken, *units]))
        refusal = fits(made.ops, made.named)
        if refusal is None:
            taken += units
        else:
            refused += [_planned(unit, ValueFate.UNRESOLVED, refusal) for unit in units if "-" not in unit.place]
    return _made(*_split(taken)), refused


def _split(units: Sequence[Unit]) -> tuple[list[Unit], list[Unit]]:
    added = [unit for unit in units if unit.place[-1] == "-"]
    return [unit for unit in units if unit.place[-1] != "-"], added


def _made(changed: Sequence[Unit], added: Sequence[Unit]) -> TakenBack:
    """Return the operations from the last unit to the first, so that no index changes before it is used."""
    ordered = sorted(changed, key=lambda unit: _order(unit.place))
    ops = [op for unit in reversed(ordered) for op in difference(unit.before, unit.after, (ROOT, *unit.place))]
    ops += [{"op": "add", "path": pointer_text((ROOT, *unit.place)), "value": unit.after} for unit in added]
    gone = [unit.place for unit in ordered if unit.after is GONE]
    merged: list[dict[str, Json]] = [
        {
            "from": [pointer_text((ROOT, *place)) for place in unit.merged],
            "into": pointer_text((ROOT, *_shifted(unit.place, gone))),
        }
        for unit in ordered
        if unit.merged
    ]
    return TakenBack(ops, [_planned(unit, _fate(unit)) for unit in [*ordered, *added]], merged)


def _shifted(place: Pointer, gone: Sequence[Pointer]) -> Pointer:
    """Return the pointer of an entry once those before it in its array are gone."""
    before = sum(one[:-1] == place[:-1] and int(one[-1]) < int(place[-1]) for one in gone)
    return (*place[:-1], str(int(place[-1]) - before))


def _order(place: Pointer) -> tuple[tuple[int, str], ...]:
    return tuple((int(name), "") if name.isdecimal() else (-1, name) for name in place)


def difference(before: Json, after: Any, place: Pointer) -> Iterator[Op]:
    """Yield the operations that turn one value at `place` into another, objects member by member."""
    path = pointer_text(place)
    if after is GONE:
        yield {"op": "remove", "path": path}
    elif isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() - after.keys()):
            yield {"op": "remove", "path": pointer_text((*place, name))}
        for name in sorted(after):
            if name not in before:
                yield {"op": "add", "path": pointer_text((*place, name)), "value": after[name]}
            elif canonical(before[name]) != canonical(after[name]):
                yield {"op": "replace", "path": pointer_text((*place, name)), "value": after[name]}
    elif canonical(before) != canonical(after):
        yield {"op": "replace", "path": path, "value": after}


def _fate(unit: Unit) -> ValueFate:
    if unit.after is GONE:
        return ValueFate.REMOVED
    if not (isinstance(unit.before, dict) and isinstance(unit.after, dict)):
        return ValueFate.PUT_BACK
    names = {name for name in unit.before.keys() | unit.after.keys() if _differs(unit, name)}
    if not unit.group:
        return ValueFate.STRIPPED if _only_evidence(unit, names) else ValueFate.PUT_BACK
    return ValueFate.STRIPPED if _only_evidence(unit, names) else ValueFate.REOPENED


def _differs(unit: Unit, name: str) -> bool:
    return canonical([unit.before.get(name)]) != canonical([unit.after.get(name)])


def _only_evidence(unit: Unit, names: set[str]) -> bool:
    return all(isinstance(unit.before.get(name), dict) for name in names)


def _planned(unit: Unit, fate: ValueFate, why: Why | None = None) -> PlannedValue:
    stays = fate is ValueFate.UNRESOLVED
    after = unit.before if stays else None if unit.after is GONE else unit.after
    return PlannedValue(pointer=pointer_text((ROOT, *unit.place)), fate=fate, why=why, before=unit.before, after=after)


def known_values(content: Traced) -> frozenset[tuple[str, bytes]]:
    """Return each scalar that a section has or had, as far as it is known: what a retraction may leave there."""
    found: set[tuple[str, bytes]] = set()
    for place, node in content.nodes():
        section = place[0] if place else ""
        for one in [node, *node.before()]:
            for _, leaf in one.nodes():
                if not leaf.children():
                    found.add((section, canonical(leaf.plain())))
    return frozenset(found)
