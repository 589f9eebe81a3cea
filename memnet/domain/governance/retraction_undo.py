"""Bring back what a retraction took from a document, where no other write has changed it since."""

from collections.abc import Callable, Sequence

import orjson

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import MemnetError
from memnet.domain.core.json_patch import Op, Pointer, apply, pointer, pointer_text, resolve
from memnet.domain.core.scope import Json
from memnet.domain.documents.rebase import Rebased, rebase
from memnet.domain.history.origin import Traced

Fits = Callable[[Sequence[Op]], bool]
"""Whether the document may become what these operations make of it."""


def restore(
    *, before: Json, ops: Sequence[Op], named: Sequence[str], current: Json, rules: Sequence[SectionUpkeep], fits: Fits
) -> tuple[list[Op], list[str]]:
    """Return the operations on `current` that undo `ops`, which were applied to `before`, and what stays as it is.

    Where nothing was written since, the result is `before`, byte for byte. Otherwise each of the values `named` comes
    back if it can be rebased and the result fits.
    """
    inverse, after = invert(before, ops)
    if canonical(after) == canonical(current):
        return inverse, []
    restored: list[Op] = []
    kept: list[str] = []
    base = after
    for text, group in _grouped(inverse, named):
        theirs = _applied(current, restored)
        following = _applied(base, group)
        made = _rebased(group, base, theirs, rules)
        if made is None or not fits([*restored, *made]):
            kept.append(text)
        else:
            restored += made
        base = following
    return restored, kept


def invert(before: Json, ops: Sequence[Op]) -> tuple[list[Op], Json]:
    """Return the operations that turn the result of `ops` into `before` again, and that result."""
    state = {ROOT: _copy(before)}
    inverse: list[Op] = []
    for op in ops:
        path, text = pointer(op["path"]), op["path"]
        parent = resolve(state, pointer_text(path[:-1])) if path else None
        inserts = isinstance(parent, list) and op["op"] == "add"
        if inserts and isinstance(parent, list):
            index = len(parent) if path[-1] == "-" else int(path[-1])
            inverse.append({"op": "remove", "path": pointer_text((*path[:-1], str(index)))})
        elif op["op"] == "add" and isinstance(parent, dict) and path[-1] not in parent:
            inverse.append({"op": "remove", "path": text})
        else:
            verb = "add" if op["op"] == "remove" else "replace"
            inverse.append({"op": verb, "path": text, "value": _copy(resolve(state, text))})
        state = apply(state, [_copy(op)])
    return list(reversed(inverse)), state[ROOT]


def _grouped(ops: Sequence[Op], named: Sequence[str]) -> list[tuple[str, list[Op]]]:
    """Return the operations in their order, those of one named value in a row together."""
    places = {pointer(text): text for text in named}
    groups: list[tuple[str, list[Op]]] = []
    for op in ops:
        text = _name(pointer(op["path"]), places) or op["path"]
        if groups and groups[-1][0] == text:
            groups[-1][1].append(op)
        else:
            groups.append((text, [op]))
    return groups


def _name(path: Pointer, places: dict[Pointer, str]) -> str | None:
    return next((text for place, text in places.items() if path[: len(place)] == place), None)


def _rebased(ops: list[Op], base: Json, theirs: Json, rules: Sequence[SectionUpkeep]) -> list[Op] | None:
    try:
        found = rebase(_copy(ops), base, theirs, rules)
    except MemnetError:
        return None
    return found.ops if isinstance(found, Rebased) else None


def _applied(content: Json, ops: Sequence[Op]) -> Json:
    return apply({ROOT: _copy(content)}, _copy(list(ops)))[ROOT]


def _copy(value: Json) -> Json:
    return orjson.loads(canonical(value))


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


def scalars_of(content: Json) -> frozenset[tuple[str, bytes]]:
    """Return each scalar of a content by its top-level member."""
    found: set[tuple[str, bytes]] = set()
    waiting = [(str(name), value) for name, value in content.items()] if isinstance(content, dict) else [("", content)]
    while waiting:
        section, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(section, child) for child in value.values()]
        elif isinstance(value, list):
            waiting += [(section, child) for child in value]
        else:
            found.add((section, canonical(value)))
    return frozenset(found)
