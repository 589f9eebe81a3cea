"""The table of outcomes is whole, and says what the decision record says."""

from datetime import timedelta

from memnet.adapters.memory.queue import WINDOW
from memnet.domain.core.error_code import ErrorCode
from workers.outcomes import LONGEST_DELAY, MOST_STARTS, OUTCOMES, PATIENCE, TRIES, Outcome, delay


def test_every_error_code_has_an_outcome() -> None:
    assert set(OUTCOMES) == set(ErrorCode)


def test_what_may_pass_by_itself_is_retried() -> None:
    passing = {code for code in ErrorCode if code.value.endswith("UNAVAILABLE")} | {ErrorCode.QUOTA_EXCEEDED}
    assert {OUTCOMES[code] for code in passing} == {Outcome.RETRY}


def test_damage_is_never_passed_over_in_silence() -> None:
    damage = (
        ErrorCode.DECRYPTION_FAILED,
        ErrorCode.HISTORY_CORRUPT,
        ErrorCode.SNAPSHOT_NOT_FOUND,
        ErrorCode.MALFORMED_REQUEST,
    )
    assert {OUTCOMES[code] for code in damage} == {Outcome.DEAD_LETTER}


def test_delays_grow_with_each_delivery_to_less_than_a_queue_remembers_an_id() -> None:
    delays = [delay(attempt) for attempt in range(0, MOST_STARTS, TRIES)]
    assert delays[:3] == [timedelta(seconds=30), timedelta(minutes=1), timedelta(minutes=2)]
    assert delays == sorted(delays)
    assert delays[-1] == delay(10_000) == LONGEST_DELAY < WINDOW


def test_a_delivery_waits_for_less_than_a_lock_may_be_renewed() -> None:
    assert sum(PATIENCE) < 60
