"""Name in the evidence of a change of upkeep which entries it merged into which, so that blame follows them."""

from collections.abc import Sequence

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.statement_rules import MERGES
from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import entries_at
from memnet.domain.history.origin_links import matched
from memnet.domain.upkeep.maintenance import EntryAction, MaintenancePlan, Step

_MERGING = frozenset({EntryAction.MERGED, EntryAction.CONSOLIDATED, EntryAction.REWORDED, EntryAction.PROPOSED})


def merged_rows(before: Json, plan: MaintenancePlan, rules: Sequence[SectionUpkeep], pending: str | None) -> list[Json]:
    """Return a row for each entry that others were merged into: `from` before the plan, `into` after it.

    The rows are those of memnet.domain.history.origin_links. `rules` are those of the sections, `pending` is the
    pending section. An entry is recognised by value, by id, or else by text.
    """
    steps = [step for step in plan.steps if step.action in _MERGING]
    sections = sorted({step.section for step in steps})
    found: dict[str, set[str]] = {}
    for section in sections:
        own = [step for step in steps if step.section == section]
        entries = entries_at(before, section)
        rule = next((one for one in rules if one.section == section), SectionUpkeep(section=section))
        places = matched([step.entry for step in own], entries)
        for step, place in zip(own, places, strict=True):
            target = pending if step.action is EntryAction.PROPOSED else section
            into = _place_after(step, plan.content, target)
            if into is None:
                continue
            sources = [] if place is None else [place]
            sources += _merged_by(step, entries, rule)
            found.setdefault(into, set()).update(_pointer(section, one) for one in sources)
    return [{"from": sorted(sources), "into": into} for into, sources in sorted(found.items()) if sources]


def _place_after(step: Step, content: Json, section: str | None) -> str | None:
    """Return the pointer of what the entry was merged into, in the content after the plan."""
    if section is None:
        return None
    (place,) = matched([step.into], entries_at(content, section))
    return None if place is None else _pointer(section, place)


def _merged_by(step: Step, entries: Sequence[Json], rule: SectionUpkeep) -> list[int]:
    """Return the places of the entries whose text a proposal joins."""
    ids = step.into.get(MERGES) if isinstance(step.into, dict) else None
    if step.action is not EntryAction.PROPOSED or not isinstance(ids, list):
        return []
    return [place for place, one in enumerate(entries) if isinstance(one, dict) and one.get(rule.id_field) in ids]


def _pointer(section: str, place: int) -> str:
    return pointer_text((ROOT, *pointer(section), str(place)))
