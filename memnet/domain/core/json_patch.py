"""Parse and apply JSON Patch (RFC 6902) with JSON Pointers (RFC 6901)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jsonpatch
import jsonpointer

from memnet.domain.core.canonical_json import MAX_DEPTH, canonical, children, containers
from memnet.domain.core.errors import LimitExceeded, PatchMalformed, PatchNotApplicable, PatchTestFailed
from memnet.domain.core.scope import Json
from memnet.domain.core.suggestion import did_you_mean

OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})
WITH_VALUE = frozenset({"add", "replace", "test"})
WITH_FROM = frozenset({"move", "copy"})
READING = WITH_FROM | {"test"}
"""The operations whose result depends on stored values, so that they require a role that reads."""
MAX_POINTER_CHARS = 2048
MAX_CARRIED = 500_000
"""The limit of values and characters that the copies of one patch carry: each copy can double a document."""

Op = dict[str, Any]
"""An operation as it is sent and stored."""
Pointer = tuple[str, ...]
"""The unescaped segments of a JSON Pointer; () is the whole document."""


def pointer(text: object) -> Pointer:
    """Split a JSON Pointer into its unescaped segments. Raises PatchMalformed if it is none."""
    if not isinstance(text, str):
        raise PatchMalformed("A JSON Pointer must be a string.")
    if len(text) > MAX_POINTER_CHARS:
        raise PatchMalformed(f"A JSON Pointer is limited to {MAX_POINTER_CHARS} characters.")
    try:
        return tuple(jsonpointer.JsonPointer(text).parts)
    except jsonpointer.JsonPointerException as error:
        message = "A JSON Pointer is '' or starts with '/', and '~' occurs only in '~0' and '~1'."
        hint = None if text.startswith("/") else did_you_mean(f"/{text}", [f"/{text}"])
        raise PatchMalformed(message, hint=hint) from error


def pointer_text(segments: Sequence[str]) -> str:
    """Join segments into a JSON Pointer, escaping '~' and '/'."""
    return "".join("/" + segment.replace("~", "~0").replace("/", "~1") for segment in segments)


@dataclass(frozen=True, slots=True)
class Operation:
    """A well-formed operation whose pointers are parsed."""

    verb: str
    path: Pointer
    source: Pointer | None
    body: Op

    @property
    def value(self) -> Json:
        """The value of an add, replace or test."""
        return self.body["value"]


def addition(path: Pointer, value: Json) -> Operation:
    """Return the operation that adds `value` at `path`."""
    return Operation("add", path, None, {"op": "add", "path": pointer_text(path), "value": value})


def parse_patch(ops: object) -> list[Operation]:
    """Parse a JSON Patch document; unknown members are ignored (RFC 6902, section 4).

    Raises PatchMalformed, whose details name the index of the operation.
    """
    if not isinstance(ops, list):
        raise PatchMalformed("The operations must be an array.")
    parsed = []
    for index, op in enumerate(ops):
        try:
            parsed.append(_parsed(op))
        except PatchMalformed as error:
            raise PatchMalformed(error.message, param=f"/ops/{index}", hint=error.hint, op_index=index) from error
    return parsed


def _parsed(op: object) -> Operation:
    if not isinstance(op, dict):
        raise PatchMalformed("An operation must be an object.")
    verb = op.get("op")
    if not isinstance(verb, str) or verb not in OPERATIONS:
        raise PatchMalformed(f"op must be one of {', '.join(sorted(OPERATIONS))}.")
    if "path" not in op:
        raise PatchMalformed("An operation needs a path.")
    target = pointer(op["path"])
    if verb in WITH_VALUE and "value" not in op:
        raise PatchMalformed(f"{verb} needs a value.")
    source = None
    if verb in WITH_FROM:
        if "from" not in op:
            raise PatchMalformed(f"{verb} needs a from.")
        source = pointer(op["from"])
        if verb == "move" and len(source) < len(target) and target[: len(source)] == source:
            raise PatchMalformed("move cannot put a value into itself.")
    return Operation(verb, target, source, op)


def apply(document: Json, ops: list[Op]) -> Json:
    """Apply a well-formed patch and return the result. `document` may be changed, even on an error.

    Raises PatchNotApplicable, PatchTestFailed, and LimitExceeded if copies carry too much or a value nests too deep.
    """
    budget = MAX_CARRIED
    for index, op in enumerate(ops):
        try:
            if op["op"] != "test" and op["op"] != "remove":
                budget -= _check_growth(document, op, budget)
            document = jsonpatch.JsonPatch([op]).apply(document, in_place=True)
        except jsonpatch.JsonPatchTestFailed:
            # Not chained: the library's message quotes the document, and a traceback would print it.
            raise PatchTestFailed(param=f"/ops/{index}", op_index=index, path=op["path"]) from None
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException):
            raise _not_applicable(document, op, index) from None
        except LimitExceeded as error:
            raise LimitExceeded(error.message, param=f"/ops/{index}", op_index=index) from error
    return document


def _not_applicable(document: Json, op: Op, index: int) -> PatchNotApplicable:
    """Return the error of an operation: its pointer, and the length of the array that lacks the index."""
    for name in ("path", "from"):
        node, place = document, pointer(op.get(name, ""))
        for depth, segment in enumerate(place):
            if isinstance(node, dict) and segment in node:
                node = node[segment]
            elif isinstance(node, list) and segment.isdecimal() and int(segment) < len(node):
                node = node[int(segment)]
            elif isinstance(node, list) and segment != "-":
                above, found = pointer_text(place[:depth]), len(node)
                held = f"{found} item" if found == 1 else f"{found} items"
                message = f"The array {above} has {held}, and the operation names another index."
                return PatchNotApplicable(
                    message, param=f"/ops/{index}/{name}", op_index=index, path=op["path"], items=found
                )
            else:
                break
    return PatchNotApplicable(param=f"/ops/{index}/path", op_index=index, path=op["path"])


def resolve(document: Json, text: str) -> Json:
    """Return the value at a pointer. Raises PatchNotApplicable if there is none."""
    try:
        value = jsonpointer.JsonPointer(text).resolve(document)
    except jsonpointer.JsonPointerException:
        raise PatchNotApplicable(path=text) from None
    if isinstance(value, jsonpointer.EndOfList):
        raise PatchNotApplicable(path=text)
    return value


def _check_growth(document: Json, op: Op, budget: int) -> int:
    """Return what a copy or move carries. Raises LimitExceeded if it is too much or nests too deep."""
    carries = op["op"] in WITH_FROM
    value = jsonpointer.JsonPointer(op["from"]).resolve(document) if carries else op["value"]
    depth, weight, level = len(jsonpointer.JsonPointer(op["path"]).parts), 0, [value]
    while level:
        if carries:
            weight += sum(map(_weight, level))
        if weight > budget:
            raise LimitExceeded(f"The copies and moves of one patch are limited to {MAX_CARRIED} characters.")
        level = containers(level)
        depth += 1
        if level and depth > MAX_DEPTH:
            raise LimitExceeded(f"The document would be nested deeper than {MAX_DEPTH} levels.")
        level = children(level)
    return weight


def _weight(value: Json) -> int:
    """Return one plus the characters of a string or of an object's names."""
    if isinstance(value, dict):
        return 1 + sum(map(len, value))
    return 1 + len(value) if isinstance(value, str) else 1


def member_ops(place: Pointer, old: dict[str, Json], new: dict[str, Json]) -> list[Op]:
    """Return the operations that turn the members of the object at `place` into others."""
    ops: list[Op] = [{"op": "remove", "path": pointer_text((*place, name))} for name in sorted(old.keys() - new.keys())]
    for name in sorted(new):
        if name not in old or canonical(old[name]) != canonical(new[name]):
            verb = "replace" if name in old else "add"
            ops.append({"op": verb, "path": pointer_text((*place, name)), "value": new[name]})
    return ops
