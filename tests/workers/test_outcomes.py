"""The table of outcomes is complete and agrees with the decision record."""

from datetime import timedelta

from memnet.adapters.memory.queue import WINDOW
from memnet.domain.core.error_code import ErrorCode
from workers.outcomes import MAX_ATTEMPTS, MAX_DELAY, OUTCOMES, TRIES, Outcome, delay


def test_every_error_code_has_an_outcome() -> None:
    assert set(OUTCOMES) == set(ErrorCode)


def test_a_temporary_failure_is_retried() -> None:
    passing = {code for code in ErrorCode if code.value.endswith("UNAVAILABLE")} | {ErrorCode.QUOTA_EXCEEDED}
    assert {OUTCOMES[code] for code in passing} == {Outcome.RETRY}


def test_damage_is_always_a_dead_letter() -> None:
    damage = (
        ErrorCode.DECRYPTION_FAILED,
        ErrorCode.HISTORY_CORRUPT,
        ErrorCode.SNAPSHOT_NOT_FOUND,
        ErrorCode.MALFORMED_REQUEST,
    )
    assert {OUTCOMES[code] for code in damage} == {Outcome.DEAD_LETTER}


def test_delays_grow_but_stay_within_the_time_a_queue_remembers_an_id() -> None:
    delays = [delay(attempt) for attempt in range(0, MAX_ATTEMPTS, TRIES)]
    assert delays[:3] == [timedelta(seconds=30), timedelta(minutes=1), timedelta(minutes=2)]
    assert delays == sorted(delays)
    assert delays[-1] == delay(10_000) == MAX_DELAY < WINDOW
