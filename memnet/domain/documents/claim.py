"""Statements of several claimants about one thing: which of them contradict each other.

Each claimant has at most one open statement about a thing, because the code of the claimant is a member of `about`. Two
claimants contradict each other if, that code aside, their open statements are about the same and say different things.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.errors import PathNotWritable
from memnet.domain.core.scope import Json
from memnet.domain.documents.entry import entries_at, is_open
from memnet.domain.documents.statement import Entry, newest, takes_several, thing_of, value_of


@dataclass(frozen=True, slots=True)
class Claim:
    """What one claimant says about a thing."""

    about: tuple[str | None, ...]
    """The members of `about` without the claimant's, in normal form."""
    value: str
    claimed_by: str | None
    """The code of the claimant; None: no one is named, which is a claimant of its own."""
    at: str
    """When it was stated last; empty: unknown."""

    def contradicts(self, other: "Claim") -> bool:
        """Whether another claimant says something else about the same."""
        return self.about == other.about and self.value != other.value and self.claimed_by != other.claimed_by


def claim_of(entry: Json, rule: SectionUpkeep) -> Claim | None:
    """Return the claim of an entry; None if nothing can contradict it.

    That is an entry of a section without claimants, one that says nothing or is about its text alone, and one beside
    which the section takes several.
    """
    statements = rule.statements
    if statements is None or statements.claimed_by_field is None or not isinstance(entry, dict):
        return None
    about = dict(zip(statements.about, thing_of(entry, rule)[0], strict=True))
    claimed_by = entry.get(statements.claimed_by_field)
    del about[statements.claimed_by_field]
    value = value_of(entry, rule)
    if value is None or not any(about.values()) or takes_several(entry, rule):
        return None
    return Claim(tuple(about.values()), value, claimed_by if isinstance(claimed_by, str) else None, newest(entry, rule))


def check_codes(before: Json, after: Json, rules: Sequence[SectionUpkeep], claimed_by: str | None) -> None:
    """Check a change of a section as a whole: it keeps codes, and adds only that of its own claimant.

    Raises PathNotWritable.
    """
    for rule in rules:
        name = None if rule.statements is None else rule.statements.claimed_by_field
        if name is None:
            continue
        known = {_coded(entry, name, rule) for entry in entries_at(before, rule.section)}
        for entry in entries_at(after, rule.section):
            code = entry.get(name) if isinstance(entry, dict) else None
            if code not in (None, claimed_by) and _coded(entry, name, rule) not in known:
                raise PathNotWritable(
                    f"The service writes {name}, the code of the claimant.", hint="Name the user in claimant."
                )


def _coded(entry: Json, name: str, rule: SectionUpkeep) -> tuple[str, str] | None:
    """Return the id of an entry with the code of its claimant."""
    return (str(entry.get(rule.id_field)), str(entry.get(name))) if isinstance(entry, dict) else None


def contradicting(entry: Entry, entries: Iterable[Json], rule: SectionUpkeep) -> Iterator[Entry]:
    """Yield the open ones of `entries` that contradict `entry` by another claimant."""
    claim = claim_of(entry, rule)
    for held in entries:
        if claim is not None and isinstance(held, dict) and is_open(held, rule):
            other = claim_of(held, rule)
            if other is not None and claim.contradicts(other):
                yield held
