"""A workspace at random: claimants who state, contradict and are erased, beside upkeep, retraction, holds and keys."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from random import Random
from typing import Any

import orjson
import pytest

from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.access import Role
from memnet.domain.core.errors import ClaimantNotFound, MemnetError
from memnet.domain.core.job import Job, JobKind
from memnet.domain.core.scope import Actor, UserScope
from memnet.domain.documents.commands import Settled, Take
from memnet.domain.governance.legal_hold import HoldTarget
from memnet.domain.governance.source import Source, SourceKind
from memnet.operations.consolidation import consolidate_document
from memnet.operations.governance.erase_user import Erased, erase_user
from memnet.operations.governance.erasure_request import request_erasure
from memnet.operations.governance.legal_holds import place_hold, release_hold
from memnet.operations.governance.retractions import apply_retraction, plan_retraction
from memnet.operations.governance.run_retraction import run_retraction
from memnet.operations.sealing import rotate_keys
from memnet.operations.upkeep import compact_document
from memnet.wiring import in_memory
from tests.domain.samples import CATALOG
from tests.operations.documents.test_claimants import code_of, found_in
from tests.operations.workspace_scenario import ACME, PROFILE, SHARED, TENANT, Workspace
from tests.sample_settings import sample_settings

GONE, IRIS = "noor-1783", "iris-2291"
PEOPLE = (GONE, IRIS, None)
VALUES = ("Friday", "Monday", "Sunday")
THINGS = ({"attribute": "release day"}, {"attribute": "day of the release"}, {"question": "day off"})
WORKER, ADMIN = Actor("memnet-worker", frozenset()), Actor("svc-admin", frozenset({Role.ADMIN}))
WORKERS, STEPS = 3, 10


def consolidating() -> Catalog:
    """The catalog whose workspaces consolidate what one person claims."""
    body = CATALOG.profile(PROFILE).model_dump(mode="json", exclude_unset=True)
    for rule in body["upkeep_rules"]["workspace"]:
        rule |= {"consolidate": {"above": 0.5}} if rule["section"] == "/claims" else {}
    made = type(CATALOG.profile(PROFILE)).model_validate_json(orjson.dumps(body))
    return replace(CATALOG, profiles={**CATALOG.profiles, PROFILE: made})


@dataclass
class Walk:
    """Steps over one workspace, each chosen at random, and what was stated."""

    random: Random
    workspace: Workspace = field(
        default_factory=lambda: Workspace(service=in_memory(sample_settings(), consolidating()))
    )
    number: int = 0
    codes: dict[str | None, str | None] = field(default_factory=dict)
    stated: list[tuple[str | None, str, str]] = field(default_factory=list)
    """The code, the value and the conversation of each claim that was taken."""
    retracted: set[str] = field(default_factory=set)
    queued: list[Any] = field(default_factory=list)

    async def begin(self) -> None:
        await self.workspace.hire(GONE, IRIS)
        self.codes = {name: None if name is None else await code_of(self.workspace, name) for name in PEOPLE}
        await self.state()

    def said(self) -> dict[str, Any]:
        self.number += 1
        about = self.random.choice(THINGS)
        # The same words about other things: what is consolidated.
        value = self.random.choice(VALUES)
        text = {"text": f"Our release day is {value}."} if "attribute" in about else {}
        return {"day": self.number, "by": self.random.choice(PEOPLE), "value": value, **about, **text}

    def note(self, said: dict[str, Any], conversation: str, settled: list[Settled]) -> None:
        """Remember a claim that was taken. What was asked waits; what was said just before is not taken again."""
        if "attribute" in said and any(one["verdict"] not in ("asked", "kept") for one in settled):
            self.stated.append((self.codes[said["by"]], said["value"], conversation))

    async def state(self) -> None:
        said = self.said()
        settled = await self.workspace.state(said)
        self.note(said, f"live-{said['day']}", settled)

    async def replay(self) -> None:
        said = self.said()
        settled = await self.workspace.replay(said)
        self.note(said, f"c-{said['day']}-{said['value']}", settled)

    async def wait(self) -> None:
        """A turn is stored; its replay runs at some later time, or twice."""
        self.queued.append(await self.workspace.turn(self.said()))

    async def work(self) -> None:
        if self.queued:
            stored = self.random.choice(self.queued)
            await asyncio.gather(self.workspace.work(stored), self.workspace.work(stored), return_exceptions=True)

    async def answer(self) -> None:
        try:
            await self.workspace.answer(self.random.choice(list[Take](["proposed", "existing", "both"])), TENANT)
        except ValueError:
            return  # none waits, or several

    async def consolidate(self) -> None:
        await consolidate_document(SHARED, self.workspace.service, actor=WORKER)

    async def compact(self) -> None:
        await compact_document(SHARED, self.workspace.service, actor=WORKER)

    async def rotate(self) -> None:
        user_id = self.random.choice([IRIS, ACME.user_id, None])
        await rotate_keys("t1", *([] if user_id is None else [user_id]), vault=self.workspace.service.audit.vault)

    async def hold(self) -> None:
        change = self.random.choice([place_hold, release_hold])
        user_id = self.random.choice([ACME.user_id, IRIS])
        await change(HoldTarget("t1", user_id), "case 7", self.workspace.service, actor=ADMIN)

    async def retract(self) -> None:
        if not self.stated:
            return
        _, _, conversation = self.random.choice(self.stated)
        # From the plan on nothing of the conversation is learnt any more.
        self.retracted.add(conversation)
        service, source = self.workspace.service, Source(kind=SourceKind.CONVERSATION, conversation_id=conversation)
        key = {"actor": ADMIN, "idempotency_key": f"r-{conversation}"}
        planned = (await plan_retraction(ACME, source, "Poisoned.", service, **key)).retraction  # type: ignore[arg-type]
        begun = await apply_retraction(ACME, planned.retraction_id, planned.etag, service, actor=ADMIN)
        await run_retraction(Job(JobKind.RETRACTION, "t1", ACME.user_id, begun.retraction_id), service)

    async def steps(self, *chosen: Callable[[], Awaitable[None]]) -> None:
        for _ in range(STEPS):
            try:
                await self.random.choice(chosen)()
            except MemnetError:
                # Another writer was first, a hold forbids it, or the claimant is erased.
                await asyncio.sleep(0)

    async def check(self) -> None:
        """Check what holds at any time."""
        await self.workspace.drain()
        content = await self.workspace.content()
        for section, name in (("claims", "attribute"), ("decisions", "question")):
            entries = {entry["id"]: entry for entry in content[section]}
            chains = defaultdict(list)
            for entry in entries.values():
                chains[entry[name], entry.get("claimed_by")].append(entry)
            for chain in chains.values():
                check_chain(chain)
            for entry in entries.values():
                successor = entries.get(entry.get("replaced_by", ""))
                if successor is not None and successor.get("claimed_by") != entry.get("claimed_by"):
                    # Only the tenant's answer ends what another person says.
                    assert section == "decisions"
                    assert "confirmed_by" in str(successor["evidence"])
        held = {(entry.get("claimed_by"), entry["value"]) for entry in content["claims"]}
        kept = {(code, value) for code, value, conversation in self.stated if conversation not in self.retracted}
        assert kept <= held, kept - held
        assert {entry.get("claimed_by") for entry in content["claims"]} <= set(self.codes.values())
        await self.workspace.check()


def check_chain(entries: list[dict[str, Any]]) -> None:
    """What one claimant says about one thing: one open answer at most, and one at a time."""
    assert sum("valid_until" not in entry for entry in entries) <= 1
    by_id = {entry["id"]: entry for entry in entries}
    ordered = sorted(entries, key=lambda entry: (entry["valid_from"], entry.get("valid_until", "9")))
    for earlier, later in pairwise(ordered):
        assert earlier["valid_until"] <= later["valid_from"], (earlier, later)
    for entry in ordered:
        assert entry["valid_from"] <= entry.get("valid_until", "9")
        successor = by_id.get(entry.get("replaced_by", ""))
        if successor is not None:
            assert entry["valid_until"] == successor["valid_from"]


async def erase(walk: Walk, user_id: str) -> None:
    """Erase a user while others continue."""
    scope, service = UserScope("t1", user_id), walk.workspace.service
    clock = service.clock
    assert isinstance(clock, FrozenClock)
    await request_erasure(scope, service, idempotency_key="forget", actor=ADMIN)
    for _ in range(12):
        clock.advance(timedelta(seconds=960))
        await asyncio.sleep(0)
        if await erase_user(scope, service) in (Erased.FINISHED, Erased.NOTHING):
            return
    raise AssertionError("the erasure does not end")


@pytest.mark.parametrize("seed", range(4))
async def test_each_claimant_keeps_what_they_said_whatever_happens_beside_it(seed: int) -> None:
    walk = Walk(Random(seed))
    await walk.begin()
    says = (walk.state, walk.state, walk.replay, walk.replay, walk.wait, walk.work)
    rest = (walk.answer, walk.consolidate, walk.compact, walk.rotate, walk.hold, walk.retract)
    await asyncio.gather(*(walk.steps(*says, *rest) for _ in range(WORKERS)))
    await walk.check()


@pytest.mark.parametrize("seed", range(4))
async def test_an_erasure_of_a_claimant_in_the_middle_leaves_no_id_and_stops_nothing(seed: int) -> None:
    walk = Walk(Random(100 + seed))
    await walk.begin()
    await walk.steps(walk.state, walk.replay, walk.wait)
    says = (walk.state, walk.replay, walk.wait, walk.work)
    rest = (walk.answer, walk.consolidate, walk.compact, walk.retract)
    await asyncio.gather(erase(walk, GONE), *(walk.steps(*says, *rest) for _ in range(WORKERS)))
    for stored in walk.queued:
        await walk.workspace.work(stored)
    await walk.check()
    assert await found_in(walk.workspace, GONE) == set()
    code = walk.codes[GONE]
    assert code is not None
    assert await found_in(walk.workspace, code) <= {SHARED.blob_name}
    with pytest.raises(ClaimantNotFound):
        await code_of(walk.workspace, GONE)
