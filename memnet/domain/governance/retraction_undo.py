"""Bring back what a retraction took from a document, where no other write has changed it since."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import MemnetError
from memnet.domain.core.json_patch import Op, Pointer, apply, pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.documents.rebase import Rebased, rebase
from memnet.domain.documents.retraction_gate import Known
from memnet.domain.history.origin import Traced, copied, traced
from memnet.domain.history.restored_origins import OWN

Fits = Callable[[Sequence[Op]], bool]
"""Whether the document may become what these operations make of it."""


@dataclass(frozen=True, slots=True)
class Undoing:
    """What undoes a patch: the operations, where the value of each comes from, and what stays as it is."""

    ops: Sequence[Op] = ()
    sources: Sequence[Traced | None] = ()
    """The trees of the values, with the origins that they had; None for a removal."""
    kept: Sequence[str] = ()
    """The pointers of the named values that another write has changed since, or that the rules do not allow."""


def restore(
    *,
    before: Traced,
    ops: Sequence[Op],
    named: Sequence[str],
    current: Json,
    rules: Sequence[SectionUpkeep],
    fits: Fits,
) -> Undoing:
    """Return what undoes `ops`, which were applied to `before`, on `current`.

    Where nothing was written since, the result is `before`, byte for byte. Otherwise each of the values `named` comes
    back if it can be rebased and the result fits.
    """
    inverse, after = invert(before, ops)
    if canonical(after) == canonical(current) and fits([step.op for step in inverse]):
        return Undoing([step.op for step in inverse], [step.source for step in inverse])
    restored: list[Step] = []
    kept: list[str] = []
    base = after
    for text, group in _grouped(inverse, named):
        theirs = _applied(current, restored)
        following = _applied(base, group)
        made = _rebased(group, base, theirs, rules)
        if made is None or not fits([step.op for step in [*restored, *made]]):
            kept.append(text)
        else:
            restored += made
        base = following
    return Undoing([step.op for step in restored], [step.source for step in restored], kept)


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of an undo, and where its value comes from."""

    op: Op
    source: Traced | None


def invert(before: Traced, ops: Sequence[Op]) -> tuple[list[Step], Json]:
    """Return the steps that turn the result of `ops` (add, replace, remove) into `before` again, and that result."""
    tree = Traced({ROOT: copied(before)}, before.origin)
    inverse: list[Step] = []
    for op in ops:
        path, text = pointer(op["path"]), op["path"]
        parent = tree.at(path[:-1]).value
        if op["op"] == "remove":
            inverse.append(_put("add", text, tree.remove(path)))
        elif op["op"] == "add" and isinstance(parent, list):
            index = len(parent) if path[-1] == "-" else int(path[-1])
            inverse.append(Step({"op": "remove", "path": pointer_text((*path[:-1], str(index)))}, None))
            tree.insert(path, traced(op["value"], OWN))
        elif op["op"] == "add" and path[-1] not in parent:
            inverse.append(Step({"op": "remove", "path": text}, None))
            tree.insert(path, traced(op["value"], OWN))
        else:
            inverse.append(_put("replace", text, tree.at(path)))
            tree.replace(path, traced(op["value"], OWN))
    return list(reversed(inverse)), tree.at((ROOT,)).plain()


def _put(verb: str, path: str, source: Traced) -> Step:
    return Step({"op": verb, "path": path, "value": source.plain()}, source)


def _grouped(steps: Sequence[Step], named: Sequence[str]) -> list[tuple[str, list[Step]]]:
    """Return the steps in their order, those of one named value in a row together."""
    places = {pointer(text): text for text in named}
    groups: list[tuple[str, list[Step]]] = []
    for step in steps:
        text = _name(pointer(step.op["path"]), places) or step.op["path"]
        if groups and groups[-1][0] == text:
            groups[-1][1].append(step)
        else:
            groups.append((text, [step]))
    return groups


def _name(path: Pointer, places: dict[Pointer, str]) -> str | None:
    return next((text for place, text in places.items() if path[: len(place)] == place), None)


def _rebased(steps: Sequence[Step], base: Json, theirs: Json, rules: Sequence[SectionUpkeep]) -> list[Step] | None:
    try:
        found = rebase(_copy([step.op for step in steps]), base, theirs, rules)
    except MemnetError:
        return None
    if not isinstance(found, Rebased):
        return None
    sources = [step.source for index, step in enumerate(steps) if index not in found.already_there]
    return [Step(op, source) for op, source in zip(found.ops, sources, strict=True)]


def _applied(content: Json, steps: Sequence[Step]) -> Json:
    return apply({ROOT: _copy(content)}, _copy([step.op for step in steps]))[ROOT]


def _copy(value: Json) -> Json:
    return orjson.loads(canonical(value))


def known_values(content: Traced) -> Known:
    """Return each scalar that a section has or had, as far as it is known: what a retraction may leave there."""
    return frozenset(
        (place[0] if place else "", canonical(leaf.plain()))
        for place, node in content.nodes()
        for one in [node, *node.before()]
        for _, leaf in one.nodes()
        if not leaf.children()
    )
