"""Settle the changes of one section: a verdict for each statement, and the entries that follow from it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.access import permit_decision
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import PathNotWritable, StatementContradicted
from memnet.domain.core.json_patch import pointer_text
from memnet.domain.core.scope import Json
from memnet.domain.documents.answer import bare, refusing, set_apart
from memnet.domain.documents.claim import contradicting
from memnet.domain.documents.commands import Settled, Verdict
from memnet.domain.documents.entry import confidence_of, evidence_of, evidence_with, is_open
from memnet.domain.documents.section_changes import EntryChange
from memnet.domain.documents.statement import (
    Entry,
    Thing,
    confirmed_by,
    kept_members,
    newest,
    statements_of,
    takes_several,
    thing_of,
    value_of,
)
from memnet.domain.documents.statement_fold import Run, fold
from memnet.domain.documents.statement_source import StatementSource, at_time, moment_after

Ask = Callable[[int, SectionUpkeep, Entry, Entry, bool], str | None]
"""Makes a pending item of the statement of an operation, which contradicts an entry; returns its id, or None.

The last argument: whether the entry is another claimant's, so that the tenant decides.
"""
PRECISION = 6
"""Decimals to which differences of confidences are compared: 0.9 - 0.7 is not exactly 0.2."""
_FIRST_OWN_SLOT = 1_000_000
"""The slots of entries that the gate makes itself begin here, above all that a sender can use."""


@dataclass(slots=True)
class SectionGate:
    """The entries of one section, by slot, while changes of them are settled."""

    rule: SectionUpkeep
    source: StatementSource
    ask: Ask
    held: dict[int, Json]
    settled: list[Settled] = field(default_factory=list)
    statements: dict[int, Entry] = field(default_factory=dict)
    """The statements as they were made, by the index of the operation."""
    _next_slot: int = _FIRST_OWN_SLOT

    def settle(self, change: EntryChange) -> None:
        """Settle one change of the sender. Raises StatementContradicted, PathNotWritable, RoleRequired."""
        change = self._of_claimant(change)
        old, new = change.old, change.new
        if not isinstance(old, dict) and not isinstance(new, dict):
            self._put(change.slot, new)
        elif not isinstance(new, dict):
            self._close(change)
        elif not isinstance(old, dict):
            self._state(change, new)
        elif thing_of(old, self.rule)[0] != thing_of(new, self.rule)[0]:
            message = "An entry cannot be changed to be about something else: add an entry, and remove this one."
            raise self._contradicted(change, message)
        elif value_of(old, self.rule) == value_of(new, self.rule):
            self._edit(change, old, new)
        elif not is_open(old, self.rule):
            raise self._contradicted(change, "The entry is closed: what it said cannot be changed.")
        else:
            self._state(change, new, replaced=old)

    def _of_claimant(self, change: EntryChange) -> EntryChange:
        """Return the change with the code of the claimant in a new entry. Raises PathNotWritable."""
        name, command = statements_of(self.rule).claimed_by_field, self.source.command
        if name is None:
            return change
        old, new = change.old, change.new
        if isinstance(new, dict) and not isinstance(old, dict):
            expected = self.source.claimant_of(new, self.rule)
            if new.get(name) not in (None, expected):
                raise PathNotWritable(
                    f"The service writes {name}, the code of the claimant.",
                    param=f"/ops/{change.op_index}/value/{name}",
                    hint="Name the user in claimant, and leave this member out.",
                )
            made = {member: value for member, value in new.items() if member != name}
            return replace(change, new=made if expected is None else {**made, name: expected})
        if isinstance(old, dict) and not self.source.applies_item:
            is_stated = isinstance(new, dict) and value_of(old, self.rule) != value_of(new, self.rule)
            if old.get(name) != command.claimed_by and (is_stated or command.claimed_by is not None):
                raise PathNotWritable(
                    "The entry is the statement of another claimant.",
                    param=f"/ops/{change.op_index}",
                    hint="Name its claimant to change what it says, or add a statement of your own.",
                )
        return change

    def _contradicted(self, change: EntryChange, message: str) -> StatementContradicted:
        path = pointer_text((ROOT, *self.rule.place, str(change.slot)))
        return StatementContradicted(message, param=f"/ops/{change.op_index}", pointers=[path])

    def _put(self, slot: int, entry: Json) -> None:
        if entry is None:
            self.held.pop(slot, None)
        else:
            self.held[slot] = entry

    def _close(self, change: EntryChange) -> None:
        """Close an open entry; remove one that was closed before."""
        entry = self.held.get(change.slot)
        if not isinstance(change.old, dict) or not is_open(change.old, self.rule):
            self.held.pop(change.slot, None)
        elif isinstance(entry, dict) and is_open(entry, self.rule):
            at = max(self.source.time, moment_after(newest(entry, self.rule)))
            self.held[change.slot] = {**entry, statements_of(self.rule).until_field: at}

    def _edit(self, change: EntryChange, old: Entry, new: Entry) -> None:
        """Change members of an entry that still says the same. Those that the service keeps stay."""
        rule, found = self.rule, self.held.get(change.slot)
        held = found if isinstance(found, dict) else old
        own = {*kept_members(rule), rule.id_field}
        entry = {name: value for name, value in new.items() if name not in own}
        entry |= {name: held[name] for name in own if name in held}
        had = evidence_of(held, rule)
        exact, similar = {canonical(item) for item in had}, {canonical(bare(item)): item for item in had}
        # What is added to a closed entry belongs to the time when it held.
        at = self.source.time if is_open(held, rule) else newest(held, rule)
        items = [
            item if canonical(item) in exact else similar.get(canonical(bare(item)), at_time(item, at))
            for item in evidence_of(new, rule)
        ]
        if self.source.answer is not None:
            items = self.source.answered(items, exact)
        if items:
            entry[rule.evidence_field] = evidence_with(items)
        about = self._about(thing_of(entry, rule)) | {change.slot: entry}
        self._take(fold(about, rule), about)
        self._report(change, "same", entry.get(rule.id_field))

    def _state(self, change: EntryChange, new: Entry, replaced: Entry | None = None) -> None:
        """Settle a new statement."""
        rule, slot = self.rule, change.slot if replaced is None else self._own_slot()
        is_new = replaced is None and not self.source.applies_item
        if is_new:
            new = set_apart(new, self._entries(), rule)
        about = self._about(thing_of(new, rule))
        taken = {entry.get(rule.id_field) for entry in self.held.values() if isinstance(entry, dict)}
        entry = self.source.stamped(new, rule, change.op_index, change.slot, about.values(), taken, replaced)
        self.statements[change.op_index] = entry
        doubted = self._doubted()
        asked_about = [*about.values(), *([] if doubted is None else [doubted]), *self._contradicting(entry)]
        answered = refusing(entry, asked_about, rule) if is_new else None
        if answered is not None:
            self._report(change, "kept", None, replaced_by=answered.get(rule.id_field))
            return
        runs = fold({**about, slot: entry}, rule)
        run = next(run for run in reversed(runs) if slot in run.slots())
        is_review = run.slot == slot and run.ended is None and not run.completes
        rivals = self._contradicting(run.entry) if is_review else []
        self._check_decides(change, rivals)
        ends = rivals[0] if rivals and not self.source.applies_item else doubted if run.slot == slot else None
        refusal: Verdict | None = "asked"
        if ends is None and run.follows is not None and run.slot == slot and run.ended is None:
            ends = run.follows.entry
            refusal = self._refusal(entry, ends, completes=run.completes)
        if ends is not None and refusal is not None:
            pending_id = self.ask(change.op_index, rule, entry, ends, bool(rivals)) if refusal == "asked" else None
            verdict: Verdict = "kept" if pending_id is None else "asked"
            self._report(change, verdict, None, replaced_by=ends.get(rule.id_field), pending_id=pending_id)
            return
        self._take(runs, about)
        if run.slot != slot:
            self._report(change, "same", run.entry[rule.id_field])
            return
        if self.source.closes_rivals:
            self._close_rivals(run.entry, rivals)
        verdict = self._verdict(run, thing_of(entry, rule))
        if replaced is not None and thing_of(replaced, rule) != thing_of(entry, rule):
            self._succeed(change.slot, slot)
        entry, statements = self.held[slot], statements_of(rule)
        links = {"replaces": statements.replaces_field, "replaced_by": statements.replaced_field}
        self._report(
            change, verdict, entry[rule.id_field], **{name: entry.get(member) for name, member in links.items()}
        )

    def _contradicting(self, entry: Entry) -> list[Entry]:
        """Return the open entries of other claimants that contradict an entry, newest first, if the tenant decides."""
        if statements_of(self.rule).between_claimants != "review":
            return []
        found = contradicting(entry, self.held.values(), self.rule)
        return sorted(found, key=lambda held: newest(held, self.rule), reverse=True)

    def _check_decides(self, change: EntryChange, rivals: Sequence[Entry]) -> None:
        """Refuse to apply a pending item that another claimant contradicts, unless the tenant does."""
        if not rivals or not self.source.applies_item:
            return
        if self.source.is_corroborated:
            raise self._contradicted(change, "Another claimant says something else: the tenant decides.")
        permit_decision("tenant", self.source.command.actor)

    def _close_rivals(self, entry: Entry, rivals: Sequence[Entry]) -> None:
        """Close the entries of other claimants that the tenant's answer ends, now, in favour of `entry`."""
        statements, rule = statements_of(self.rule), self.rule
        ids = {rival.get(rule.id_field) for rival in rivals}
        for slot, held in self.held.items():
            if isinstance(held, dict) and held.get(rule.id_field) in ids and is_open(held, rule):
                at = max(self.source.now, moment_after(newest(held, rule)))
                ended = {statements.until_field: at, statements.replaced_field: entry[rule.id_field]}
                self.held[slot] = {**held, **ended}

    def _succeed(self, old: int, new: int) -> None:
        """Close an entry that was replaced by one about another thing, where several are open side by side."""
        statements, ended = statements_of(self.rule), self.held.get(old)
        if isinstance(ended, dict) and is_open(ended, self.rule):
            entry = self.held[new]
            links = {
                statements.until_field: entry[statements.from_field],
                statements.replaced_field: entry[self.rule.id_field],
            }
            self.held[old] = {**ended, **links}
            if ended.get(self.rule.id_field) is not None:
                self.held[new] = {**entry, statements.replaces_field: ended[self.rule.id_field]}

    def _verdict(self, run: Run, thing: Thing) -> Verdict:
        if run.ended is not None:
            return "late"
        if run.follows is not None:
            return "completed" if run.completes else "superseded"
        others = [entry for entry in self._entries() if is_open(entry, self.rule)]
        beside = [entry for entry in others if (found := thing_of(entry, self.rule))[0] == thing[0] and found != thing]
        return "beside" if takes_several(run.entry, self.rule) and beside else "new"

    def _doubted(self) -> Entry | None:
        """Return the open entry that the patch may be about, in the view of its proposer: it asks about that one."""
        named = None if self.source.applies_item else self.source.command.asks_about
        known = [entry for entry in self._entries() if is_open(entry, self.rule)]
        return next((entry for entry in known if named is not None and entry.get(self.rule.id_field) == named), None)

    def _entries(self) -> list[Entry]:
        return [entry for entry in self.held.values() if isinstance(entry, dict)]

    def _refusal(self, entry: Entry, held: Entry, *, completes: bool) -> Verdict | None:
        """Return what happens to a statement that may not close the entry `held`; None: it may."""
        statements, rule = statements_of(self.rule), self.rule
        if self.source.applies_item:
            return None
        if confirmed_by(held, rule) - self.source.principals:
            return "asked"
        sure, claimed, margin = confidence_of(held, rule), confidence_of(entry, rule), statements.unless_less_sure_by
        claimed = self.source.command.confidence if claimed is None else claimed
        if margin is not None and sure is not None and round(sure - (claimed or 0.0), PRECISION) > margin:
            return "asked"
        if completes or statements.on_contradiction == "supersede":
            return None
        return "kept" if statements.on_contradiction == "keep" else "asked"

    def _about(self, thing: Thing) -> dict[int, Entry]:
        return {
            slot: entry
            for slot, entry in self.held.items()
            if isinstance(entry, dict) and thing_of(entry, self.rule) == thing
        }

    def _take(self, runs: Sequence[Run], about: Mapping[int, Entry]) -> None:
        """Replace the entries about one thing by those of the runs."""
        for slot in about:
            self.held.pop(slot, None)
        for run in runs:
            self.held[self._own_slot() if run.slot is None else run.slot] = run.entry

    def _own_slot(self) -> int:
        self._next_slot += 1
        return self._next_slot

    def _report(self, change: EntryChange, verdict: Verdict, entry_id: Json, **links: Json) -> None:
        known = {name: value for name, value in links.items() if value is not None}
        row: Any = {"op_index": change.op_index, "verdict": verdict, "entry_id": entry_id, **known}
        self.settled.append(row)
