"""Join a profile with the profile that it extends, its base.

What the base says about its own documents applies unchanged: an overlay adds documents with their rules, makes the
base stricter, and sets what concerns only its own conversations. Anything else contradicts the base.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.catalog.rule_types import Identifier, ProfilePart
from memnet.domain.catalog.rules import ExtractionRules
from memnet.domain.catalog.statement_rules import Corroboration
from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.core.suggestion import closest
from memnet.domain.core.violations import Problem

Body = dict[str, Any]


class OverlayExtraction(ExtractionRules):
    """The rules of an overlay for extraction: the base names the prompt for its documents."""

    prompt_id: Identifier = ""
    prompt_version: Identifier = ""


class OverlayCorroboration(Corroboration):
    """The rules of an overlay for corroboration: what it leaves out is the base's."""

    statements: int = 2


class Overlay(Profile):
    """The file of a profile that extends another; it may add no document."""

    document_bindings: tuple[Binding, ...] = ()
    extraction: OverlayExtraction | None = None
    corroboration: OverlayCorroboration | None = None


@dataclass(frozen=True, slots=True)
class _Limit:
    """What an overlay may write for a member of its base: `allows` compares it with the base's value."""

    allows: Callable[[Any, Any], bool]
    remedy: str
    """With {base} for the base's value."""


def _ordered(*values: Json) -> _Limit:
    """Return the limit of a member with these values, the strictest last."""
    return _Limit(lambda given, base: values.index(given) >= values.index(base), "remove it, or write the base's value")


AGAIN: Final = _Limit(lambda given, base: True, "")
FIXED: Final = _Limit(lambda given, base: given == base, "remove it: the base's value applies")
WITHOUT: Final = replace(FIXED, allows=lambda given, base: base is None or given == base)
"""May be set if the base has none."""
AT_MOST: Final = _Limit(lambda given, base: given <= base, "write at most {base}")
AT_LEAST: Final = _Limit(lambda given, base: given >= base, "write at least {base}")
AMONG: Final = _Limit(
    lambda given, base: base is None or (given is not None and set(given) <= set(base)), "write only some of {base}"
)
OWN: Final = ("profile_id", "version", "extends")
APPENDED: Final = ("document_bindings", "denied_fields", "extraction.cues", "extraction.cue_sets")
FIRST: Final = ("rendering",)
"""Lists in which the entries of the overlay come before those of the base."""
BY_BINDING: Final = (
    *("writable_path_rules", "durable_sections", "pending_sections", "compaction_rules", "upkeep_rules"),
    *("guidance_sections", "extraction.items", "extraction.prompts"),
)
"""Maps by binding_id: an overlay names only bindings that it adds."""
BY_NAME: Final = ("ttl_classes", "sensitive_content.shapes", "recall.pipelines")
"""Maps to which an overlay adds names."""
PARTS: Final = (
    *("sensitive_content", "retention_rules", "confidence_rules", "turns", "turns.gates", "recall", "extraction"),
    "corroboration",
)
"""Members that are joined member by member."""
LIMITS: Final[Mapping[str, _Limit]] = {
    "sensitive_content.allow": AMONG,
    "confirmed_by": _ordered("anyone", "another_principal"),
    "retracted_by": _ordered("anyone", "another_principal"),
    "durable_writes": _ordered("confident", "confirmed_only"),
    "max_ops": AT_MOST,
    "allowed_principals": AMONG,
    "confidence_rules.min_confidence_for_durable_fact": AT_LEAST,
    "confidence_rules.min_confidence_for_auto_apply": AT_LEAST,
    "corroboration.statements": AT_LEAST,
    "corroboration.days_apart": AT_LEAST,
    "routing": WITHOUT,
    "extraction.prompt_id": FIXED,
    "extraction.prompt_version": FIXED,
    "extraction.max_confidence": AT_MOST,
    "extraction.max_patches": FIXED,
    "extraction.judge": FIXED,
    "upkeep_fill": AGAIN,
    **{f"retention_rules.{kind}_days": AGAIN for kind in ("snapshots", "events", "jobs")},
    # Documents of the base have records of both profiles, in common segments.
    "retention_rules.audit_days": FIXED,
    **{f"turns.{name}": AGAIN for name in ("searchable", "roles", "of_profiles", "quiet_seconds", "earlier_messages")},
    **{f"turns.gates.{name}": AGAIN for name in ("max_per_minute", "min_quality", "same_above", "over_budget")},
    **{f"turns.gates.{name}": AGAIN for name in ("replays_per_day", "model_tokens_per_day")},
    **{f"recall.{name}": AGAIN for name in ("default", "max_tokens", "tokens", "seconds")},
    "recall.show_waiting": _ordered(True, False),
}
"""What an overlay may say about each other member."""
CLOSED: Final = {
    "extraction": "makes replays write, and the base's do not",
    "corroboration": "applies pending items without a confirmation, and the base does not",
}
"""Parts that an overlay cannot add to a base without them, and why."""


def join(overlay: Profile, base: Profile, base_file: str) -> tuple[Json, list[Problem]]:
    """Return the JSON of the joined profile, and what contradicts the base, at pointers into the overlay.

    The base is a joined profile itself. Each problem names `base_file`. With problems, the JSON is of no use.
    """
    joining = _Joining(base_file, frozenset(one.binding_id for one in base.document_bindings), [])
    body = joining.join(overlay.model_dump(mode="json", exclude_unset=True), base, "")
    return body, joining.problems


@dataclass(frozen=True, slots=True)
class _Joining:
    base_file: str
    inherited: Collection[str]
    problems: list[Problem]

    def report(self, name: str, *more: str, reason: str, remedy: str) -> None:
        at = pointer_text([*name.split("."), *more])
        self.problems.append(Problem(at, f"{reason} ({self.base_file})", remedy))

    def join(self, given: Body, base: ProfilePart, within: str) -> Body:
        """Return a part of the base with the members that the overlay gives."""
        joined: Body = base.model_dump(mode="json", exclude_unset=True)
        # What the base leaves out stays left out, because checks ask which members were written.
        known: Body = base.model_dump(mode="json") | joined
        for member, value in given.items():
            name = f"{within}{member}"
            if name in OWN:
                joined[member] = value
            elif name in PARTS:
                joined[member] = self._part(name, value, getattr(base, member))
            elif name in BY_BINDING or name in BY_NAME:
                joined[member] = {**known[member], **self._added(name, value, known[member])}
            elif name in APPENDED or name in FIRST:
                self._check_list(name, value, known[member])
                own = [one for one in value if one not in known[member]]
                joined[member] = [*own, *known[member]] if name in FIRST else [*known[member], *own]
            else:
                joined[member] = self._limited(name, value, known[member])
        return joined

    def _part(self, name: str, given: Body | None, base: ProfilePart | None) -> Body | None:
        if base is None:
            if name in CLOSED and given is not None:
                self.report(name, reason=CLOSED[name], remedy="remove it, or add it to the base")
            return given
        if given is None:
            if name != "corroboration":
                self.report(name, reason="removes what the base has", remedy="remove it")
            return None
        return self.join(given, base, f"{name}.")

    def _added(self, name: str, given: Body, known: Body) -> Body:
        taken = self.inherited if name in BY_BINDING else known.keys()
        for key in given:
            if key in taken:
                reason = f"is a rule for {key}, which" if name in BY_BINDING else f"names {key}, which"
                self.report(name, key, reason=f"{reason} the base defines", remedy="remove it, or choose another name")
        return given

    def _check_list(self, name: str, given: list[Any], known: list[Any]) -> None:
        for index, one in enumerate(given):
            if isinstance(one, dict) and one.get("binding_id") in self.inherited:
                reason = f"is for the binding {one['binding_id']}, which the base defines"
                self.report(name, str(index), reason=reason, remedy="name a binding that this profile adds")

    def _limited(self, name: str, given: Json, known: Json) -> Json:
        limit = LIMITS[name]
        if not limit.allows(given, known):
            says = "has none" if known is None else f"says {known}"
            is_fixed = limit in (FIXED, WITHOUT)
            reason = f"contradicts the base, which {says}" if is_fixed else "is less strict than the base"
            self.report(name, reason=reason, remedy=limit.remedy.format(base=known))
        return given


def check_joined(
    joined: Profile, base: Profile, phrases: Mapping[tuple[str, str], Collection[str]], base_file: str
) -> list[Problem]:
    """Return what would change how a replay extracts memory for the base's documents, at pointers into the overlay.

    `phrases` are the kinds of phrases of each set of cues. Each problem names `base_file`.
    """
    rules, known = joined.extraction, base.extraction
    if rules is None or known is None:
        return []
    problems = []
    for name in (one.binding_id for one in joined.document_bindings):
        is_proposed = base.binding(name) is None and joined.writable_path_rules.get(name)
        if is_proposed and name not in rules.prompts:
            reason = f"has no prompt for {name}: that of the base is for its documents ({base_file})"
            problems.append(Problem("/extraction/prompts", reason, f"add a prompt for {name}"))
    said = {cue.says for cue in known.cues}
    added = [one for one in rules.cue_sets if one not in known.cue_sets]
    for one in added:
        for kind in sorted(said & set(phrases.get((one.language, one.version), ()))):
            reason = (
                f"{one.language} {one.version} has phrases for {kind}, which the base sends elsewhere ({base_file})"
            )
            problems.append(Problem("/extraction/cue_sets", reason, "give these phrases another name in says"))
    return problems


def in_overlay(problem: Problem, overlay: Profile, joined: Profile, base_file: str) -> Problem:
    """Return a problem of a joined profile as one of the overlay's file, which added what is wrong."""
    given, whole = overlay.model_dump(mode="json", exclude_unset=True), joined.model_dump(mode="json")
    place = list(pointer(problem.pointer))
    for name in (*APPENDED, *FIRST):
        path = name.split(".")
        if place[: len(path)] == path and len(place) > len(path):
            own, one = _at(given, path) or [], _at(whole, place[: len(path) + 1])
            position = next((i for i, e in enumerate(own) if {**_filled(one), **_filled(e)} == _filled(one)), None)
            if position is not None:
                place[len(path)] = str(position)
                return replace(problem, pointer=pointer_text(place))
    elsewhere = place[0] in APPENDED or place[0] in FIRST or _at(given, place[:2]) is None
    if not elsewhere:
        return problem
    return Problem("/extends", f"with {base_file}, {problem.pointer} {problem.reason}", problem.remedy)


def _filled(value: Any) -> Body:
    return value if isinstance(value, dict) else {"": value}


def _at(value: Any, place: Sequence[str]) -> Any:
    for segment in place:
        if isinstance(value, list):
            value = value[int(segment)] if segment.isdecimal() and int(segment) < len(value) else None
        else:
            value = value.get(segment) if isinstance(value, dict) else None
    return value


def bases_first(extends: Mapping[str, str | None]) -> tuple[list[str], dict[str, Problem]]:
    """Return profile ids, each after its base, and the problem of each profile without a usable base.

    `extends` has the base of each profile by id; None: it extends none.
    """
    problems: dict[str, Problem] = {}
    depth: dict[str, int] = {}
    for name in extends:
        chain = [name]
        while (base := extends[chain[-1]]) is not None and base in extends and base not in chain:
            chain.append(base)
        if base is None:
            depth[name] = len(chain)
        elif base in chain:
            problems[name] = Problem("/extends", f"extends itself: {' extends '.join([*chain, base])}", "remove one")
        elif len(chain) == 1:
            meant = closest(base, [one for one in extends if one != name])
            problems[name] = Problem("/extends", f"there is no profile {base}", f"write {meant}" if meant else "add it")
    return sorted(depth, key=lambda name: (depth[name], name)), problems


def every_member() -> Iterator[str]:
    """Yield the name of every member of a profile that an overlay may have, with those of the joined parts."""
    yield from _members(Profile, "")


def _members(model: type[ProfilePart], within: str) -> Iterator[str]:
    for member, field in model.model_fields.items():
        name = f"{within}{member}"
        found = next(_models(field.annotation), None)
        if name in PARTS and found is not None:
            yield from _members(found, f"{name}.")
        else:
            yield name


def _models(annotation: Any) -> Iterator[type[ProfilePart]]:
    for one in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(one, type) and issubclass(one, ProfilePart):
            yield one
