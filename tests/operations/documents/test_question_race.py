"""Answers, joins and live writers at once, through two processes: one answer is applied, and no statement is lost."""

import asyncio
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from memnet.domain.core.access import Role
from memnet.domain.core.errors import MemnetError, PendingItemNotFound
from memnet.domain.core.scope import Actor, ETag
from memnet.domain.documents.commands import ConfirmPending, IfExists, RejectPending
from memnet.operations.documents.pending import confirm_pending, reject_pending
from tests.operations.documents.test_statement_race import PERSONAL, lives_in
from tests.operations.service_scenario import Service
from tests.services import service_of

BOTH = frozenset({Role.READ, Role.WRITE})
ONE, OTHER = Actor("svc-one", BOTH), Actor("svc-other", BOTH)
TAKES = ("proposed", "existing", "both")


async def state(service: Service, number: int, sure: float, key: str) -> Any:
    """Say that the user lives in a town, over whatever version there is."""
    value = {**lives_in(number)["value"], "confidence": sure}
    for attempt in range(50):
        stored = await service.documents.get(PERSONAL)
        over = ETag((await service.head(PERSONAL)).commit.etag) if stored else None
        try:
            return await service.patch(
                {**lives_in(number), "value": value},
                over=over,
                key=PERSONAL,
                profile_id="personal-memory-v1",
                binding_id="personal",
                confidence=sure,
                idempotency_key=f"{key}-{attempt}",
            )
        except MemnetError:
            await asyncio.sleep(0)
    raise AssertionError


def answer(pending_id: str, by: Actor, key: str, **members: Any) -> ConfirmPending:
    given: dict[str, Any] = {"confidence": 0.9, "evidence": {"conversation_id": f"c-{key}"}, **members}
    return ConfirmPending(
        key=PERSONAL, actor=by, precondition=IfExists(), idempotency_key=key, pending_id=pending_id, **given
    )


async def content(service: Service) -> Any:
    return (await service.head(PERSONAL)).content


def opened(found: Any) -> list[str]:
    return sorted(entry["value"] for entry in found["facts"] if not entry.get("valid_until"))


@pytest.mark.parametrize("first", TAKES)
@pytest.mark.parametrize("second", TAKES)
async def test_of_two_answers_one_wins_and_the_other_is_shown_what_is_there(
    service: Service, first: str, second: str
) -> None:
    other = Service(documents=service.documents, audit=service.audit, clock=service.clock)
    await state(service, 1, 0.9, "open")
    (settled,) = (await state(service, 2, 0.3, "asks")).settled
    pending_id = settled["pending_id"]
    found = await asyncio.gather(
        confirm_pending(answer(pending_id, ONE, "one", take=first), service_of(**service.ports())),
        confirm_pending(answer(pending_id, OTHER, "other", take=second), service_of(**other.ports())),
        return_exceptions=True,
    )
    (lost,) = [one for one in found if isinstance(one, BaseException)]
    assert isinstance(lost, PendingItemNotFound)
    won, take = (ONE, first) if found[1] is lost else (OTHER, second)
    now = await content(service)
    assert now["to_confirm"] == []
    assert opened(now) == {"proposed": ["town 2"], "existing": ["town 1"], "both": ["town 1", "town 2"]}[take]
    assert lost.details["decided_by"] == won.principal
    assert lost.details["entry"] in now["facts"]
    assert lost.details["etag"] == (await service.head(PERSONAL)).commit.etag
    # The worker that proposed cannot answer, and a repeated answer gets the first result.
    mine = ("one", ONE, first) if won is ONE else ("other", OTHER, second)
    again = await confirm_pending(answer(pending_id, mine[1], mine[0], take=mine[2]), service_of(**service.ports()))
    assert again.replayed
    await other.background.drain()


async def test_contradictions_at_once_are_one_question_with_every_value(service: Service) -> None:
    other = Service(documents=service.documents, audit=service.audit, clock=service.clock)
    await state(service, 1, 0.9, "open")
    numbers = [2, 3, 4, 5, 2, 3]
    await asyncio.gather(
        *(state((service, other)[place % 2], number, 0.3, f"w{place}") for place, number in enumerate(numbers))
    )
    (item,) = (await content(service))["to_confirm"]
    values = [one["target"]["value"]["value"] for one in [item, *item["alternatives"]]]
    assert sorted(values) == ["town 2", "town 3", "town 4", "town 5"]
    await other.background.drain()


@pytest.mark.parametrize("seed", range(6))
async def test_answers_between_writers_leave_one_entry_and_one_question(service: Service, seed: int) -> None:
    random = Random(seed)
    other = Service(documents=service.documents, audit=service.audit, clock=service.clock)
    await state(service, 1, 0.9, "open")
    apart = 0

    async def decide(number: int) -> None:
        nonlocal apart
        process, by = random.choice([(service, ONE), (other, OTHER)])
        waits = (await content(process))["to_confirm"]
        if not waits:
            return
        take, ports = random.choice([*TAKES, "reject"]), process.ports()
        try:
            if take == "reject":
                command = RejectPending(
                    key=PERSONAL,
                    actor=by,
                    precondition=IfExists(),
                    idempotency_key=f"d{number}",
                    pending_id=waits[0]["id"],
                )
                await reject_pending(command, service_of(**ports))
            else:
                command_ = answer(waits[0]["id"], by, f"d{number}", take=take)
                await confirm_pending(command_, service_of(**ports))
                apart += take == "both"
        except MemnetError:
            return

    work = [
        state((service, other)[n % 2], random.randrange(1, 6), random.choice([0.3, 0.9]), f"w{n}") for n in range(14)
    ]
    work += [decide(number) for number in range(8)]
    random.shuffle(work)
    for begin in range(0, len(work), 4):
        await asyncio.gather(*work[begin : begin + 4])
        now = await content(service)
        things = [(entry.get("aspect")) for entry in now["facts"] if not entry.get("valid_until")]
        assert len(things) == len(set(things)) <= 1 + apart
        questions = [item["target"]["value"].get("aspect") for item in now["to_confirm"] if "contradicts" in item]
        assert len(questions) == len(set(questions))
    await other.background.drain()


async def test_the_proposer_cannot_answer(service: Service) -> None:
    await state(service, 1, 0.9, "open")
    (settled,) = (await state(service, 2, 0.3, "asks")).settled
    proposer = replace(ONE, principal="svc-alice")
    for take in TAKES:
        with pytest.raises(MemnetError) as refused:
            await confirm_pending(
                answer(settled["pending_id"], proposer, take, take=take), service_of(**service.ports())
            )
        assert refused.value.code.value == "PROPOSER_CANNOT_CONFIRM"
