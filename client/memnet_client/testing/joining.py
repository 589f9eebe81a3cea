"""A proposal that waits already: it gets the evidence of the equal one, and no second item is added."""

from copy import deepcopy

from memnet_client.testing.json_patch import Json, Pointer, canonical, pointer, pointer_text, resolve
from memnet_client.testing.statements import normal

OWN = ("proposed_by", "profile_id", "binding_id")
FILLED = {"id", "text", "confidence", "evidence", "last_verified_at"}


def find_equal(item: Json, content: Json, section: Pointer, taken: set[int]) -> int | None:
    """Return the index of the waiting item that proposes to add the same to the same array; None: there is none."""
    try:
        waiting = resolve(content, section)
    except LookupError:
        return None
    found = (index for index, one in enumerate(waiting) if index not in taken and _is_same(item, one))
    return next(found, None)


def joint(kept: Json, item: Json) -> Json:
    """Return the waiting item with the evidence of the equal one and the higher confidence."""
    made = _with_sources(kept, item)
    value, other = kept["target"]["value"], item["target"]["value"]
    if isinstance(value, dict) and isinstance(other, dict):
        made["target"] = {**kept["target"], "value": _with_sources(value, other)}
    return made


def replacement(section: Pointer, index: int, item: Json) -> Json:
    """Return the operation that writes the joint item."""
    return {"op": "replace", "path": pointer_text(("content", *section, str(index))), "value": item}


def _is_same(item: Json, other: Json) -> bool:
    if not isinstance(other, dict) or any(item.get(name) != other.get(name) for name in OWN):
        return False
    array = _extended(item)
    if array is None or array != _extended(other):
        return False
    one, another = item["target"]["value"], other["target"]["value"]
    text = _text(one)
    return text is not None and text == _text(another) and _rest(one) == _rest(another)


def _extended(item: Json) -> Pointer | None:
    """Return the array that an item adds an entry to, at its end; None: it does something else."""
    target: Json = item.get("target")
    if not isinstance(target, dict) or target["op"] != "add":
        return None
    place = pointer(target["path"])
    try:
        entries = resolve(item.get("base"), place[1:-1])
    except LookupError:
        return None
    is_end = isinstance(entries, list) and place[-1] in ("-", str(len(entries)))
    return place[:-1] if is_end else None


def _text(value: Json) -> str | None:
    said = value.get("text") if isinstance(value, dict) else value
    return normal(said) if isinstance(said, str) else None


def _rest(value: Json) -> str:
    return canonical(
        {name: one for name, one in value.items() if name not in FILLED} if isinstance(value, dict) else {}
    )


def _with_sources(kept: Json, other: Json) -> Json:
    made = deepcopy(kept)
    had, more = made.get("evidence"), other.get("evidence")
    if isinstance(had, dict) and isinstance(more, dict):
        known = [{name: one for name, one in had.items() if name != "also"}, *had.get("also", ())]
        new = [one for one in [more] if one not in known]
        made["evidence"] = {**had, "also": [*had.get("also", ()), *new]} if new else had
    elif more is not None:
        made["evidence"] = more
    sure = [one for one in (kept.get("confidence"), other.get("confidence")) if one is not None]
    return made | ({"confidence": max(sure)} if sure else {})
