"""The cache of opened data keys: what it keeps, for how long, and its bound."""

from datetime import timedelta

import pytest

from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.process.data_key_cache import ProcessDataKeyCache
from memnet.domain.core.scope import UserScope
from memnet.domain.sealing.sealing import DataKey
from memnet.wiring import in_memory
from tests.domain.samples import CATALOG
from tests.sample_settings import sample_settings

SCOPE, OTHER = UserScope("t1", "u1"), UserScope("t1", "u2")
ONE, TWO = DataKey("k1", bytes(32)), DataKey("k2", bytes(range(32)))


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


def test_what_is_remembered_is_found_by_its_user_and_id_alone(clock: FrozenClock) -> None:
    cache = ProcessDataKeyCache(clock)
    assert (cache.current(SCOPE), cache.find(SCOPE, "k1")) == (None, None)
    cache.remember(SCOPE, ONE, is_current=True)
    cache.remember(SCOPE, TWO, is_current=False)
    assert (cache.current(SCOPE), cache.find(SCOPE, "k1"), cache.find(SCOPE, "k2")) == (ONE, ONE, TWO)
    assert (cache.current(OTHER), cache.find(OTHER, "k1"), cache.find(SCOPE, "k3")) == (None, None, None)
    assert cache.current(UserScope("t2", "u1")) is None


def test_a_later_current_key_takes_the_place_of_the_one_before(clock: FrozenClock) -> None:
    cache = ProcessDataKeyCache(clock)
    cache.remember(SCOPE, ONE, is_current=True)
    cache.remember(SCOPE, TWO, is_current=True)
    assert (cache.current(SCOPE), cache.find(SCOPE, "k1")) == (TWO, ONE)


def test_a_key_lives_for_a_minute_however_often_it_is_used(clock: FrozenClock) -> None:
    cache = ProcessDataKeyCache(clock)
    cache.remember(SCOPE, ONE, is_current=True)
    for _ in range(5):
        clock.advance(timedelta(seconds=11))
        assert (cache.current(SCOPE), cache.find(SCOPE, "k1")) == (ONE, ONE)
    clock.advance(timedelta(seconds=5))
    assert (cache.current(SCOPE), cache.find(SCOPE, "k1")) == (None, None)


def test_a_clock_that_was_set_back_makes_no_key_live_longer(clock: FrozenClock) -> None:
    cache = ProcessDataKeyCache(clock)
    cache.remember(SCOPE, ONE, is_current=True)
    clock.advance(timedelta(seconds=-1))
    assert cache.current(SCOPE) is None


def test_forgetting_takes_all_keys_of_one_user_and_no_other(clock: FrozenClock) -> None:
    cache = ProcessDataKeyCache(clock)
    for scope in (SCOPE, OTHER):
        cache.remember(scope, ONE, is_current=True)
        cache.remember(scope, TWO, is_current=False)
    cache.forget(SCOPE)
    cache.forget(SCOPE)
    assert (cache.current(SCOPE), cache.find(SCOPE, "k1"), cache.find(SCOPE, "k2")) == (None, None, None)
    assert (cache.current(OTHER), cache.find(OTHER, "k2")) == (ONE, TWO)


def test_over_the_bound_the_least_recently_used_go(clock: FrozenClock) -> None:
    cache = ProcessDataKeyCache(clock, max_keys=2)
    cache.remember(SCOPE, ONE, is_current=False)
    cache.remember(SCOPE, TWO, is_current=False)
    assert cache.find(SCOPE, "k1") == ONE
    cache.remember(OTHER, ONE, is_current=False)
    assert (cache.find(SCOPE, "k1"), cache.find(SCOPE, "k2"), cache.find(OTHER, "k1")) == (ONE, None, ONE)


@pytest.mark.parametrize(("settle", "lifetime"), [(960.0, 60), (10.0, 5)])
def test_no_key_outlives_the_fence_of_an_erasure(settle: float, lifetime: int) -> None:
    """A user who starts again has other keys: data sealed with the old ones is unreadable."""
    settings = sample_settings(erasure_quiescence_seconds=settle)
    services = in_memory(settings, CATALOG)
    assert isinstance(services.clock, FrozenClock)
    assert services.vault is services.audit.vault
    assert services.vault.cache is not None
    services.vault.cache.remember(SCOPE, ONE, is_current=True)
    services.clock.advance(timedelta(seconds=lifetime - 1))
    assert services.vault.cache.current(SCOPE) == ONE
    services.clock.advance(timedelta(seconds=1))
    assert services.vault.cache.current(SCOPE) is None
