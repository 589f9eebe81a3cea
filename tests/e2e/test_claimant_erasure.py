"""A person who spoke in a workspace is erased: the workspace keeps the words, and nothing that leads to the person.

The storage, the index, the queues and the logs are read by the stock clients of Azure, as in `independent_look`.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

from tests.e2e.client import Place, User, add, eventually
from tests.e2e.erasing import Stage, forget, over, stage
from tests.e2e.independent_look import LETTERS, Look, says

pytestmark = pytest.mark.asyncio(loop_scope="module")

PERSONAL = Place("personal-memory-v1", "personal", "user", "personal.json")
SHARED = Place("workspace-memory-v1", "workspace", "workspace", "shared.json")
CODE = re.compile(r"clm-[0-9a-f]{32}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(azurite: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    environment = {"MEMNET_ERASURE_QUIESCENCE_SECONDS": "1", "MEMNET_LOG_LEVEL": "debug"}
    directory = tmp_path_factory.mktemp("stack")
    async with stage(azurite.account_url, directory=directory, environment=environment) as running:
        yield running


async def hire(user: User) -> None:
    """Give a person a memory, and so a data key."""
    fact = {"subject": "user", "attribute": "name", "value": "X", "text": "Called X.", "confidence": 0.9}
    made = await user.patch(PERSONAL, add("/content/facts/-", {**fact, "evidence": {}}), etag=None, key="hire")
    assert made.status == 201, made.text


async def state(workspace: User, by: User, section: str, value: str, number: int, **about: str) -> None:
    """State something in a patch of the workspace, on the word of a person."""
    found = await workspace.get(SHARED)
    claim = {"subject": "workspace", **about, "value": value, "text": f"Our choice is {value}.", "confidence": 0.9}
    made = await workspace.patch(
        SHARED,
        add(f"/content/{section}/-", {**claim, "evidence": {"conversation_id": f"live-{number}"}}),
        etag=found.etag if found.status == 200 else None,
        key=f"state-{number}",
        confidence=0.9,
        claimant={"user_id": by.user_id},
    )
    assert made.status in (200, 201), made.text


async def say(workspace: User, by: User, text: str, number: int) -> str:
    """Say something in a turn; return its replay."""
    turn = {"turn_id": "t1", "messages": [{"role": "user", "content": text}], "claimant": {"user_id": by.user_id}}
    body = {"profile_id": SHARED.profile_id, "turns": [turn]}
    answer = await workspace.send("POST", f"/conversations/standup-{number}/turns", json=body)
    assert answer.status in (201, 202), answer.text
    return str(answer.body["turns"][0]["replay_id"])


async def replayed(workspace: User, replay_id: str) -> None:
    async def has_ended() -> bool:
        answer = await workspace.send("GET", f"/replays/{replay_id}")
        return answer.status == 200 and answer.body["status"] in ("succeeded", "partial")

    await eventually(has_ended)


async def send_to_nowhere(world: Stage, workspace: User) -> None:
    """Leave a dead letter about the workspace, as a message does whose job cannot be done."""
    async with ServiceBusClient.from_connection_string(world.stack.bus.connection_string, retry_total=0) as client:
        body = {"tenant_id": workspace.tenant_id, "user_id": workspace.user_id, "replay_id": "gone"}
        async with client.get_queue_sender(LETTERS) as sender:
            await sender.send_messages(ServiceBusMessage(json.dumps(body)))


def holding(found: Look, text: str) -> list[str]:
    """The places that say a text as it is, in hexadecimal digits, in base64, or as part of a URL."""
    return found.holding(text, quote(text, safe=""), quote(quote(text, safe=""), safe=""))


def codes_of(document: Any) -> set[str]:
    """The codes in the member `claimed_by` of the open and closed entries and of what waits."""
    content = document["content"]
    waiting = [item["target"]["value"] for item in content["to_confirm"]]
    entries = [*content["claims"], *content["decisions"], *waiting]
    return {entry["claimed_by"] for entry in entries if entry.get("claimed_by")}


async def test_an_erased_claimant_leaves_statements_and_nothing_that_leads_to_the_person(world: Stage) -> None:
    gone, colleague, workspace = world.user("noor"), world.user("iris"), world.user("workspace")
    await asyncio.gather(hire(gone), hire(colleague))
    await state(workspace, gone, "claims", "Friday", 1, attribute="release day")
    await state(workspace, colleague, "claims", "Monday", 2, attribute="release day")
    await state(workspace, gone, "claims", "Sunday", 3, attribute="release day")
    await state(workspace, colleague, "decisions", "Postgres", 4, question="database")
    await state(workspace, gone, "decisions", "MySQL", 5, question="database")
    await replayed(workspace, await say(workspace, gone, "Our release day is Tuesday.", 1))
    await replayed(workspace, await say(workspace, colleague, "Our test day is Monday.", 2))
    await send_to_nowhere(world, workspace)
    assert (await workspace.send("GET", "/audit")).status == 200

    answer = await workspace.get(SHARED)
    before, codes = answer.body["document"]["content"], codes_of(answer.body["document"])
    assert len(codes) == 2
    (code,) = codes - {entry["claimed_by"] for entry in before["claims"] if entry["value"] == "Monday"}
    assert holding(await world.look(workspace, gone, colleague), gone.user_id)

    # This turn is replayed while its claimant is erased, or after.
    last = await say(workspace, gone, "Our demo day is Sunday.", 3)
    receipt = await over(gone, (await forget(gone))["erasure_id"])
    assert receipt["status"] == "complete"
    await replayed(workspace, last)

    found = await world.look(workspace, gone, colleague)
    assert holding(found, gone.user_id) == []
    prefix = f"tenants/{workspace.tenant_id}/users/{workspace.user_id}/"
    shared = f"{prefix}documents/{SHARED.namespace}/{SHARED.path}"
    assert holding(found, code) == [shared]
    check_members(json.loads(found.blobs[shared].partition(b"\n")[2]), code)

    after = await workspace.content(SHARED)
    assert all(entry in after[section] for section in ("claims", "decisions") for entry in before[section])
    assert "demo day" in str(after["to_confirm"])
    assert (await workspace.send("POST", "/conversations/c9/turns", json=turn_of(gone))).code == "CLAIMANT_NOT_FOUND"
    check_logs(world.stack.directory, gone.user_id, code)


def turn_of(user: User) -> Any:
    turn = {"turn_id": "t9", "messages": [{"role": "user", "content": "Hello."}], "claimant": {"user_id": user.user_id}}
    return {"profile_id": SHARED.profile_id, "turns": [turn]}


def check_members(stored: Any, code: str) -> None:
    """Of the stored document, only the member `claimed_by` of entries has the code."""

    def places(value: Any, at: tuple[str, ...]) -> Any:
        if isinstance(value, dict):
            for name, inner in value.items():
                yield from places(inner, (*at, name))
        elif isinstance(value, list):
            for inner in value:
                yield from places(inner, at)
        elif isinstance(value, str) and code in value:
            yield at

    found = set(places(stored, ()))
    assert {(at[0], at[-1]) for at in found} == {("content", "claimed_by")}, found


def check_logs(directory: Path, *texts: str) -> None:
    """No log of any process has the id or the code. The broker remembers ids of messages while it finds duplicates."""
    files = {file: file.read_bytes() for file in directory.rglob("*") if file.is_file()}
    assert {file.name for file in files} >= {"api.log", "worker-1.log"}
    held = {file.name for file, data in files.items() if says(data, *texts)}
    assert held <= {"service-bus.sqlite3"}
