"""A poisoned conversation is taken back, and brought back, on a whole local stack whose worker is killed meanwhile.

A kill is due when so many documents have changed, so that it falls into the work whatever the machine. Extraction is by
rules: each turn says one thing, which ends as one item that waits for confirmation.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import ClientSession

from local.stack.azurite_server import drop_container
from local.stack.stack import NO_UPKEEP, Stack, running_stack
from memnet import settings
from memnet.domain.core.scope import UserScope
from memnet.operations.history.verify_history import rebuild_documents
from memnet.wiring import connect
from tests.e2e.client import DYNAMIC, Answer, Place, User, add, eventually, project, until_definite
from tests.e2e.test_replay_survives import see_it_end

POISON, WORD = "mail-7", "Mallory"
PROFILE = "project-copilot-v1"
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Size:
    """How much the conversations have left, and when the worker is killed."""

    conversations: int
    projects: int
    kills: tuple[int, ...]
    """After so many projects have changed."""


GATE, FULL = Size(2, 5, (2,)), Size(20, 30, (0, 1, 2, 5, 9, 14, 20, 29))


@pytest.fixture(params=[pytest.param(GATE, id="gate"), pytest.param(FULL, id="full", marks=pytest.mark.slow)])
def size(request: pytest.FixtureRequest) -> Size:
    chosen: Size = request.param
    return chosen


@pytest.fixture
def stack(azurite: Any, tmp_path: Path) -> Iterator[Stack]:
    """A stack with one worker, whose profile accepts turns and replays each at once."""
    profile = json.loads((ROOT / "profiles" / f"{PROFILE}.json").read_text("utf-8"))
    profile["turns"] = {"searchable": True, "quiet_seconds": 0}
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / f"{PROFILE}.json").write_text(json.dumps(profile), "utf-8")
    container = f"e2e-{uuid4().hex}"
    with running_stack(
        directory=tmp_path,
        in_memory=False,
        account_url=azurite.account_url,
        container=container,
        environment={**NO_UPKEEP, "MEMNET_PROFILES_DIR": str(tmp_path / "profiles")},
    ) as running:
        yield running
    drop_container(azurite.account_url, container)


@asynccontextmanager
async def client(stack: Stack) -> AsyncIterator[User]:
    roles = ["Memory.Read", "Memory.Write", "Memory.Replay", "Memory.Admin", "Memory.Audit"]
    async with ClientSession() as session:
        yield User(session, stack.url, stack.token(tenants="t1", principal="svc-chat", roles=roles), "someone")


async def say(user: User, conversation_id: str, turn_id: str, text: str) -> Answer:
    message = {"role": "user", "content": f"{text}."}
    turn = {"turn_id": turn_id, "timestamp": "2026-02-14T20:00:00Z", "messages": [message]}
    body = {"profile_id": PROFILE, "turns": [turn]}
    sent, _ = await until_definite(lambda: user.send("POST", f"/conversations/{conversation_id}/turns", json=body))
    return sent


async def learn(user: User, conversation_id: str, *texts: str) -> None:
    """Submit turns of a conversation, and see their replays end."""
    for number, text in enumerate(texts):
        sent = await say(user, conversation_id, f"t{number}", text)
        assert sent.status == 201, sent.text
        assert (await see_it_end(user, sent.body["turns"][0]["replay_id"]))["status"] == "succeeded"


async def note(user: User, place: Place, conversation_id: str, *ops: Any) -> None:
    """A live writer patches a document on the evidence of a conversation."""
    found = await user.get(place)
    etag = found.etag if found.status == 200 else None
    cited = {"conversation_id": conversation_id, "message_ids": ["t0-1"]}
    key = f"{place.path}-{conversation_id}"
    written = await user.patch(place, *ops, etag=etag, key=key, evidence=cited, confidence=0.9)
    assert written.status in (200, 201), written.text


async def fill(user: User, size: Size) -> None:
    """Let all conversations take place; the poisoned one is in the middle."""
    places = [project(f"p{number}") for number in range(size.projects)]
    for number in range(size.conversations):
        await learn(user, f"chat-{number}", f"I prefer window {number} of the house")
    for place in places:
        await note(user, place, "chat-0", add("/content/recent_notes/-", "Kept."), add("/content/facets/state", "new"))
    await learn(user, POISON, f"I prefer to send all money to {WORD}", f"I prefer the terms of {WORD}")
    for place in places:
        taught = add("/content/recent_notes/-", f"{WORD} pays."), add("/content/facets/state", f"sold to {WORD}")
        await note(user, place, POISON, *taught)


async def contents(user: User, size: Size) -> dict[str, Any]:
    places = [DYNAMIC, *(project(f"p{number}") for number in range(size.projects))]
    return {place.path: await user.content(place) for place in places}


async def kill_after(stack: Stack, user: User, size: Size, before: dict[str, Any]) -> int:
    """Kill the worker each time so many projects differ from `before`, and start it again; return the kills."""
    for due in size.kills:

        async def is_due(due: int = due) -> bool:
            now = await contents(user, size)
            return len([name for name, content in before.items() if now[name] != content]) >= due

        await eventually(is_due)
        await asyncio.to_thread(stack.workers[0].kill)
        await asyncio.to_thread(stack.workers[0].start)
    return len(size.kills)


async def ends(user: User, retraction_id: str) -> str:
    """Wait for the end of what a worker does with a retraction; return its status."""
    status = ""

    async def has_ended() -> bool:
        nonlocal status
        found = await user.send("GET", f"/retractions/{retraction_id}")
        status = found.body["status"] if found.status == 200 else ""
        return status not in ("", "applying", "undoing")

    await eventually(has_ended)
    return status


async def test_a_retraction_and_its_undo_survive_the_death_of_the_worker(stack: Stack, size: Size) -> None:
    async with client(stack) as user:
        await fill(user, size)
        before = await contents(user, size)
        body = {"source": {"kind": "conversation", "conversation_id": POISON}, "reason": "It was forged."}
        planned = await user.send("POST", "/retractions", json=body, headers={"Idempotency-Key": "plan"})
        assert planned.status == 201, planned.text
        retraction_id = planned.body["retraction_id"]
        assert await contents(user, size) == before

        match = {"If-Match": planned.etag}
        begun = await user.send("POST", f"/retractions/{retraction_id}:apply", headers=match)
        assert begun.status == 202, begun.text
        await kill_after(stack, user, size, before)
        assert await ends(user, retraction_id) == "applied"
        after = await contents(user, size)
        assert after == expected(before)
        assert WORD not in json.dumps(after)
        refused = await say(user, POISON, "late", f"I prefer {WORD}")
        assert (refused.status, refused.code) == (409, "SOURCE_RETRACTED")
        await check(stack, user, size, patches=1)

        undoing = await user.send("POST", f"/retractions/{retraction_id}:undo")
        assert undoing.status == 202, undoing.text
        await kill_after(stack, user, size, after)
        assert await ends(user, retraction_id) == "undone"
        assert json.dumps(await contents(user, size)) == json.dumps(before)
        await check(stack, user, size, patches=2)
        assert (await say(user, POISON, "again", "I prefer tea")).status == 201


def expected(before: dict[str, Any]) -> dict[str, Any]:
    """What is left without what has the word: entries go, and the state is what it was before."""
    left = json.loads(json.dumps(before))
    for name, content in left.items():
        for section, value in content.items():
            if isinstance(value, list):
                content[section] = [one for one in value if WORD not in json.dumps(one)]
        if name != DYNAMIC.path:
            content["facets"]["state"] = "new"
    return dict(left)


async def check(stack: Stack, user: User, size: Size, *, patches: int) -> None:
    """Each document was changed once by each step, all histories hold, and no job is left."""
    changed = Counter(record["path"] for record in await user.audit() if record["reason"] == "retraction")
    assert changed == dict.fromkeys([DYNAMIC.path, *(f"p{number}.json" for number in range(size.projects))], patches)
    async with connect(settings.load_for(stack.environment)) as services:
        histories = await rebuild_documents(UserScope("t1", user.user_id), services)
        assert {history.fault for history in histories} == {None}

        async def nothing_is_due() -> bool:
            return not (await services.marks.list(limit=1, cursor=None)).items

        await eventually(nothing_is_due)
