"""Check entry evidence: when the text of a durable entry changes, its evidence has to change as well.

`confidence` requires evidence of the change. This rule is about the evidence in the entry itself, which an agent sees.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from memnet.domain.catalog.path_policy import ROOT, places
from memnet.domain.catalog.profile import Profile
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import EvidenceRequired
from memnet.domain.core.json_patch import Pointer, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.core.text_normalization import normalized_text
from memnet.domain.documents.entry import rule_of

HINT = (
    "The text of an entry changes and its evidence does not. Replace the entry's evidence, too, or add to it where the "
    "new text comes from."
)


def check_entry_evidence(before: Json, after: Json, profile: Profile, binding_id: str) -> None:
    """Raise EvidenceRequired, with the section, if a durable entry has a new text with the evidence of an old one.

    Entries are compared by what they hold, so neither another place nor another section nor another id lets old
    evidence pass. An entry that never carried evidence is not asked for any.
    """
    had, has = (list(_entries(content, profile, binding_id)) for content in (before, after))
    old, new = (Counter(entry.whole for entry in entries) for entries in (had, has))
    gone: dict[bytes | Pointer, set[str | None]] = {}
    for entry in had:
        if entry.evidence and old[entry.whole] > new[entry.whole]:
            gone.setdefault(entry.evidence, set()).add(entry.text)
            gone.setdefault(entry.place, set()).add(entry.text)
    for entry in has:
        # An entry without evidence is held to what was in its own section.
        old_texts = gone.get(entry.evidence or entry.place)
        is_new = new[entry.whole] > old[entry.whole]
        if is_new and entry.text is not None and old_texts and entry.text not in old_texts:
            raise EvidenceRequired(HINT, path=pointer_text((ROOT, *entry.place)))


class _Entry(NamedTuple):
    place: Pointer
    """The section's."""
    whole: bytes
    text: str | None
    evidence: bytes
    """Empty if the entry carries none."""


def _entries(content: Json, profile: Profile, binding_id: str) -> Iterator[_Entry]:
    """The objects in the durable sections of the binding."""
    for section in profile.durable.get(binding_id, ()):
        rule = rule_of(section, profile.upkeep_rules.get(binding_id, ()))
        for place, value in places(content, (), section):
            # A section is an array of entries, or one entry.
            for entry in value if isinstance(value, list) else [value]:
                if isinstance(entry, dict):
                    evidence = entry.get(rule.evidence_field)
                    proof = canonical(evidence) if evidence else b""
                    yield _Entry(place, canonical(entry), normalized_text(entry, rule.text_field), proof)
