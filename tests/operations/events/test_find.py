"""What the index and the storage have about a query."""

from dataclasses import replace
from datetime import timedelta

from memnet.domain.events.event_search import EventQuery, Mode
from memnet.domain.events.turn_search import TurnQuery
from memnet.domain.sealing.data_keys import data_keys_key
from memnet.operations.events.find import Read, find_marked, read_hits, search_index
from tests.operations.event_scenario import TwoNumbers
from tests.operations.turn_search_scenario import ONE, OTHER, SPOKEN, TurnWorld, said

QUERY = TurnQuery(scope=ONE, profiles=(SPOKEN,), text="slow", top=10)


async def test_a_turn_of_the_index_brings_its_vector() -> None:
    world = TurnWorld(embedder=TwoNumbers())
    await world.store("c1", said("m1", "The deploy is slow.", name="Ada"))
    await world.settle()
    found = await search_index(QUERY, world.service)
    assert found.mode is Mode.HYBRID
    read = await read_hits(ONE, [*found.by_words.items, *found.by_meaning.items], world.service)
    (turn,) = read.turns.values()
    assert turn.vector is not None
    assert (round(turn.vector[0], 2), turn.ordinal, turn.speaker) == (1.0, 0, "Ada")
    (candidate,) = read.candidates()
    assert found.compared([candidate]) == [candidate]
    (compared,) = found.compared([replace(candidate, vector=None)])
    assert round(compared.found_by_meaning or 0, 2) == 1.0


async def test_an_unsealed_turn_is_read_once_and_only_while_its_key_exists() -> None:
    world = TurnWorld()
    await world.store("c1", said("m1", "The deploy is slow."))
    await world.settle()
    hits = (await search_index(QUERY, world.service)).by_words.items
    first, second = [(await read_hits(ONE, hits, world.service)).candidates()[0] for _ in range(2)]
    assert second is first
    changed = [replace(hit, data=hit.data + b" ") for hit in hits]
    assert not (await read_hits(ONE, changed, world.service)).turns
    await world.service.records.delete(data_keys_key(ONE))
    assert not (await read_hits(ONE, hits, world.service)).turns


async def test_a_marked_turn_counts_more_than_that_of_the_index_and_keeps_its_vector() -> None:
    world = TurnWorld(embedder=TwoNumbers())
    await world.store("c1", said("m1", "slow"))
    await world.index_all()
    found = await search_index(QUERY, world.service)
    read = await read_hits(ONE, found.by_words.items, world.service)
    marked = await find_marked(QUERY, world.service)
    assert [turn.vector for turn in marked.turns.values()] == [None]
    (turn,) = read.with_others(marked).turns.values()
    assert turn.vector is not None
    assert read.with_others(Read()) == read


async def test_marks_of_other_kinds_and_users_are_not_read() -> None:
    world = TurnWorld()
    await world.store("c1", said("m1", "slow"))
    await world.store("c1", said("m1", "slow"), scope=OTHER)
    world.clock.advance(timedelta(seconds=1))
    assert (await find_marked(EventQuery(scope=ONE, text="slow", top=1), world.service)).candidates() == []
    (candidate,) = (await find_marked(QUERY, world.service)).candidates()
    assert candidate.snapshot_uri is not None
    assert "/u1/" in candidate.snapshot_uri


async def test_the_best_of_many_marked_turns_are_kept() -> None:
    world = TurnWorld()
    await world.store("c1", said("m1", "slow"), said("m2", "fast", at=1), said("m3", "slower", at=2))
    marked = await find_marked(QUERY, world.service)
    assert marked.best("slow", 3) is marked
    assert [turn.message_id for turn in marked.best("slow", 1).turns.values()] == ["m1"]
