"""The units of a plan: entries and values that a retraction changes, and the operations that change them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.json_patch import Op, Pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.documents.difference import GONE, difference
from memnet.domain.governance.retraction import PlannedValue, ValueFate, Why
from memnet.domain.history.origin import Traced


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
    node: Traced | None = None
    """Of an entry: where it comes from."""
    put_back: tuple[Pointer, ...] = ()
    """The pointers below it of values that another change had put before the source put the same: written again, so
    that they come from that change."""
    is_rewritten: bool = False
    """Whether it is put again as a whole: the change that put it is of the source, and what it says is not."""

    @property
    def is_changed(self) -> bool:
        """Whether the retraction changes it."""
        is_other = self.after is GONE or canonical(self.before) != canonical(self.after)
        return is_other or self.is_rewritten or bool(self.put_back)


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


def as_far_as_it_fits(
    changed: Sequence[Unit], added: Sequence[Unit], fits: Fits
) -> tuple[TakenBack, list[PlannedValue]]:
    """Take the groups one after the other, and leave out each that does not fit."""
    groups: dict[Any, list[Unit]] = {}
    for unit in [*changed, *added]:
        groups.setdefault(unit.group or unit.place, []).append(unit)
    taken: list[Unit] = []
    refused: list[PlannedValue] = []
    for units in groups.values():
        made = made_of(*_split([*taken, *units]))
        refusal = fits(made.ops, made.named)
        if refusal is None:
            taken += units
        else:
            refused += [planned_value(unit, ValueFate.UNRESOLVED, refusal) for unit in units if "-" not in unit.place]
    return made_of(*_split(taken)), refused


def _split(units: Sequence[Unit]) -> tuple[list[Unit], list[Unit]]:
    added = [unit for unit in units if unit.place[-1] == "-"]
    return [unit for unit in units if unit.place[-1] != "-"], added


def made_of(changed: Sequence[Unit], added: Sequence[Unit]) -> TakenBack:
    """Return the operations from the last unit to the first, so that no index changes before it is used."""
    ordered = sorted(changed, key=lambda unit: _order(unit.place))
    ops = [op for unit in reversed(ordered) for op in _operations(unit)]
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
    return TakenBack(ops, [planned_value(unit, _fate(unit)) for unit in [*ordered, *added]], merged)


def _operations(unit: Unit) -> Iterator[Op]:
    path = pointer_text((ROOT, *unit.place))
    if unit.is_rewritten and unit.after is not GONE:
        yield {"op": "remove", "path": path}
        yield {"op": "add", "path": path, "value": unit.after}
    else:
        yield from difference(unit.before, unit.after, (ROOT, *unit.place))
        for place in unit.put_back if unit.after is not GONE else ():
            value = _at(unit.after, place)
            if value is not GONE and canonical(value) == canonical(_at(unit.before, place)):
                yield {"op": "replace", "path": pointer_text((ROOT, *unit.place, *place)), "value": value}


def _at(value: Any, place: Pointer) -> Any:
    """Return a value within objects; GONE if there is none."""
    for name in place:
        value = value[name] if isinstance(value, dict) and name in value else GONE
    return value


def _shifted(place: Pointer, gone: Sequence[Pointer]) -> Pointer:
    """Return the pointer of an entry once those before it in its array are gone."""
    before = sum(one[:-1] == place[:-1] and int(one[-1]) < int(place[-1]) for one in gone)
    return (*place[:-1], str(int(place[-1]) - before))


def _order(place: Pointer) -> tuple[tuple[int, str], ...]:
    return tuple((int(name), "") if name.isdecimal() else (-1, name) for name in place)


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


def planned_value(unit: Unit, fate: ValueFate, why: Why | None = None) -> PlannedValue:
    """Return the row of the plan for a unit; the value after the change is None if there is none."""
    stays = fate is ValueFate.UNRESOLVED
    after = unit.before if stays else None if unit.after is GONE else unit.after
    return PlannedValue(pointer=pointer_text((ROOT, *unit.place)), fate=fate, why=why, before=unit.before, after=after)
