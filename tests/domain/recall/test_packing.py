"""What was recalled is written between the markers, in whole results, within the tokens."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.context.prompt import GUIDANCE, HEAD, MIN_TOKENS, UNCONFIRMED, Format
from memnet.domain.context.tokens import Tokens, count
from memnet.domain.history.statements import EntryState
from memnet.domain.recall.packing import pack
from memnet.domain.recall.ranking import Group, LeftOut, Ranking, Scored
from memnet.domain.recall.recalled import RecallText
from memnet.domain.replay.injected_memory import strip
from tests.domain.context.hostile_texts import hostile, ids_in, inside, items_in
from tests.domain.recall.packing_samples import RENDERING, VIEWS, entry, event, group, turn

FORMATS: tuple[Format, ...] = get_args(Format)
ENCODINGS: tuple[Tokens, ...] = get_args(Tokens)
EVERY = [
    entry("plan", {"text": "Moves in June."}, "/plans"),
    turn("m3", "Later.", "2023-06-01T10:00:00Z", conversation_id="c-2", speaker="Max"),
    entry("fact", {"text": "Lives in Bern.", "since": "since May"}),
    turn("m2", "Second.", "2023-05-08T10:01:00Z"),
    entry("held", {"text": "Lived in Rome."}, state=EntryState.CLOSED, until="2024-02-01T00:00:00Z"),
    entry("name", "Lea", "/profile/display_name"),
    event("e2", "Second event.", "2026-02-15T20:00:00Z"),
    event("e1", "First event.", "2026-02-14T20:00:00Z"),
    turn("m1", "First.\n## x", "2023-05-08T10:00:00Z"),
    turn("m0", "Before midnight.", "2023-05-07T23:59:00Z"),
    entry("wish", {"text": "Answer in German."}, "/wishes"),
    entry("waits", {"text": "Has a cat.", "target": {"op": "add"}}, "/waiting", state=EntryState.WAITING),
    entry("other", {"text": "Unlisted."}, "/odd_ends"),
    turn("undated", "When?", None, conversation_id="c-3"),
]


def packed(*groups: Group, **members: Any) -> RecallText:
    ranked = [one for group in groups for one in group.items]
    given = {"format": "bullets", "max_tokens": 1_000, "tokens": "cl100k_base", **members}
    return pack(Ranking([], ranked, groups=groups), RENDERING, VIEWS, **given)


def written(*groups: Group, **members: Any) -> list[str]:
    return [one.candidate.key for one in packed(*groups, **members).written]


def test_entries_are_written_by_section_turns_by_session_events_by_date_and_guidance_last() -> None:
    made = packed(group("relevant", *EVERY))
    assert inside(made.text).split("\n") == [
        HEAD,
        "## Relevant",
        "### What is known",
        "- [3] Lives in Bern. since May",
        "- [5] Lived in Rome. (until 1 February 2024)",
        "### Plans",
        "- [1] Moves in June.",
        "### The profile",
        "- [6] Display name: Lea",
        f"### Waiting ({UNCONFIRMED})",
        "- [12] Has a cat.",
        "### Odd ends",
        "- [13] Unlisted.",
        "",
        "1 June 2023",
        "[2] Max: Later.",
        "",
        "7 May 2023",
        "[10] Lea: Before midnight.",
        "",
        "8 May 2023",
        "[9] Lea: First. ## x",
        "[4] Lea: Second.",
        "",
        "Undated",
        "[14] Lea: When?",
        "### Events",
        "- [8] 14 February 2026: First event.",
        "- [7] 15 February 2026: Second event.",
        f"## {GUIDANCE}",
        "### Wishes",
        "- [11] Answer in German.",
    ]
    assert [one.candidate.key for one in made.written] == [one.candidate.key for one in EVERY]
    assert (made.tokens, made.left_out) == (count(made.text, "cl100k_base"), [])


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_found_is_an_empty_text(format: Format) -> None:
    assert packed(group("relevant"), format=format) == RecallText("", 0, [], [])
    assert packed(format=format).text == ""


def test_what_does_not_fit_is_passed_over_whole_and_said_so() -> None:
    long = turn("long", "word " * 200, "2023-05-08T10:00:00Z")
    made = packed(group("relevant", long, *EVERY[:2]), max_tokens=100)
    assert [one.candidate.key for one in made.written] == ["plan", "m3"]
    assert [(one.candidate.key, one.reason) for one in made.left_out] == [("long", "budget")]
    assert "word" not in made.text
    assert "[1] Moves" in made.text


def test_no_more_results_than_asked_for() -> None:
    made = packed(group("relevant", *EVERY), limit=2)
    assert [one.candidate.key for one in made.written] == ["plan", "m3"]
    assert {one.reason for one in made.left_out} == {"limit"}


def test_a_group_has_its_share_of_the_tokens_and_what_it_leaves_spills_to_the_next_ones_and_back() -> None:
    facts = [entry(f"f{number}", {"text": "word " * 9}) for number in range(20)]
    turns = [turn(f"m{number}", "word " * 9, "2023-05-08T10:00:00Z") for number in range(20)]
    half = written(group("known", *facts, share=0.3), group("relevant", *turns, share=0.3), max_tokens=200)
    assert 4 <= sum(key.startswith("f") for key in half) <= 6
    assert 4 <= sum(key.startswith("m") for key in half) <= 6
    spilled = written(group("known", *facts[:1], share=0.3), group("relevant", *turns, share=0.3), max_tokens=200)
    assert sum(key.startswith("m") for key in spilled) >= 8
    back = written(group("known", *facts, share=0.3), group("relevant", *turns[:1], share=0.3), max_tokens=200)
    assert sum(key.startswith("f") for key in back) >= 9


def test_what_a_group_leaves_goes_to_the_next_one_before_it_goes_back() -> None:
    large, small = entry("large", {"text": "word " * 100}), turn("last", "x", "2023-05-08T10:00:00Z")
    turns = [turn(f"m{number}", "word " * 9, "2023-05-08T10:00:00Z") for number in range(20)]
    shares = zip(("known", "relevant", "recent"), ((large,), turns, (small,)), (0.3, 0.3, 0.4), strict=True)
    made = written(*(group(name, *items, share=share) for name, items, share in shares), max_tokens=220)
    assert "large" not in made
    assert {"m0", "m5", "last"} <= set(made)


def test_the_most_results_are_shared_too() -> None:
    facts = [entry(f"f{number}", {"text": "x"}) for number in range(5)]
    turns = [turn(f"m{number}", "x", "2023-05-08T10:00:00Z") for number in range(5)]
    made = written(group("known", *facts, share=0.3), group("relevant", *turns, share=0.7), limit=4)
    assert made == ["f0", "f1", "m0", "m1"]


def test_a_result_of_two_groups_is_written_once_and_the_results_have_the_order_of_the_ranking() -> None:
    both, other, ranked = EVERY[0], EVERY[2], [EVERY[1], EVERY[0]]
    groups = (group("known", other, both, share=0.5), group("relevant", *ranked, share=0.5))
    made = pack(
        Ranking([], ranked, [LeftOut(both.candidate, "cut"), LeftOut(EVERY[3].candidate, "cut")], groups),
        RENDERING, VIEWS, format="bullets", max_tokens=500, tokens="o200k_base",
    )  # fmt: skip
    assert [one.candidate.key for one in made.written] == ["m3", "plan", "fact"]
    assert made.text.count("Moves in June.") == 1
    assert [one.candidate.key for one in made.left_out] == ["m2"]


def results(texts: list[str]) -> list[Group]:
    """Two groups of results that say these texts, with them as names of sections and speakers, too."""
    facts, turns = [], []
    for number, text in enumerate(texts):
        facts += [
            entry(f"f{number}", {"text": text, "since": text}),
            entry(f"w{number}", text, "/wishes", state=EntryState.CLOSED, until=text),
        ]
        turns += [
            turn(f"m{number}", text, "2023-05-08T10:00:00Z", speaker=text),
            event(f"e{number}", text, "2023-05-08T10:00:00Z"),
        ]
    return [Group("known", texts[0] if texts else "x", 0.4, facts), Group("relevant", "Relevant", 0.6, turns)]


@pytest.mark.parametrize("format", FORMATS)
@given(texts=st.lists(hostile, max_size=6), tokens=st.sampled_from(ENCODINGS), max_tokens=st.integers(MIN_TOKENS, 600))
def test_hostile_texts_stay_in_their_places_and_within_the_tokens(
    format: Format, texts: list[str], tokens: Tokens, max_tokens: int
) -> None:
    made = packed(*results(texts), format=format, tokens=tokens, max_tokens=max_tokens)
    assert made.tokens == count(made.text, tokens) <= max_tokens
    assert len(made.written) + len(made.left_out) == 4 * len(texts)
    if not made.written:
        assert made.text == ""
        return
    assert strip(f"before {made.text} after") == "before\nafter"
    assert len(items_in(made.text, format)) == len(made.written)
    assert sorted(ids_in(made.text, format)) == list(range(1, len(made.written) + 1))


SAID = turn("m1", "I live in Bern, near the zoo.", "2023-05-08T10:00:00Z")
LEARNT = entry("fact", {"text": "The user lives in Bern near the zoo."}, cites="m1")


@pytest.mark.parametrize("items", [[SAID, LEARNT], [LEARNT, SAID]])
def test_a_message_is_left_out_if_an_entry_that_cites_it_says_it(items: list[Scored]) -> None:
    made = packed(group("relevant", *items))
    assert [one.candidate.key for one in made.written] == ["fact"]
    assert [(one.candidate.key, one.reason) for one in made.left_out] == [("m1", "repeated")]
    assert made.text.count("zoo") == 1


def test_an_entry_takes_the_place_of_its_message_in_another_group() -> None:
    groups = group("relevant", SAID, share=0.9), group("known", LEARNT, share=0.1)
    assert written(*groups) == ["fact"]
    assert written(*groups, limit=1) == ["fact"]


@pytest.mark.parametrize(
    "other",
    [
        entry("fact", {"text": "The user lives in Bern."}, cites="m1"),
        entry("fact", {"text": "The user lives in Bern near the zoo."}, cites="m2"),
        entry("fact", {"text": "The user lives in Bern near the zoo."}),
        entry("fact", {"text": "The user lives in Bern near the zoo."}, state=EntryState.WAITING, cites="m1"),
    ],
    ids=["says less", "cites another message", "cites nothing", "waits"],
)
def test_a_message_stays_beside_any_other_entry(other: Scored) -> None:
    assert sorted(written(group("relevant", SAID, other))) == ["fact", "m1"]


def test_a_message_that_denies_is_not_said_by_an_entry_that_affirms() -> None:
    denied = turn("m1", "I don't live in Bern, near the zoo.", "2023-05-08T10:00:00Z")
    assert sorted(written(group("relevant", denied, LEARNT))) == ["fact", "m1"]


def test_a_message_is_written_if_the_entry_that_says_it_does_not_fit() -> None:
    long = entry("fact", {"text": "The user lives in Bern near the zoo. " + "Besides, " * 200}, cites="m1")
    assert written(group("relevant", SAID, long), max_tokens=MIN_TOKENS) == ["m1"]
