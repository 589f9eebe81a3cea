"""A profile and its rules: documents, writable paths, denied fields, durable, pending and guidance sections."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy

from memnet_client.identifiers import SEGMENT
from memnet_client.testing.json_patch import ROOT, WITH_VALUE, Json, Pointer, digest, pointer
from memnet_client.testing.refusals import Refusal

_DEFAULTS: Json = {
    "version": "1.0.0",
    "extends": None,
    "writable_path_rules": {},
    "denied_fields": [],
    "durable_sections": {},
    "pending_sections": {},
    "guidance_sections": {},
    "rendering": [],
    "confirmed_by": "another_principal",
    "durable_writes": "confident",
    "max_ops": 50,
    "allowed_principals": None,
    "confidence_rules": {},
    "compaction_rules": {},
    "upkeep_rules": {},
    "routing": None,
    "recall": {},
}
_BINDING: Json = {"path": None, "path_template": None, "write_mode": "restricted_patch", "initial_content": None}
_THRESHOLDS = {"min_confidence_for_durable_fact": 0.0, "min_confidence_for_auto_apply": 0.0}


class Profile:
    """The JSON of a profile with its defaults, and what it allows."""

    def __init__(self, body: Json) -> None:
        """Take the JSON of a file in profiles/, or of `get_profile`, which is joined with what it extends."""
        self.body: Json = {**deepcopy(_DEFAULTS), **deepcopy(body)}
        self.body["document_bindings"] = [{**_BINDING, **binding} for binding in self.body["document_bindings"]]
        self.body["confidence_rules"] = {**_THRESHOLDS, **self.body["confidence_rules"]}
        self.profile_id: str = self.body["profile_id"]
        self.sha256 = digest(body)
        self.etag = f'"{digest(self.body)}"'

    @property
    def bindings(self) -> list[Json]:
        """The bindings by read_priority."""
        return sorted(self.body["document_bindings"], key=lambda binding: int(binding["read_priority"]))

    def admits(self, principal: str) -> bool:
        """Whether a principal may use the profile."""
        allowed = self.body["allowed_principals"]
        return allowed is None or principal in allowed

    def binding(self, binding_id: str) -> Json:
        """Return a binding. Raises Refusal BINDING_NOT_FOUND."""
        for binding in self.body["document_bindings"]:
            if binding["binding_id"] == binding_id:
                return binding
        raise Refusal("BINDING_NOT_FOUND", "The profile has no such binding.")

    def writable(self, binding_id: str) -> list[Pointer]:
        """Return the pointers below which a patch may write."""
        return _pointers(self.body["writable_path_rules"], binding_id)

    def durable(self, binding_id: str) -> list[Pointer]:
        """Return the durable sections."""
        return _pointers(self.body["durable_sections"], binding_id)

    def guidance(self, binding_id: str) -> list[Pointer]:
        """Return the guidance sections."""
        return _pointers(self.body["guidance_sections"], binding_id)

    def statements(self, binding_id: str) -> dict[Pointer, Json]:
        """Return the rules of the sections of statements: the members that each names, and `id_field`."""
        rules = self.body["upkeep_rules"].get(binding_id, [])
        return {
            pointer(rule["section"]): {"id_field": rule.get("id_field", "id"), **rule["statements"]}
            for rule in rules
            if rule.get("statements")
        }

    def pending(self, binding_id: str) -> Pointer | None:
        """Return the pending section, if there is one."""
        section = self.body["pending_sections"].get(binding_id)
        return None if section is None else pointer(section)

    def threshold(self, name: str) -> float:
        """Return a threshold of the confidence rules."""
        return float(self.body["confidence_rules"][f"min_confidence_for_{name}"])

    def limits(self, binding_id: str) -> Iterator[tuple[str, int]]:
        """Yield the name and the maximum length of each limited array."""
        for rule, allowed in self.body["compaction_rules"].get(binding_id, {}).items():
            yield rule.removeprefix("max_"), allowed

    def check_denied(self, ops: list[Json]) -> None:
        """Raise Refusal FIELD_DENIED if an operation adds a denied field."""
        fields = self.body["denied_fields"]
        names = {field.casefold() for field in fields if not field.startswith("/")}
        places = [pointer(field) for field in fields if field.startswith("/")]
        for index, op in enumerate(ops):
            here = pointer(op["path"])[1:]
            added = _places(op["value"], here) if op["op"] in WITH_VALUE - {"test"} else [here]
            for place in [] if op["op"] in ("test", "remove") else added:
                by_name = names & {segment.casefold() for segment in place}
                if by_name or any(lies_within(place, rule) for rule in places):
                    raise Refusal("FIELD_DENIED", "The profile refuses this field.", op_index=index)


def variable(binding: Json) -> str | None:
    """Return the name of the template's variable; None for a fixed path."""
    template = binding["path_template"]
    return None if template is None else str(template.partition("{")[2].partition("}")[0])


def place_of(binding: Json, ids: Mapping[str, str]) -> tuple[str, str] | None:
    """Return namespace and path of a binding's document; None if its id is missing."""
    name = variable(binding)
    if name is None:
        return binding["namespace"], binding["path"]
    if name not in ids:
        return None
    return binding["namespace"], binding["path_template"].replace(f"{{{name}}}", ids[name])


def covers(binding: Json, place: tuple[str, str]) -> bool:
    """Whether the document belongs to the binding."""
    if binding["path_template"] is None:
        return place == (binding["namespace"], binding["path"])
    before, after = binding["path_template"].split(f"{{{variable(binding)}}}")
    pattern = f"{re.escape(before)}(?:{SEGMENT.pattern}){re.escape(after)}"
    return place[0] == binding["namespace"] and re.fullmatch(pattern, place[1], re.ASCII) is not None


def lies_within(place: Pointer, rule: Pointer) -> bool:
    """Whether a pointer is at or below the pointer of a rule."""
    return len(place) >= len(rule) and touches(place, rule)


def touches(place: Pointer, rule: Pointer) -> bool:
    """Whether writing at a pointer can change a value at the pointer of a rule."""
    return all(known in ("*", given) for known, given in zip(rule, place, strict=False))


def written(op: Json) -> list[Pointer]:
    """Return the pointers below /content that an operation changes."""
    if op["op"] == "test":
        return []
    source = [pointer(op["from"])[1:]] if op["op"] == "move" else []
    return [pointer(op["path"])[1:], *source]


def check_writable(ops: list[Json], rules: list[Pointer]) -> None:
    """Raise Refusal PATH_NOT_WRITABLE for a path or source outside the rules."""
    for index, op in enumerate(ops):
        for name in ("path", "from"):
            place = pointer(op[name]) if name in op else None
            if place is None:
                continue
            inside = place[:1] == (ROOT,)
            if not inside or (op["op"] != "test" and not any(lies_within(place[1:], rule) for rule in rules)):
                message = "The profile does not allow this binding to write at this path."
                raise Refusal("PATH_NOT_WRITABLE", message, op_index=index, path=op[name])


def _pointers(rules: Json, binding_id: str) -> list[Pointer]:
    return [pointer(text) for text in rules.get(binding_id, ())]


def _places(value: Json, here: Pointer) -> Iterator[Pointer]:
    yield here
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in members:
        yield from _places(child, (*here, str(name)))
