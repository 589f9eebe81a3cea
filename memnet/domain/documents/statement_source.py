"""Where the statements of a patch come from, and what the service writes into each: an id, and its source times."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import Json
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.documents.answer import Answer, bare
from memnet.domain.documents.commands import PatchDocument
from memnet.domain.documents.entry import ALSO, evidence_of, evidence_with
from memnet.domain.documents.statement import (
    ANSWER,
    AT,
    CONFIRMED_BY,
    LACKS,
    Entry,
    Thing,
    kept_members,
    newest,
    statements_of,
    thing_of,
    time_of,
)
from memnet.domain.documents.statement_fold import derived_id

_OF_SERVICE = (ALSO, LACKS, CONFIRMED_BY, ANSWER)
"""The members of an item of evidence that no sender sets."""
_MOMENT: Final = timedelta(microseconds=1)
_END: Final = datetime.max.replace(tzinfo=UTC)
_OF_ANSWER = ("pending_id", "take", "choice")
"""The members that a confirmation adds to its evidence in the audit record."""


@dataclass(frozen=True, slots=True)
class StatementSource:
    """One patch as the source of statements."""

    command: PatchDocument
    now: str
    waiting: Collection[bytes] = ()
    """The items of evidence, in canonical form, whose times the service has written before."""
    claimed: Mapping[str, Json] = field(default_factory=dict)
    """The codes of the claimants of what waits, by the id of the proposed entry."""
    is_confirmed: bool = False
    """Whether the patch applies a confirmed proposal."""
    is_corroborated: bool = False
    """Whether the patch applies a pending item that the user stated often enough."""
    answer: Answer | None = None
    """What the confirmation decided about a question; None: it answers none."""
    _stated: dict[Thing, str] = field(default_factory=dict)
    """The time of the last statement of this patch about a thing."""

    @property
    def applies_item(self) -> bool:
        """Whether the patch applies a pending item, so that it asks nothing."""
        return self.is_confirmed or self.is_corroborated

    @property
    def closes_rivals(self) -> bool:
        """Whether the patch is an answer that ends what other claimants say."""
        return self.is_confirmed and (self.answer is None or not self.answer.keeps_others)

    def claimant_of(self, entry: Entry, rule: SectionUpkeep) -> Json:
        """Return the code of the claimant of a new entry: that of the patch, or of the pending item that it applies."""
        if self.applies_item:
            return self.claimed.get(str(entry.get(rule.id_field)), self.command.claimed_by)
        return self.command.claimed_by

    @property
    def time(self) -> str:
        """The source time of the patch, else the time of the request."""
        given = self.command.source_time
        return self.now if given is None else to_text(from_text(given))

    @property
    def principals(self) -> set[str | None]:
        """Who makes the statements: the writer, and whom it writes for."""
        return {self.command.actor.principal, self.command.on_behalf_of}

    def stamped(
        self,
        entry: Entry,
        rule: SectionUpkeep,
        index: int,
        slot: int,
        about: Iterable[Entry],
        taken: set[Json],
        replaced: Entry | None = None,
    ) -> Entry:
        """Return a new entry with an id that is not `taken`, and with its source time in each item of its evidence.

        `about` are the entries about the same thing. The evidence of the entry that it replaces is not its own.
        """
        made = {name: value for name, value in entry.items() if name not in kept_members(rule) or value is None}
        old = set() if replaced is None else {canonical(item) for item in evidence_of(replaced, rule)}
        items = [item for item in evidence_of(entry, rule) if isinstance(item, dict) and canonical(item) not in old]
        kept = [item for item in items if canonical(item) in self.waiting]
        known = {canonical(bare(item)) for item in kept}
        at = max([time_of(item, AT) for item in kept], default="")
        if self.applies_item:
            at = at or time_of(entry, statements_of(rule).from_field) or self.time
        else:
            at = self._fresh_time(thing_of(made, rule), rule, [*about], replaced)
        own = [at_time(item, at) for item in items if item not in kept and canonical(bare(item)) not in known]
        if not kept and not own:
            own = [at_time(self.command.evidence or {}, at)]
        if self.is_confirmed:
            first, rest = (own[0], own[1:]) if own else ({AT: at}, [])
            if self.answer is not None and self.answer.is_current:
                # A clock that is ahead may have dated what is known later than now.
                first = {**first, AT: self._after_known(max(self.now, at), about, rule)}
            own = [self._confirmed(first, is_apart=True), *rest]
        made[rule.evidence_field] = evidence_with([*kept, *own])
        made[statements_of(rule).from_field] = min(time_of(item, AT) for item in [*kept, *own])
        if not isinstance(made.get(rule.id_field), str) or made[rule.id_field] in taken:
            command = self.command
            origin = (command.key.blob_name, command.actor.principal, command.idempotency_key)
            made[rule.id_field] = derived_id(*origin, rule.section, index, slot)
        return made

    def answered(self, items: Sequence[Entry], had: Collection[bytes]) -> list[Entry]:
        """Return the evidence of an entry that the answer keeps, with the answer as an item of its own.

        `had` are the items, in canonical form, that the entry has already.
        """
        given = {name: value for name, value in (self.command.evidence or {}).items() if name not in _OF_ANSWER}
        own = at_time(given, self.now)
        kept = [item for item in items if canonical(item) in had or canonical(bare(item)) != canonical(bare(own))]
        return [*kept, self._confirmed(own)]

    def _confirmed(self, item: Entry, *, is_apart: bool = False) -> Entry:
        made = {**item, CONFIRMED_BY: self.command.actor.principal}
        return made if self.answer is None else {**made, ANSWER: self.answer.members(self.now, is_apart=is_apart)}

    def _fresh_time(self, thing: Thing, rule: SectionUpkeep, about: Sequence[Entry], replaced: Entry | None) -> str:
        """Return the source time of a new statement.

        Without a source time, it was made after everything that is known about the thing. An entry that replaces
        another, and a later statement in the same patch, come at least a microsecond after it.
        """
        at = self.time
        if self.command.source_time is None:
            at = self._after_known(at, about, rule)
        if replaced is not None and newest(replaced, rule) == at:
            at = moment_after(at)
        if thing in self._stated:
            at = max(at, moment_after(self._stated[thing]))
        self._stated[thing] = at
        return at

    def _after_known(self, at: str, about: Iterable[Entry], rule: SectionUpkeep) -> str:
        """Return the time `at`, or the first moment after everything that is known about the thing if that is later."""
        known = [
            time for entry in about for time in (newest(entry, rule), time_of(entry, statements_of(rule).until_field))
        ]
        return max([at, *(moment_after(one) for one in known if one >= at)])


def moment_after(time: str) -> str:
    """Return the next moment, at most the end of the calendar; empty if the time is unknown."""
    if not time:
        return ""
    moment = from_text(time)
    return to_text(moment + _MOMENT if moment < _END else _END)


def at_time(item: Json, at: str) -> Entry:
    """Return an item of evidence with a source time."""
    members = item if isinstance(item, dict) else {}
    return {name: value for name, value in members.items() if name not in _OF_SERVICE} | {AT: at}
