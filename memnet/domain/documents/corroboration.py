"""Apply a pending item that the user stated often enough, by the rule of its profile."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.statement_rules import Corroboration
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES, EvidenceMembers
from memnet.domain.core.json_patch import Op, pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.core.timestamps import from_text
from memnet.domain.documents.commands import PatchDocument, Redirection, Settled
from memnet.domain.documents.entry import ALSO, entries_at, evidence_of
from memnet.domain.documents.model_order import is_order
from memnet.domain.documents.pending_item import PROVENANCE, carry, proposals_of
from memnet.domain.documents.pending_join import PROPOSAL, Joined, stated_in
from memnet.domain.documents.rebase import Rebased


@dataclass(frozen=True, slots=True)
class Promotion:
    """The application of pending items that the profile's rule is met for."""

    ops: list[Op]
    """They remove the items and apply what they propose, on the content with the joined items."""
    pending_ids: list[str]
    """The item of each operation."""
    note: str
    """The rule and the items, for the audit record."""
    evidence: EvidenceMembers
    """The evidence of the patch with that of the items as `also`."""

    def settled(
        self, waiting: Sequence[Settled], redirected: Sequence[Redirection], applied: Sequence[Settled]
    ) -> tuple[Settled, ...]:
        """Return the verdicts of the patch: those on its items are replaced by the verdicts on their application."""
        rows: list[Redirection | Settled] = [*waiting, *redirected]
        index_of = {row["pending_id"]: row["op_index"] for row in rows if "pending_id" in row}
        kept = [row for row in waiting if row.get("pending_id") not in self.pending_ids]
        made: list[Settled] = [{**row, "op_index": index_of[self.pending_ids[row["op_index"]]]} for row in applied]
        return (*kept, *made)


def promote(command: PatchDocument, profile: Profile, joined: Joined, content: Json) -> Promotion | None:
    """Return the application of the joined items in `content` for which the profile's rule is met; None: there is none.

    An item whose operation no longer fits the content, or that reads as an order to a model, waits on, and so does what
    the tenant decides. Of a question, the first statement for which the rule is met is applied.
    """
    section, rule = profile.pending.get(command.binding_id), profile.corroboration
    if section is None or rule is None:
        return None
    rules = profile.upkeep_rules.get(command.binding_id, ())
    due = set(joined.pending_ids.values())
    ops: list[Op] = []
    pending_ids: list[str] = []
    items: list[Json] = []
    # From the last one, so that a removal moves no other item that is removed.
    for index, item in reversed(list(enumerate(entries_at(content, pointer_text(section))))):
        if not isinstance(item, dict) or item.get("id") not in due or item.get("decides") == "tenant":
            continue
        for one in proposals_of(item):
            if not is_met(rule, one) or is_order(one.get("target")):
                continue
            carried = carry(one, content, rules)
            if isinstance(carried, Rebased):
                made = [{"op": "remove", "path": pointer_text((ROOT, *section, str(index)))}, *carried.ops]
                ops += made
                pending_ids += [str(item["id"])] * len(made)
                items.append({**one, "id": item["id"]})
                break
    if not items:
        return None
    return Promotion(ops, pending_ids, _note(rule, items), _cited(command.evidence or {}, items))


def is_met(rule: Corroboration, item: Json) -> bool:
    """Return whether the user stated an item in enough conversations, far enough apart."""
    stated = stated_in(item)
    if len(stated) < rule.statements:
        return False
    first, last = min(row["from"] for row in stated), max(row["until"] for row in stated)
    return from_text(last) - from_text(first) >= timedelta(days=rule.days_apart)


def _note(rule: Corroboration, items: Sequence[dict[str, Any]]) -> str:
    counts = ", ".join(f"{item['id']} in {len(stated_in(item))}" for item in items)
    return (
        f"corroboration (statements {rule.statements}, days_apart {rule.days_apart}): the user stated "
        f"{counts} conversations"
    )


def _cited(own: EvidenceMembers, items: Sequence[dict[str, Any]]) -> EvidenceMembers:
    """Return the evidence of the patch with that of the items, as far as the size limit allows."""
    bare = {name: value for name, value in own.items() if name != PROVENANCE}
    also: list[Json] = list(own.get(ALSO) or ())
    known = {canonical(bare), *map(canonical, also)}
    for other in (one for item in items for one in evidence_of(item, PROPOSAL)):
        fits = len(canonical({**own, ALSO: [*also, other]})) <= MAX_EVIDENCE_BYTES
        if canonical(other) not in known and fits:
            known.add(canonical(other))
            also.append(other)
    return {**own, ALSO: also} if also else own
