"""Write what was recalled as text for a model: whole results, best first, as many as the tokens allow."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.recall_rules import SectionRendering
from memnet.domain.context.outline import EVENTS, View
from memnet.domain.context.prompt import (
    GUIDANCE,
    UNCONFIRMED,
    Format,
    Heading,
    Item,
    Sheet,
    day,
    in_words,
    readable,
    write,
)
from memnet.domain.context.tokens import Tokens, count
from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.history.statements import EntryState
from memnet.domain.recall.candidate import Candidate, CandidateKind, EntryPlace
from memnet.domain.recall.english import says
from memnet.domain.recall.ranking import Group, LeftOut, Ranking, Scored
from memnet.domain.recall.recalled import RecallText

BUDGET: Final = "budget"
"""Why a result is left out that does not fit."""
LIMIT: Final = "limit"
"""Why a result is left out when there are as many as were asked for."""
REPEATED: Final = "repeated"
"""Why a message is left out that an entry in the text cites and says."""
UNDATED: Final = "Undated"

Views = Mapping[tuple[str, str], View]
"""How documents are shown, by binding_id and path."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A result as it is written. Lines are written in the order of `place`."""

    scored: Scored
    item: Item
    place: tuple[Any, ...]

    @property
    def key(self) -> str:
        return self.scored.candidate.key


def pack(
    ranking: Ranking,
    rendering: Sequence[SectionRendering],
    views: Views,
    *,
    format: Format,
    max_tokens: int,
    tokens: Tokens,
    limit: int | None = None,
) -> RecallText:
    """Return the text of the ranking's groups, at most `max_tokens` long with its markers; empty without a result.

    Each group has its share of the tokens and of `limit`, the most results. What it leaves spills to the next group,
    and what the last one leaves to those that did not fit before. Results are in the order of the ranking. The text
    cites each by its number in them, from 1. A sentence is written once: an entry takes the place of the message that
    it cites and says.
    """
    order = {(one.binding_id, one.section): number for number, one in enumerate(rendering)}
    groups = [list(_lines(number, group, views, order)) for number, group in enumerate(_groups(ranking))]
    size = partial(count, encoding=tokens)
    sheet = Sheet(format, size)
    said = _said_by_entries([line for lines in groups for line in lines])
    taken = _taken(groups, [group.share for group in ranking.groups], sheet, max_tokens, limit, said)
    ranks = {one.candidate.key: rank for rank, one in enumerate(ranking.ranked)}
    taken.sort(key=lambda line: ranks.get(line.key, len(ranks)))
    while (used := size(text := _text(taken, format))) > max_tokens:
        taken.pop()
    written = {line.key for line in taken}
    wanted = {line.key: line.scored for lines in groups for line in lines}
    repeated = {key for key, entry in said.items() if entry.key in written}
    reason = LIMIT if len(taken) == limit else BUDGET
    left = [
        LeftOut(one.candidate, REPEATED if key in repeated else reason, one.score)
        for key, one in wanted.items()
        if key not in written
    ]
    earlier = [one for one in ranking.left_out if one.candidate.key not in wanted]
    return RecallText(text, used, [line.scored for line in taken], [*earlier, *left])


def documents_of(ranking: Ranking, scope: UserScope) -> set[tuple[str, DocumentKey]]:
    """Return the documents whose entries are to be written, each with its binding_id."""
    places = (one.candidate.place for group in ranking.groups for one in group.items)
    return {(one.binding_id, DocumentKey(scope, one.namespace, one.path)) for one in places if one is not None}


def _groups(ranking: Ranking) -> Iterator[Group]:
    """Yield the groups with what is disputed marked as such."""
    for group in ranking.groups:
        items = [replace(one, disputed=one.candidate.key in ranking.disputed) for one in group.items]
        yield replace(group, items=items)


def _text(taken: Sequence[_Line], format: Format) -> str:
    numbered = [(line.place, replace(line.item, id=number)) for number, line in enumerate(taken, 1)]
    return write([item for _, item in sorted(numbered, key=lambda one: one[0])], format) if taken else ""


def _said_by_entries(lines: Sequence[_Line]) -> Mapping[str, _Line]:
    """Return, by the keys of messages, the entries that cite them and say all that they say."""
    citing: dict[tuple[str | None, str], list[_Line]] = defaultdict(list)
    for line in lines:
        one = line.scored.candidate
        if one.kind is CandidateKind.ENTRY and one.state is not EntryState.WAITING:
            for message_id in one.message_ids:
                citing[one.conversation_id, message_id].append(line)
    found: dict[str, _Line] = {}
    for line in lines:
        one = line.scored.candidate
        if one.kind is CandidateKind.TURN:
            cited = (
                entry for message_id in one.message_ids for entry in citing.get((one.conversation_id, message_id), ())
            )
            entry = next((entry for entry in cited if says(entry.item.text, line.item.text)), None)
            found |= {} if entry is None else {line.key: entry}
    return found


def _taken(
    groups: Sequence[Sequence[_Line]],
    shares: Sequence[float],
    sheet: Sheet,
    max_tokens: int,
    limit: int | None,
    said: Mapping[str, _Line],
) -> list[_Line]:
    """Return the lines that fit, each result once. `said` are the entries that take the place of messages."""
    taken: dict[str, _Line] = {}
    room = places = 0.0
    most, whole = max_tokens - sheet.used, sum(shares) or 1.0

    def take(line: _Line) -> None:
        nonlocal room, places
        is_full = limit is not None and (places <= 0 or len(taken) >= limit)
        if line.key not in taken and not is_full and (size := sheet.take(line.item, room)) is not None:
            room, places = room - size, places - 1
            taken[line.key] = line

    def fill(lines: Iterable[_Line]) -> None:
        for line in lines:
            entry = said.get(line.key)
            if entry is not None:
                take(entry)
            if entry is None or entry.key not in taken:
                take(line)

    for lines, share in zip(groups, shares, strict=True):
        room, places = room + most * share / whole, places + (limit or 0) * share / whole
        fill(lines)
    if len(groups) > 1:
        room, places = max_tokens - sheet.used, limit or 0
        fill(line for lines in groups for line in lines)
    return list(taken.values())


def _lines(number: int, group: Group, views: Views, order: Mapping[tuple[str, str], int]) -> Iterator[_Line]:
    """Yield the results of a group as lines: entries by section, then turns by session, then events by time."""
    first: dict[object, int] = {}
    for rank, scored in enumerate(group.items):
        one, under = scored.candidate, [Heading(group.heading, group.name)]
        said = (one.said_at or "", one.ordinal, rank)
        if one.kind is CandidateKind.TURN:
            best = first.setdefault(("session", one.conversation_id), rank)
            name = UNDATED if one.said_at is None else day(one.said_at)
            under.append(Heading(name, one.conversation_id or "", is_day=True))
            item = Item(under=under, id=0, text=one.text, by=one.speaker or one.role or "")
            yield _Line(scored, item, (0, number, 1, best, *said))
        elif one.kind is CandidateKind.EVENT or one.place is None:
            item = Item(under=[*under, Heading(EVENTS)], id=0, text=one.text, at=day(one.said_at or UNDATED))
            yield _Line(scored, item, (0, number, 2, 0, *said))
        else:
            pointed, section, text = _in_section(one, one.place, views)
            best = first.setdefault((one.place.binding_id, section), rank)
            place = (order.get((one.place.binding_id, pointed), len(order)), best, rank)
            held = one.validity.valid_until if one.state is EntryState.CLOSED else None
            above = [Heading(GUIDANCE)] if one.is_guidance else under
            until = day(held) if held else None
            item = Item(under=[*above, section], id=0, text=text, until=until, disputed=scored.disputed)
            yield _Line(scored, item, (1, 0, 0, *place) if one.is_guidance else (0, number, 0, *place))


def _in_section(entry: Candidate, place: EntryPlace, views: Views) -> tuple[str, Heading, str]:
    """Return the section of an entry, its heading, and the entry in words; of a member of an object, with its name."""
    view, steps = views.get((place.binding_id, place.path), View({})), pointer(place.section)
    depth = next((n for n in range(len(steps), 0, -1) if pointer_text((ROOT, *steps[:n])) in view.names), 1)
    section = pointer_text((ROOT, *steps[:depth]))
    name = view.names.get(section) or readable(steps[0])
    waits = f" ({UNCONFIRMED})" if entry.state is EntryState.WAITING else ""
    named = "".join(f"{readable(step)}: " for step in steps[depth:])
    text = entry.text if entry.value is None else in_words(entry.value, view.templates.get(section))
    return pointer_text(steps[:depth]), Heading(name + waits, place.path), named + text
