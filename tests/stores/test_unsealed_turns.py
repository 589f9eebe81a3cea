"""The messages that a process has unsealed from the index."""

from datetime import UTC, datetime, timedelta

import pytest

from memnet.domain.core.scope import UserScope
from memnet.domain.recall.found_candidates import turn_candidate
from memnet.domain.replay.searchable_turn import SearchableTurn
from memnet.domain.replay.snapshot import snapshot_key
from memnet.stores.unsealed_turns import LIFETIME, Unsealed, UnsealedTurns

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
VERA, NOOR = UserScope("t1", "vera"), UserScope("t1", "noor")


def said(scope: UserScope) -> SearchableTurn:
    return SearchableTurn(
        snapshot=snapshot_key(scope, "c1", "s1"),
        profile_id="p",
        conversation_id="c1",
        message_id="m1",
        speaker="user",
        role="user",
        said_at="2026-05-08T12:00:00Z",
        ordinal=0,
        text="I live in Porto.",
    )


def known(max_bytes: int = 1 << 20, **read: Unsealed) -> UnsealedTurns:
    found = UnsealedTurns(max_bytes=max_bytes)
    for key, one in read.items():
        found.remember(key, one)
    return found


def unsealed(scope: UserScope = VERA) -> Unsealed:
    turn = said(scope)
    return Unsealed(b"sealed", "key-1", turn, turn_candidate(turn, "k1"), NOW)


def test_a_message_is_found_for_the_same_bytes_of_the_same_user() -> None:
    one = unsealed()
    turns = known(k1=one)
    assert turns.find(VERA, {"k1": b"sealed", "k2": b"sealed"}, NOW) == {"k1": one}
    assert turns.find(VERA, {"k1": b"sealed again"}, NOW) == {}
    assert turns.find(NOOR, {"k1": b"sealed"}, NOW) == {}


@pytest.mark.parametrize("moment", [NOW + LIFETIME, NOW - timedelta(seconds=1)])
def test_a_message_is_dropped_after_its_lifetime_and_when_the_clock_is_set_back(moment: datetime) -> None:
    turns = known(k1=unsealed())
    assert turns.find(VERA, {"k1": b"sealed"}, NOW + LIFETIME - timedelta(seconds=1))
    assert not turns.find(NOOR, {}, moment)
    assert not turns.find(VERA, {"k1": b"sealed"}, NOW)


def test_the_oldest_are_dropped_when_there_are_too_many() -> None:
    turns = known(3 * 2100, **{f"k{number}": unsealed() for number in range(5)})
    assert set(turns.find(VERA, {f"k{number}": b"sealed" for number in range(5)}, NOW)) == {"k2", "k3", "k4"}


def test_the_messages_of_a_user_are_forgotten() -> None:
    turns = known(k1=unsealed())
    turns.remember("k1", unsealed(NOOR))
    turns.forget(VERA)
    assert not turns.find(VERA, {"k1": b"sealed"}, NOW)
    assert turns.find(NOOR, {"k1": b"sealed"}, NOW)
