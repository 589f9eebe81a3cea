"""An entry's evidence says where its text comes from: when the text of a durable entry changes, so does its evidence.

The gates of `domain.confidence` ask for evidence of the change. This rule is about the evidence that the entry itself
carries and that an agent is shown with it.
"""

from collections.abc import Iterator, Sequence

from memnet.domain.document import Json
from memnet.domain.errors import EvidenceRequired
from memnet.domain.json_text import canonical
from memnet.domain.patch import pointer, pointer_text
from memnet.domain.path_policy import ROOT, places
from memnet.domain.profile import Profile
from memnet.domain.same_text import says
from memnet.domain.upkeep_rules import SectionUpkeep

HINT = (
    "The text of an entry changes and its evidence does not. Replace the entry's evidence, too, or add to it where the "
    "new text comes from."
)


def check_entry_evidence(before: Json, after: Json, profile: Profile, binding_id: str) -> None:
    """Raise EvidenceRequired, with the section, if a durable entry says something new on the evidence of an old text.

    Entries are compared by what they hold, so neither another place nor another id lets old evidence pass. An entry
    that never carried evidence is not asked for any.
    """
    tended = {rule.section: rule for rule in profile.upkeep_rules.get(binding_id, ())}
    for section in profile.durable_sections.get(binding_id, ()):
        rule = tended.get(section, SectionUpkeep(section=section))
        had = dict(places(before, (), pointer(section)))
        for place, value in places(after, (), pointer(section)):
            if not _is_borne_out(_entries(had.get(place)), _entries(value), rule):
                raise EvidenceRequired(HINT, path=pointer_text((ROOT, *place)))


def _is_borne_out(had: Sequence[Json], has: Sequence[Json], rule: SectionUpkeep) -> bool:
    """Whether no entry is written with a new text and the evidence, or without the evidence, of one that is gone."""
    gone: dict[bytes, set[str | None]] = {}
    for entry in _apart(had, has):
        if entry.get(rule.evidence_field):
            gone.setdefault(canonical(entry[rule.evidence_field]), set()).add(says(entry, rule.text_field))
    for entry in _apart(has, had):
        text, evidence = says(entry, rule.text_field), entry.get(rule.evidence_field)
        old_texts = gone.get(canonical(evidence), set()) if evidence else set().union(*gone.values())
        if text is not None and old_texts and text not in old_texts:
            return False
    return True


def _apart(entries: Sequence[Json], others: Sequence[Json]) -> Iterator[dict[str, Json]]:
    """The objects among the entries that are not among the others."""
    known = {canonical(other) for other in others}
    return (entry for entry in entries if isinstance(entry, dict) and canonical(entry) not in known)


def _entries(section: Json) -> Sequence[Json]:
    """A section is an array of entries, or one entry."""
    return section if isinstance(section, list) else [section]
