"""The A2A agent, driven by the client of A2A's own SDK over both of its bindings."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import httpx2
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import A2AError, TaskNotCancelableError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict

from memnet_client import Retry
from memnet_client.a2a import create_app
from memnet_client.a2a.card import agent_card
from memnet_client.a2a.parts import data_part
from memnet_client.testing import FakeMemnet, Learnt, Outcome

pytestmark = pytest.mark.asyncio

AGENT = "http://agent.test"
TALK = [{"message_id": "m1", "role": "user", "content": "I moved to Bern.", "timestamp": "2026-02-14T20:00:00Z"}]
FACT = {"id": "f1", "text": "Lives in Bern.", "confidence": 0.6, "evidence": {}, "last_verified_at": None}
ADD = {"op": "add", "path": "/content/durable_facts/-", "value": FACT}
SAID = {"conversation_id": "c2", "message_ids": ["m4"]}
BINDINGS = ["JSONRPC", "HTTP+JSON"]


@pytest.fixture
def fake() -> FakeMemnet:
    return FakeMemnet()


@pytest.fixture
async def network(fake: FakeMemnet) -> AsyncIterator[httpx.ASGITransport]:
    async with httpx2.AsyncClient(transport=fake.transport) as http:
        app = create_app(
            "http://memnet.test", tenant="t1", profile="project-copilot-v1", public_url=AGENT, http=http,
            retry=Retry(attempts=2, first=0.0),
        )  # fmt: skip
        yield httpx.ASGITransport(app, raise_app_exceptions=False)


class Agent:
    """Another agent that talks to memnet's."""

    def __init__(
        self, network: httpx.AsyncBaseTransport, token: str, *, user: str = "/users/maya", binding: str = "JSONRPC"
    ):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.http = httpx.AsyncClient(transport=network, headers=headers)
        self._user, self._binding, self.base = user, binding, AGENT

    async def _client(self) -> Any:
        card = await A2ACardResolver(self.http, self.base + self._user).get_agent_card()
        config = ClientConfig(httpx_client=self.http, streaming=False, supported_protocol_bindings=[self._binding])
        return ClientFactory(config).create(card)

    async def send(self, part: Part, *, task: str = "", context: str = "", wait: bool = True) -> Any:
        message = Message(role=Role.ROLE_USER, message_id="m-1", context_id=context, task_id=task, parts=[part])
        request = SendMessageRequest(
            message=message, configuration=SendMessageConfiguration(return_immediately=not wait)
        )
        async for answer in (await self._client()).send_message(request):
            return answer.message if answer.HasField("message") else answer.task
        raise AssertionError("no answer")

    async def task(self, task_id: str) -> Task:
        found: Task = await (await self._client()).get_task(GetTaskRequest(id=task_id))
        return found

    async def tasks(self, **chosen: Any) -> list[Task]:
        return list((await (await self._client()).list_tasks(ListTasksRequest(**chosen))).tasks)

    async def cancel(self, task_id: str) -> None:
        await (await self._client()).cancel_task(CancelTaskRequest(id=task_id))


def learns(fake: FakeMemnet, confidence: float = 0.6) -> None:
    fake.finish_replay(Outcome(patches=[Learnt("user_dynamic", [ADD], confidence=confidence)]))


def asked(task: Task) -> Any:
    return MessageToDict(task.status.message.parts[0].data)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_memory_is_remembered_and_recalled(fake: FakeMemnet, network: httpx.ASGITransport, binding: str) -> None:
    agent = Agent(network, fake.token(), binding=binding)
    remember = {"skill": "remember", "binding": "user_dynamic", "section": "/preferences", "entry": "Use charts."}
    done = MessageToDict((await agent.send(data_part(remember))).parts[0].data)
    again = MessageToDict((await agent.send(data_part(remember))).parts[0].data)
    recalled = (await agent.send(Part(text="Which chart?"))).parts[0].text
    assert (done["status"], done["visible"], again["status"]) == ("applied", "now", "unchanged")
    assert recalled.startswith("<memnet-context>")
    assert "- Use charts." in recalled


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("dry_run", [None, False, True])
async def test_memory_is_consolidated(
    fake: FakeMemnet, network: httpx.ASGITransport, binding: str, dry_run: bool | None
) -> None:
    chosen = {} if dry_run is None else {"dry_run": dry_run}
    part = data_part({"skill": "consolidate", **chosen})
    token = fake.token(roles=("Memory.Replay",))
    done = await Agent(network, token, binding=binding).send(part)
    assert MessageToDict(done.parts[0].data) == {"dry_run": bool(dry_run), "documents": []}
    assert [request.url.path.rpartition("/")[2] for request in fake.requests] == ["documents:consolidate"]


async def test_a_caller_who_may_only_write_is_refused_a_consolidation(
    fake: FakeMemnet, network: httpx.ASGITransport
) -> None:
    agent = Agent(network, fake.token())
    with pytest.raises((A2AError, A2AClientError), match="ROLE_REQUIRED"):
        await agent.send(data_part({"skill": "consolidate"}))


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_conversation_is_a_task_that_completes(
    fake: FakeMemnet, network: httpx.ASGITransport, binding: str
) -> None:
    agent = Agent(network, fake.token(), binding=binding)
    learns(fake, confidence=0.9)
    task = await agent.send(data_part({"messages": TALK, "conversation_id": "c1"}), wait=False)
    ended = await agent.task(task.id)
    assert ended.status.state == TaskState.TASK_STATE_COMPLETED
    assert ended.context_id == "c1"
    assert [artifact.name for artifact in ended.artifacts] == ["patches"]
    assert fake.content("maya", "user_dynamic")["durable_facts"][0]["text"] == "Lives in Bern."


async def test_the_same_conversation_again_is_the_same_task(fake: FakeMemnet, network: httpx.ASGITransport) -> None:
    agent = Agent(network, fake.token())
    one = await agent.send(data_part({"messages": TALK, "conversation_id": "c1"}))
    other = await agent.send(data_part({"messages": TALK, "conversation_id": "c1"}))
    assert one.id == other.id
    assert [task.id for task in await agent.tasks()] == [one.id]


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_proposal_requires_input_until_another_principal_decides(
    fake: FakeMemnet, network: httpx.ASGITransport, binding: str
) -> None:
    agent = Agent(network, fake.token(), binding=binding)
    reviewer = Agent(network, fake.token("reviewer"), binding=binding)
    learns(fake)
    task = await agent.send(data_part({"messages": TALK}), context="c1")
    assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    (item,) = asked(task)["pending"]
    assert item["text"] == "Lives in Bern."
    decision = {"decision": "confirm", "pending_id": item["pending_id"], "evidence": SAID, "confidence": 0.9}
    with pytest.raises((A2AError, A2AClientError), match="PROPOSER_CANNOT_CONFIRM"):
        await agent.send(data_part(decision), task=task.id)
    assert (await agent.task(task.id)).status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    resumed = await reviewer.send(data_part(decision), task=task.id)
    assert resumed.status.state == TaskState.TASK_STATE_COMPLETED
    assert fake.content("maya", "user_dynamic")["durable_facts"][0]["text"] == "Lives in Bern."


async def test_a_message_to_one_task_does_not_decide_about_another(
    fake: FakeMemnet, network: httpx.ASGITransport
) -> None:
    agent, reviewer = Agent(network, fake.token()), Agent(network, fake.token("reviewer"))
    learns(fake)
    other = await agent.send(data_part({"messages": TALK}), context="c1")
    fake.finish_replay(Outcome())
    task = await agent.send(data_part({"messages": TALK}), context="c2")
    decision = {"decision": "confirm", "pending_id": asked(other)["pending"][0]["pending_id"], "evidence": SAID}
    with pytest.raises(A2AError, match="no such pending_id"):
        await reviewer.send(data_part(decision), task=task.id)
    assert fake.content("maya", "user_dynamic")["durable_facts"] == []


async def test_a_rejected_proposal_completes_the_task(fake: FakeMemnet, network: httpx.ASGITransport) -> None:
    agent = Agent(network, fake.token())
    learns(fake)
    task = await agent.send(data_part({"messages": TALK}), context="c1")
    decision = {"decision": "reject", "pending_id": asked(task)["pending"][0]["pending_id"], "note": "not true"}
    resumed = await agent.send(data_part(decision), task=task.id)
    assert resumed.status.state == TaskState.TASK_STATE_COMPLETED
    assert fake.content("maya", "user_dynamic")["durable_facts"] == []


@pytest.mark.parametrize(
    "decision",
    [{}, {"decision": "maybe"}, {"decision": "confirm", "pending_id": "x"}, {"decision": "retry", "conflict_id": "x"}],
)
async def test_a_decision_about_nothing_is_refused(
    fake: FakeMemnet, network: httpx.ASGITransport, decision: dict[str, Any]
) -> None:
    agent = Agent(network, fake.token())
    task = await agent.send(data_part({"messages": TALK}), context="c1")
    before = len(fake.audit("maya"))
    with pytest.raises((A2AError, A2AClientError)):
        await agent.send(data_part(decision), task=task.id)
    assert len(fake.audit("maya")) == before


@pytest.mark.parametrize(
    "data",
    [
        {"skill": "forget"},
        {"skill": "remember", "binding": "user_dynamic", "section": "/preferences"},
        {"skill": "remember", "binding": 7, "section": "/preferences", "entry": "x"},
        {"skill": "remember", "binding": "user_dynamic", "section": "/nothing", "entry": "x"},
        {"skill": "remember", "binding": "project_doc", "section": "/notes", "entry": "x", "ids": {"project_id": 7}},
        {"skill": "learn_from_conversation"},
        {"skill": "consolidate", "dry_run": "yes"},
        {"messages": ["x"]},
        {"messages": TALK, "conversation_id": "../../u2"},
    ],
)
async def test_what_the_data_lacks_is_refused_and_changes_nothing(
    fake: FakeMemnet, network: httpx.ASGITransport, data: dict[str, Any]
) -> None:
    with pytest.raises((A2AError, A2AClientError)) as raised:
        await Agent(network, fake.token()).send(data_part(data))
    assert "Internal" not in str(raised.value)
    assert fake.documents == {}


@pytest.mark.parametrize("task_id", ["../../u2/replays/x", "..", "rpl-none"])
async def test_an_unknown_or_hostile_task_is_not_found(
    fake: FakeMemnet, network: httpx.ASGITransport, task_id: str
) -> None:
    agent = Agent(network, fake.token())
    with pytest.raises(TaskNotFoundError):
        await agent.task(task_id)
    assert all("/users/maya/" in str(request.url) for request in fake.requests)


async def test_a_task_of_another_user_is_not_found(fake: FakeMemnet, network: httpx.ASGITransport) -> None:
    task = await Agent(network, fake.token()).send(data_part({"messages": TALK}), context="c1")
    with pytest.raises(TaskNotFoundError):
        await Agent(network, fake.token(), user="/users/ben").task(task.id)


async def test_a_replay_is_not_canceled(fake: FakeMemnet, network: httpx.ASGITransport) -> None:
    agent = Agent(network, fake.token())
    task = await agent.send(data_part({"messages": TALK}), context="c1")
    with pytest.raises(TaskNotCancelableError):
        await agent.cancel(task.id)


async def test_tasks_are_listed_by_context_and_state(fake: FakeMemnet, network: httpx.ASGITransport) -> None:
    agent = Agent(network, fake.token())
    for name in ("c1", "c2"):
        await agent.send(data_part({"messages": TALK}), context=name)
    assert [task.context_id for task in await agent.tasks(context_id="c2")] == ["c2"]
    assert await agent.tasks(status=TaskState.TASK_STATE_FAILED) == []
    assert all(not task.artifacts for task in await agent.tasks())
    assert all(task.artifacts for task in await agent.tasks(include_artifacts=True))


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("kind", ["none", "unknown", "another tenant", "no role", "another user"])
async def test_a_caller_without_the_right_reads_and_writes_nothing(
    fake: FakeMemnet, network: httpx.ASGITransport, binding: str, kind: str
) -> None:
    fake.put("maya", "user_dynamic", {"preferences": ["secret"], "durable_facts": [], "pending_confirmations": []})
    before = dict(fake.documents)
    token = {
        "none": "",
        "unknown": "x.y.z",
        "another tenant": fake.token(tenant="t2"),
        "no role": fake.token(roles=()),
        "another user": fake.token(user="ben"),
    }[kind]
    agent = Agent(network, token, binding=binding)
    remember = {"skill": "remember", "binding": "user_dynamic", "section": "/preferences", "entry": "x"}
    for part in (Part(text="What?"), data_part(remember), data_part({"messages": TALK, "conversation_id": "c1"})):
        with pytest.raises((A2AError, A2AClientError)) as raised:
            await agent.send(part)
        assert "secret" not in str(raised.value)
    assert fake.documents == before


async def test_the_user_who_is_signed_in_needs_no_path(fake: FakeMemnet, network: httpx.ASGITransport) -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"oid": "maya"}).encode()).decode().rstrip("=")
    fake.put("maya", "user_dynamic", {"preferences": ["Mine."], "durable_facts": [], "pending_confirmations": []})
    known = fake.token(user="maya")
    fake._service.tokens[f"h.{claims}.s"] = fake._service.tokens[known]
    recalled = await Agent(network, f"h.{claims}.s", user="/me").send(Part(text="What?"))
    assert "- Mine." in recalled.parts[0].text


async def test_a_failure_of_the_service_has_its_code_and_no_foreign_text(
    fake: FakeMemnet, network: httpx.ASGITransport
) -> None:
    for _ in range(2):
        fake.refuse("UNAVAILABLE", operation="assemble_context")
    with pytest.raises((A2AError, A2AClientError), match="UNAVAILABLE"):
        await Agent(network, fake.token()).send(Part(text="What?"))


async def test_the_card_names_every_skill_and_both_bindings(network: httpx.ASGITransport) -> None:
    async with httpx.AsyncClient(transport=network) as http:
        card = await A2ACardResolver(http, f"{AGENT}/users/maya").get_agent_card()
        hidden = await http.get(f"{AGENT}/users/..%2Fx/.well-known/agent-card.json")
    assert [skill.id for skill in card.skills] == ["recall", "remember", "learn_from_conversation", "consolidate"]
    assert [one.protocol_binding for one in card.supported_interfaces] == BINDINGS
    assert {one.url for one in card.supported_interfaces} == {f"{AGENT}/users/maya"}
    assert hidden.status_code == 404


async def test_the_card_s_descriptions_hold_no_instructions() -> None:
    from memnet_client.mcp.descriptions import faults

    card = MessageToDict(agent_card("https://agent.test/users/maya"))
    for interface in card["supportedInterfaces"]:
        del interface["url"]
    assert faults(card) == []
