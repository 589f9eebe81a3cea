"""How long an entry lives: its class sets when it expires, and no write leaves an entry that has expired already."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from memnet.domain.document import Json
from memnet.domain.entry import entries_at, is_expired
from memnet.domain.errors import EntryExpired, SchemaViolation
from memnet.domain.json_text import canonical
from memnet.domain.patch import Op, pointer_text
from memnet.domain.path_policy import ROOT
from memnet.domain.profile import Profile
from memnet.domain.timestamps import later, to_text
from memnet.domain.upkeep_rules import SectionUpkeep


def lifetime_ops(before: Json, after: Json, profile: Profile, binding_id: str, source_time: datetime) -> list[Op]:
    """The operations that set when entries expire that are new or changed in `after` and name a class.

    The time counts from `source_time`, whatever the entry said before. Raises SchemaViolation for a class that the
    profile does not have.
    """
    ops: list[Op] = []
    for rule in profile.upkeep_rules.get(binding_id, ()):
        if rule.ttl_field is None or rule.expires_field is None:
            continue
        for place, entry in _written(before, after, rule):
            named = entry.get(rule.ttl_field) if isinstance(entry, dict) else None
            if named is None:
                continue
            duration = profile.ttl_classes.get(named) if isinstance(named, str) else None
            if duration is None:
                raise SchemaViolation(
                    "The profile has no such class in ttl_classes.",
                    path=f"{place}{pointer_text([rule.ttl_field])}",
                    allowed=sorted(profile.ttl_classes),
                )
            expires = to_text(later(source_time, duration))
            if entry.get(rule.expires_field) != expires:
                ops.append({"op": "add", "path": f"{place}{pointer_text([rule.expires_field])}", "value": expires})
    return ops


def check_lifetimes(before: Json, after: Json, profile: Profile, binding_id: str, now: datetime) -> None:
    """Raise EntryExpired, with the place, if an entry that is new or changed in `after` has expired."""
    for rule in profile.upkeep_rules.get(binding_id, ()):
        if rule.expires_field is not None:
            for place, entry in _written(before, after, rule):
                if is_expired(entry, rule, now):
                    raise EntryExpired(path=place)


def _written(before: Json, after: Json, rule: SectionUpkeep) -> Iterator[tuple[str, Json]]:
    """The entries of the section that are in `after` and not in `before`, with their places."""
    had = Counter(canonical(entry) for entry in entries_at(before, rule.section))
    for index, entry in enumerate(entries_at(after, rule.section)):
        data = canonical(entry)
        if had[data] > 0:
            had[data] -= 1
        else:
            yield f"/{ROOT}{rule.section}/{index}", entry
