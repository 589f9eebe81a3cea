"""The messages that a process has unsealed from the index."""

from datetime import UTC, datetime, timedelta

from memnet.domain.core.scope import UserScope
from memnet.domain.replay.searchable_turn import SearchableTurn
from memnet.domain.replay.snapshot import snapshot_key
from memnet.stores.unsealed_turns import LIFETIME, UnsealedTurns

NOW = datetime(2026, 5, 8, 12, tzinfo=UTC)
VERA, NOOR = UserScope("t1", "vera"), UserScope("t1", "noor")


def said(scope: UserScope, text: str = "I live in Porto.") -> SearchableTurn:
    return SearchableTurn(
        snapshot=snapshot_key(scope, "c1", "s1"),
        profile_id="p",
        conversation_id="c1",
        message_id="m1",
        speaker="user",
        role="user",
        said_at="2026-05-08T12:00:00Z",
        ordinal=0,
        text=text,
    )


def test_a_message_is_found_for_the_same_bytes_of_the_same_user() -> None:
    known, turn = UnsealedTurns(), said(VERA)
    known.remember("k1", b"sealed", "key-1", turn, NOW)
    assert known.find(VERA, {"k1": b"sealed", "k2": b"sealed"}, NOW) == {"k1": ("key-1", turn)}
    assert known.find(VERA, {"k1": b"sealed again"}, NOW) == {}
    assert known.find(NOOR, {"k1": b"sealed"}, NOW) == {}


def test_a_message_is_dropped_after_its_lifetime_and_when_the_clock_is_set_back() -> None:
    for moment in (NOW + LIFETIME, NOW - timedelta(seconds=1)):
        known = UnsealedTurns()
        known.remember("k1", b"sealed", "key-1", said(VERA), NOW)
        assert known.find(VERA, {"k1": b"sealed"}, NOW + LIFETIME - timedelta(seconds=1))
        assert not known.find(NOOR, {}, moment)
        assert not known.find(VERA, {"k1": b"sealed"}, NOW)


def test_the_oldest_are_dropped_when_there_are_too_many() -> None:
    known = UnsealedTurns(max_bytes=3 * 2100)
    for number in range(5):
        known.remember(f"k{number}", b"sealed", "key-1", said(VERA), NOW)
    found = known.find(VERA, {f"k{number}": b"sealed" for number in range(5)}, NOW)
    assert set(found) == {"k2", "k3", "k4"}


def test_the_messages_of_a_user_are_forgotten() -> None:
    known = UnsealedTurns()
    for scope in (VERA, NOOR):
        known.remember("k1", b"sealed", "key-1", said(scope), NOW)
    known.forget(VERA)
    assert not known.find(VERA, {"k1": b"sealed"}, NOW)
    assert known.find(NOOR, {"k1": b"sealed"}, NOW)
