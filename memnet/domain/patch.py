"""JSON Patch (RFC 6902): checked for form first, then applied; the pointers are RFC 6901."""

from collections.abc import Sequence
from typing import Any

import jsonpatch
import jsonpointer

from memnet.domain.document import Json
from memnet.domain.errors import LimitExceeded, PatchMalformed, PatchNotApplicable, PatchTestFailed
from memnet.domain.json_text import MAX_DEPTH, children

OPERATIONS = frozenset({"add", "remove", "replace", "move", "copy", "test"})
WITH_VALUE = frozenset({"add", "replace", "test"})
WITH_FROM = frozenset({"move", "copy"})
MAX_POINTER_CHARS = 2048
MAX_COPIED_VALUES = 50_000
"""Each copy can double a document; without a bound, fifty of them would fill any memory."""

Op = dict[str, Any]
Pointer = tuple[str, ...]
"""The unescaped segments of a JSON Pointer; () is the whole document."""


def pointer(text: object) -> Pointer:
    """Split a JSON Pointer into its unescaped segments. Raises PatchMalformed if it is none."""
    if not isinstance(text, str) or len(text) > MAX_POINTER_CHARS:
        raise PatchMalformed("A JSON Pointer must be a string.")
    try:
        return tuple(jsonpointer.JsonPointer(text).parts)
    except jsonpointer.JsonPointerException as error:
        raise PatchMalformed(
            "A JSON Pointer is '' or starts with '/', and '~' stands only in '~0' and '~1'."
        ) from error


def pointer_text(segments: Sequence[str]) -> str:
    """Join segments into a JSON Pointer, escaping '~' and '/'."""
    return "".join("/" + segment.replace("~", "~0").replace("/", "~1") for segment in segments)


def check_form(ops: object) -> list[Op]:
    """Return `ops` if it is a JSON Patch document; raise PatchMalformed with the operation's index otherwise.

    Members that RFC 6902 does not define are ignored, as its section 4 asks.
    """
    if not isinstance(ops, list):
        raise PatchMalformed("The operations must be an array.")
    for index, op in enumerate(ops):
        try:
            _check_op(op)
        except PatchMalformed as error:
            raise PatchMalformed(error.message, op_index=index) from error
    return ops


def _check_op(op: object) -> None:
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
    if verb in WITH_FROM:
        if "from" not in op:
            raise PatchMalformed(f"{verb} needs a from.")
        source = pointer(op["from"])
        if verb == "move" and len(source) < len(target) and target[: len(source)] == source:
            raise PatchMalformed("move cannot put a value into itself.")


def apply(document: Json, ops: list[Op]) -> Json:
    """Apply a well-formed patch to `document`, which is consumed: it may be changed, also when this raises.

    Returns the patched document. Raises PatchNotApplicable, PatchTestFailed or LimitExceeded (copies that explode,
    a value nested too deep), each with the operation's index.
    """
    budget = MAX_COPIED_VALUES
    for index, op in enumerate(ops):
        try:
            if op["op"] != "test" and op["op"] != "remove":
                budget -= _check_growth(document, op, budget)
            document = jsonpatch.JsonPatch([op]).apply(document, in_place=True)
        except jsonpatch.JsonPatchTestFailed as error:
            raise PatchTestFailed(op_index=index, path=op["path"]) from error
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
            raise PatchNotApplicable(op_index=index, path=op["path"]) from error
        except LimitExceeded as error:
            raise LimitExceeded(error.message, op_index=index) from error
    return document


def resolve(document: Json, text: str) -> Json:
    """Return the value at a pointer. Raises PatchNotApplicable if there is none."""
    try:
        return jsonpointer.JsonPointer(text).resolve(document)
    except jsonpointer.JsonPointerException as error:
        raise PatchNotApplicable(path=text) from error


def _check_growth(document: Json, op: Op, budget: int) -> int:
    """Refuse what would nest too deep or copy too much; return how many values a copy adds."""
    value = op["value"] if op["op"] in WITH_VALUE else jsonpointer.JsonPointer(op["from"]).resolve(document)
    depth, count, level = len(jsonpointer.JsonPointer(op["path"]).parts), 0, [value]
    while level:
        count += len(level)
        if depth > MAX_DEPTH:
            raise LimitExceeded(f"The document would be nested deeper than {MAX_DEPTH} levels.")
        if op["op"] == "copy" and count > budget:
            raise LimitExceeded(f"The copies of one patch are limited to {MAX_COPIED_VALUES} values.")
        level = children(level)
        depth += 1
    return count if op["op"] == "copy" else 0
