"""Apply a migration to contents: JSON Patch steps, and the named functions that they may call.

The steps of a target work on {"sources": {name: document}, "content": {}}, with documents as clients see them. The
value at "content" after the last step is the result. A function receives the value at the step's path, the step's
`with` and the sources, and returns the new value. It must be pure: the same versions always make the same content.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import orjson

from memnet.domain.catalog.migration_model import Step, Target
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.core import json_patch
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.errors import MemnetError, PatchMalformed, PatchNotApplicable
from memnet.domain.core.json_patch import parse_patch, pointer
from memnet.domain.core.scope import Json
from memnet.domain.core.violations import Problem

SOURCES: Final = "sources"
APPLY: Final = "apply"
MEMBERS: Final = {
    "add": {"value"},
    "remove": set[str](),
    "replace": {"value"},
    "move": {"from"},
    "copy": {"from"},
    "test": {"value"},
    APPLY: {"function", "with"},
}
ID_CHARS: Final = 16
_ABSENT: Final = object()

Function = Callable[[Json, Mapping[str, Json], Mapping[str, Json]], Json]


def map_entries(entries: Json, arguments: Mapping[str, Json], sources: Mapping[str, Json]) -> Json:
    """Replace each entry of an array by the filled `template`.

    In the template "$entry" is the entry, "$entry/…" a value in it, "$sources/…" a value in the sources, and "$id" an
    id made from the entry's content. Values that do not exist are left out.
    """
    if not isinstance(entries, list):
        raise PatchNotApplicable("map_entries needs an array.")
    seen = Counter[bytes]()
    made = []
    for entry in entries:
        text = canonical(entry)
        seen[text] += 1
        values = {"$entry": entry, "$sources": sources, "$id": sha256_hex(text + b"%d" % seen[text])[:ID_CHARS]}
        filled = _fill(arguments["template"], values)
        if filled is not _ABSENT:
            made.append(filled)
    return made


FUNCTIONS: Final[Mapping[str, tuple[Function, frozenset[str]]]] = MappingProxyType(
    {"map_entries": (map_entries, frozenset({"template"}))}
)
"""Name -> the function and the members that `with` must have. Released migrations rely on a function, so it must not
change: add a new one instead.
"""


def make(target: Target, sources: Mapping[str, Json]) -> Json:
    """Return what the steps make of `sources`. Raises PatchNotApplicable, PatchTestFailed or LimitExceeded."""
    state: Json = orjson.loads(canonical({SOURCES: sources, ROOT: {}}))
    given = orjson.loads(canonical(sources))
    for index, step in enumerate(target.steps):
        try:
            state = _apply(orjson.loads(canonical(step)), state, given)
        except MemnetError as error:
            error.details["op_index"] = index
            raise
    return state[ROOT]


def _apply(step: Step, state: Json, sources: Mapping[str, Json]) -> Json:
    if step.pop("if_present", False) and not _exists(state, step["from"] if "from" in step else step["path"]):
        return state
    if step["op"] == APPLY:
        function, _ = FUNCTIONS[step["function"]]
        value = function(json_patch.resolve(state, step["path"]), step.get("with", {}), sources)
        step = {"op": "replace", "path": step["path"], "value": value}
    return json_patch.apply(state, [step])


def _exists(state: Json, text: str) -> bool:
    try:
        json_patch.resolve(state, text)
    except PatchNotApplicable:
        return False
    return True


def _fill(template: Json, values: Mapping[str, Json]) -> Json:
    if isinstance(template, str):
        return _look_up(template, values)
    if isinstance(template, dict):
        filled = {name: _fill(value, values) for name, value in template.items()}
        return {name: value for name, value in filled.items() if value is not _ABSENT}
    if isinstance(template, list):
        return [value for item in template if (value := _fill(item, values)) is not _ABSENT]
    return template


def _look_up(text: str, values: Mapping[str, Json]) -> Json:
    name, slash, rest = text.partition("/")
    if name not in values:
        return text
    try:
        return orjson.loads(canonical(json_patch.resolve(values[name], slash + rest)))
    except (PatchNotApplicable, PatchMalformed):
        return _ABSENT


def check_steps(target: Target, sources: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems of the steps' form; `sources` has the names of the sources."""
    for index, step in enumerate(target.steps):
        try:
            yield from (Problem(f"/steps/{index}{p.pointer}", p.reason) for p in _check_step(step, sources))
        except PatchMalformed as error:
            yield Problem(f"/steps/{index}", error.message)


def _check_step(step: Step, sources: Mapping[str, Any]) -> Iterator[Problem]:
    verb = step.get("op")
    if not isinstance(verb, str) or verb not in MEMBERS:
        yield Problem("/op", f"must be one of {', '.join(MEMBERS)}")
        return
    if verb == APPLY:
        yield from _check_call(step)
        step = {**step, "op": "remove"}
    parse_patch([step])
    for name in sorted(step.keys() - {"op", "path", "if_present"} - MEMBERS[verb]):
        yield Problem(f"/{name}", f"is not a member that {verb} has")
    if not isinstance(step.get("if_present", False), bool):
        yield Problem("/if_present", "must be true or false")
    if pointer(step["path"])[:1] != (ROOT,):
        yield Problem("/path", f"must begin with /{ROOT}")
    if "from" in step and not _is_readable(pointer(step["from"]), sources):
        yield Problem("/from", f"must begin with /{ROOT} or with /{SOURCES}/ and the name of a source")


def _check_call(step: Step) -> Iterator[Problem]:
    name = step.get("function")
    if not isinstance(name, str) or name not in FUNCTIONS:
        yield Problem("/function", f"must be one of {', '.join(sorted(FUNCTIONS))}")
        return
    needed = FUNCTIONS[name][1]
    given = step.get("with", {})
    if not isinstance(given, dict) or given.keys() != needed:
        yield Problem("/with", f"must be an object of {', '.join(sorted(needed))}")


def _is_readable(place: tuple[str, ...], sources: Mapping[str, Any]) -> bool:
    return place[:1] == (ROOT,) or (place[:1] == (SOURCES,) and len(place) > 1 and place[1] in sources)
