"""Plan the consolidation of a document: open statements that say the same in other words become one.

Without a prompt the surest statement stays, takes the evidence of the others, and closes them. With one it also gets a
text that joins them: at once, or, where it needs a confirmation, as a pending item.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memnet.domain.catalog.catalog import ProtectedSections, WriteRules
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.catalog.statement_rules import MERGES
from memnet.domain.core.canonical_json import canonical, sha256_hex
from memnet.domain.core.scope import Json
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.documents.absorption import Absorption, absorb
from memnet.domain.documents.entry import confidence_of, entries_at, entry_identity, evidence_of, is_open
from memnet.domain.documents.pending_item import pending_item
from memnet.domain.documents.statement import observations_of, statements_of
from memnet.domain.upkeep.maintenance import EntryAction, MaintenancePlan
from memnet.domain.upkeep.near_statements import (
    Cluster,
    Vectors,
    find_clusters,
    text_of_statement,
    texts_to_compare,
)
from memnet.domain.upkeep.section_editor import ContentEditor

MAX_JOINED: Final = 20
"""The most statements that one text joins; the others wait for a later run."""
ID_CHARS: Final = 32


@dataclass(frozen=True, slots=True)
class Joint:
    """Statements that a model is asked to join in one text, the one that stays first."""

    key: str
    """The same for the same statements and the same prompt: a model is asked once."""
    section: str
    rule: SectionUpkeep
    cluster: Cluster
    texts: Sequence[str]
    values: Sequence[str]
    """What else they say: what they are about, and their values."""
    stated: str
    """The value of the one that stays."""


def consolidating(rules: WriteRules) -> list[SectionUpkeep]:
    """Return the rules of the sections that consolidate."""
    return [rule for rule in rules.section_rules if rule.consolidate is not None and rule.statements is not None]


def texts_of_content(content: Json, rules: WriteRules, protected: ProtectedSections) -> list[str]:
    """Return the texts whose meaning the plan needs, each once."""
    editor = ContentEditor(content, rules, protected)
    found = [
        texts_to_compare(editor.section(rule.section).entries, rule, _left_alone(editor, rule))
        for rule in consolidating(rules)
    ]
    return sorted({text for texts in found for text in texts})


def find_joints(
    content: Json, rules: WriteRules, protected: ProtectedSections, *, at: str, vectors: Vectors | None
) -> list[Joint]:
    """Return what a model would be asked to join, in sections whose rule has a prompt."""
    editor = ContentEditor(content, rules, protected)
    return [joint for rule in consolidating(rules) for joint in _joints(editor, rule, at, vectors)]


def plan_consolidation(
    content: Json,
    rules: WriteRules,
    protected: ProtectedSections,
    *,
    at: str,
    vectors: Vectors | None,
    texts: Mapping[str, str] | None,
    proposer: str,
) -> MaintenancePlan:
    """Return the plan; `content` is not changed. Without texts of a model, a plan for the content of a plan is empty.

    `at` is when the version was written: the originals are closed then, so every run plans the same for a version.
    `texts` are those that a model made, by the key of their joint; None: there is no model, so the surest stays as it
    is. `proposer` is the principal of the pending items.
    """
    editor = ContentEditor(content, rules, protected)
    for rule in consolidating(rules):
        if texts is None or rule.consolidate is None or rule.consolidate.prompt_id is None:
            _keep_surest(editor, rule, at, vectors)
            continue
        for joint in _joints(editor, rule, at, vectors):
            if joint.key in texts:
                _join(editor, joint, texts[joint.key], at, proposer)
    return editor.plan()


def find_untraced(before: Json, plan: MaintenancePlan, rules: WriteRules) -> tuple[str, ...]:
    """Return the sections in which a statement or its evidence would lose its trace; empty if the plan is safe.

    Each entry stays at its place. It may gain evidence; if it was open, it may be closed, and then names an open entry
    that has its evidence, as far as that has room. Nothing else changes, apart from texts that a model made.
    """
    missing = []
    for rule in consolidating(rules):
        old, new = entries_at(before, rule.section), entries_at(plan.content, rule.section)
        reworded = {canonical(step.into) for step in plan.steps if step.action is EntryAction.REWORDED}
        pairs = list(zip(old, new, strict=False))
        if len(old) != len(new) or not all(_is_traced(was, now, new, rule, reworded) for was, now in pairs):
            missing.append(rule.section)
    return tuple(missing)


def _is_traced(was: Json, now: Json, entries: Sequence[Json], rule: SectionUpkeep, reworded: set[bytes]) -> bool:
    if canonical(was) == canonical(now):
        return True
    if not isinstance(was, dict) or not isinstance(now, dict) or not is_open(was, rule):
        return False
    if is_open(now, rule):
        keeps_evidence = _items(now, rule) >= _items(was, rule)
        return keeps_evidence and (canonical(now) in reworded or entry_identity(now, rule) == entry_identity(was, rule))
    statements = statements_of(rule)
    link = now.get(statements.replaced_field)
    kept = [one for one in entries if isinstance(one, dict) and is_open(one, rule) and one.get(rule.id_field) == link]
    changed = {statements.until_field, statements.replaced_field}
    same = {name: now.get(name) for name in now.keys() | was.keys() if name not in changed}
    return len(kept) == 1 and canonical(same) == canonical({name: was.get(name) for name in same})


def _items(entry: Json, rule: SectionUpkeep) -> set[bytes]:
    """Return the observations of an entry, without `lacks`, which depends on the other members."""
    return {canonical(one.item) for one in observations_of(entry, rule) if one.item is not None}


def _keep_surest(editor: ContentEditor, rule: SectionUpkeep, at: str, vectors: Vectors | None) -> None:
    while True:
        # What stays may have become newer than others by the evidence it took, so this repeats until nothing changes.
        before = len(editor.steps)
        for cluster in _clusters(editor, rule, vectors):
            found = absorb(editor.section(rule.section).entries, cluster.stays, cluster.others, rule, at=at)
            if found is not None:
                _take(editor, rule, cluster.stays, found, found.stays)
        if len(editor.steps) == before:
            return


def _clusters(
    editor: ContentEditor, rule: SectionUpkeep, vectors: Vectors | None, *, is_judged: bool = False
) -> list[Cluster]:
    entries = editor.section(rule.section).entries
    return find_clusters(entries, rule, _left_alone(editor, rule), vectors, is_judged=is_judged)


def _left_alone(editor: ContentEditor, rule: SectionUpkeep) -> set[bytes]:
    """Return the entries, in canonical form, that pending items would change, or ask about."""
    return editor.protected_entries(rule.section) | editor.asked_entries(rule)


def _take(editor: ContentEditor, rule: SectionUpkeep, stays: int, found: Absorption, kept: Json) -> bool:
    """Write a cluster, with `kept` as the entry that stays; return False, and change nothing, without room."""
    entries = editor.section(rule.section).entries
    changed = {stays: kept, **found.closed}
    had = {place: entries[place] for place in changed}
    for place, entry in changed.items():
        entries[place] = entry
    if not editor.is_sound():
        for place, entry in had.items():
            entries[place] = entry
        return False
    for place, entry in changed.items():
        editor.edit(rule.section, place, entry, had[place])
    for place in found.closed:
        editor.note(rule.section, EntryAction.CONSOLIDATED, had[place], into=kept)
    return True


def _joints(editor: ContentEditor, rule: SectionUpkeep, at: str, vectors: Vectors | None) -> list[Joint]:
    if rule.consolidate is None or rule.consolidate.prompt_id is None:
        return []
    entries, found = editor.section(rule.section).entries, []
    for cluster in _clusters(editor, rule, vectors, is_judged=True):
        absorbed = absorb(entries, cluster.stays, cluster.others[: MAX_JOINED - 1], rule, at=at)
        if absorbed is not None:
            found.append(_joint(entries, rule, Cluster(cluster.stays, tuple(absorbed.closed))))
    return found


def _joint(entries: Sequence[Json], rule: SectionUpkeep, cluster: Cluster) -> Joint:
    assert rule.consolidate is not None
    statements, meant = statements_of(rule), [entries[place] for place in (cluster.stays, *cluster.others)]
    texts = [text_of_statement(entry, rule) for entry in meant]
    prompt = rule.consolidate.prompt_id, rule.consolidate.prompt_version
    named = sorted([str(entry[rule.id_field]), text] for entry, text in zip(meant, texts, strict=True))
    values = [entry.get(name) for entry in meant for name in (*statements.about, statements.value_field)]
    return Joint(
        key=sha256_hex(canonical([rule.section, *prompt, *named]))[:ID_CHARS],
        section=rule.section,
        rule=rule,
        cluster=cluster,
        texts=texts,
        values=[value for value in values if isinstance(value, str)],
        stated=str(meant[0].get(statements.value_field) or ""),
    )


def _join(editor: ContentEditor, joint: Joint, text: str, at: str, proposer: str) -> None:
    """Give the statement that stays the text, the least confidence and all evidence; or propose it."""
    rule, entries = joint.rule, editor.section(joint.section).entries
    found = absorb(entries, joint.cluster.stays, joint.cluster.others, rule, at=at)
    if found is None:
        return
    meant = [entries[place] for place in (joint.cluster.stays, *joint.cluster.others)]
    sure = [known for entry in meant if (known := confidence_of(entry, rule)) is not None]
    least = min(sure, default=None)
    if _needs_confirmation(editor, joint.section, least):
        _propose(editor, joint, found, text, least, at, proposer)
        return
    kept = {**found.stays, rule.text_field: text, **({} if least is None else {rule.confidence_field: least})}
    was = entries[joint.cluster.stays]
    if _take(editor, rule, joint.cluster.stays, found, kept):
        editor.note(joint.section, EntryAction.REWORDED, was, into=kept)


def _needs_confirmation(editor: ContentEditor, section: str, confidence: float | None) -> bool:
    """A durable section, and a confidence below that of what replays apply."""
    required = editor.rules.profile.confidence_rules.min_confidence_for_auto_apply
    return editor.protected.is_durable(section) or confidence is None or confidence < required


def _propose(
    editor: ContentEditor,
    joint: Joint,
    found: Absorption,
    text: str,
    confidence: float | None,
    at: str,
    proposer: str,
) -> None:
    pending = editor.pending_room()
    if pending is None:
        return
    rule, entries = joint.rule, editor.section(joint.section).entries
    was = entries[joint.cluster.stays]
    entries[joint.cluster.stays] = {**was, rule.text_field: text}
    fits = editor.is_sound()
    entries[joint.cluster.stays] = was
    if not fits:
        return
    item = pending_item(
        {
            "op": "replace" if rule.text_field in was else "add",
            "path": f"/{ROOT}{joint.section}/{joint.cluster.stays}/{rule.text_field}",
            "value": text,
        },
        editor.content,
        text,
        pending_id=sha256_hex(canonical([joint.key, at]))[:ID_CHARS],
        profile_id=editor.rules.profile.profile_id,
        binding_id=editor.rules.binding.binding_id,
        confidence=confidence,
        evidence=found.stays[rule.evidence_field] if evidence_of(found.stays, rule) else None,
        proposed_at=to_text(from_text(at)),
        proposed_by=proposer,
        on_behalf_of=None,
        proposed_on=editor.protected.etag,
    )
    item[MERGES] = [str(entries[place][rule.id_field]) for place in joint.cluster.others]
    pending.entries.append(item)
    if not editor.is_sound():
        pending.entries.pop()
        return
    pending.origins.append(None)
    editor.note(joint.section, EntryAction.PROPOSED, was, into=item)
