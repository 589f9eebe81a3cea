"""Sections whose entries are statements: which hold, and which replaced one another."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from memnet_client.testing.json_patch import Json, Pointer, canonical, resolve


def validities_of(content: Json, rules: Sequence[Mapping[Pointer, Json]]) -> Iterator[tuple[Pointer, Json]]:
    """Yield the place of each statement with its state, its validity and its chain, by its section's first rule."""
    found = {section: rule for one in reversed(rules) for section, rule in one.items()}
    for section, rule in found.items():
        entries = [one if isinstance(one, dict) else {} for one in entries_in(content, section)]
        before = _links(entries, rule["id_field"], rule["replaces_field"])
        after = _links(entries, rule["id_field"], rule["replaced_field"])
        before = {**{later: earlier for earlier, later in after.items()}, **before}
        after = {**{earlier: later for later, earlier in before.items()}, **after}
        for index, one in enumerate(entries):
            own, until = one.get(rule["id_field"]), one.get(rule["until_field"])
            chain = [*reversed(_walk(own, before)), own, *_walk(own, after)]
            yield (
                (*section, str(index)),
                {
                    "state": "open" if until is None else "closed",
                    "valid_from": one.get(rule["from_field"]),
                    "valid_until": until,
                    "replaces": one.get(rule["replaces_field"]),
                    "replaced_by": one.get(rule["replaced_field"]),
                    "chain": chain if len(chain) > 1 else None,
                },
            )


def entries_in(content: Json, section: Pointer) -> list[Json]:
    """Return the entries of a section; none if it is not there."""
    try:
        found = resolve(content, section)
    except LookupError:
        return []
    return found if isinstance(found, list) else []


def _links(entries: Sequence[Json], own: str, other: str) -> dict[str, str]:
    return {one[own]: one[other] for one in entries if one.get(own) and one.get(other)}


def _walk(entry_id: str | None, steps: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    here = None if entry_id is None else steps.get(entry_id)
    while here is not None and here not in (entry_id, *found):
        found.append(here)
        here = steps.get(here)
    return found


def thing_of(entry: Json, rule: Json) -> tuple[tuple[str, ...], str | None]:
    """Return what a statement is about, with its value where several are open side by side."""
    about = tuple(normal(entry.get(name)) for name in rule["about"])
    return about, value_of(entry, rule) if takes_several(entry, rule) else None


def takes_several(entry: Json, rule: Json) -> bool:
    """Whether several statements about the thing are open side by side."""
    listed = rule.get("several", {}).items()
    return any(normal(entry.get(name)) in [normal(value) for value in values] for name, values in listed)


def value_of(entry: Json, rule: Json) -> str:
    """Return what a statement says, in its normal form."""
    return normal(entry.get(rule["value_field"]))


def is_open(entry: Json, rule: Json) -> bool:
    """Whether a statement still holds."""
    return entry.get(rule["until_field"]) is None


def normal(value: Json) -> str:
    """Return a value in its normal form, in which equal statements are equal."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else canonical(value)
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(mark if mark.isalnum() else " " for mark in folded).split())


def contradicting(new: Json, entries: Sequence[Json], rule: Json) -> list[tuple[int, Json]]:
    """Return the open entries, with their places, in which another claimant says something else about the same."""
    name = rule.get("claimed_by_field")
    if name is None or takes_several(new, rule):
        return []
    said = thing_of({**new, name: None}, rule)
    return [
        (place, one)
        for place, one in enumerate(entries)
        if isinstance(one, dict)
        and is_open(one, rule)
        and one.get(name) != new.get(name)
        and thing_of({**one, name: None}, rule) == said
        and value_of(one, rule) != value_of(new, rule)
    ]
