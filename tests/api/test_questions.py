"""Three products and one question: each asks it, one answer is applied, and every way in can give it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import httpx2
import pytest
from a2a.types import Task, TaskState
from a2a.utils.errors import A2AError
from fastapi import FastAPI
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memnet.adapters.memory.models import ScriptedModels
from memnet.catalog import Catalog
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.job import Job, JobKind
from memnet.operations.governance.run_retraction import run_retraction
from memnet.operations.replay.replays import replay_snapshot
from memnet.service import Service
from memnet_client import AsyncMemnet, Retry
from memnet_client.a2a import create_app
from memnet_client.a2a.parts import data_part
from memnet_client.errors import PendingItemNotFound, ProfileForbidden, ProposerCannotConfirm, RoleRequired
from tests.api.conftest import USER, Token, bearer
from tests.client.adapters.test_a2a import AGENT, Agent, asked
from tests.client.mcp.hosts import Host, url_of
from tests.client.mcp.test_asking import Person
from tests.domain.samples import CATALOG
from tests.operations.question_scenario import lives_in

ADDRESS = "http://memnet.test"
PRODUCTS = ("chat", "mail", "travel")
BASE = "personal-memory-v1"
PLACE = f"{USER}/documents/user/personal.json"
ROLES = ("Memory.Read", "Memory.Write")
ANSWERED = {"conversation_id": "c-answer"}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """The shipped catalog, with a profile of the same document for each product."""
    base = CATALOG.profile(BASE)
    own = {
        f"{name}-v1": base.model_copy(update={"profile_id": f"{name}-v1", "allowed_principals": (f"svc-{name}",)})
        for name in PRODUCTS
    }
    return replace(CATALOG, profiles={**CATALOG.profiles, **own})


class Product:
    """One product over HTTP, with the token of its own principal."""

    def __init__(self, client: httpx.AsyncClient, name: str, headers: dict[str, str]) -> None:
        self.client, self.name, self.headers = client, name, headers
        self.number = 0

    async def say(self, town: str, sure: float, aspect: str | None = None, **members: Any) -> Any:
        found = await self.client.get(PLACE, headers=self.headers)
        self.number += 1
        over = {"If-None-Match": "*"} if found.status_code == 404 else {"If-Match": found.headers["ETag"]}
        conversation = f"c-{self.name}-{self.number}"
        body = {"profile_id": f"{self.name}-v1", "binding_id": "personal", "reason": "live_update", "confidence": sure}
        body |= {"ops": [lives_in(town, sure, conversation, aspect)], "evidence": {"conversation_id": conversation}}
        key = {"Idempotency-Key": conversation}
        answer = await self.client.patch(PLACE, json=body | members, headers=self.headers | over | key)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()["settled"][0]

    async def asked(self, profile: str | None = None) -> Any:
        """The question of an assembly, which is the same as that of a recall; None: there is none."""
        chosen = {"profile_id": profile or f"{self.name}-v1"}
        made = [
            await self.client.post(f"{USER}/context:{verb}", json=chosen | more, headers=self.headers)
            for verb, more in (("assemble", {}), ("recall", {"query": "Where does the user live?"}))
        ]
        assert [one.status_code for one in made] == [200, 200], [one.text for one in made]
        first, second = (one.json().get("clarification") for one in made)
        assert first == second
        return first

    async def answer(self, pending_id: str, take: str, **members: Any) -> httpx.Response:
        body = {"namespace": "user", "path": "personal.json", "confidence": 0.95, "take": take, "evidence": ANSWERED}
        headers = self.headers | {"Idempotency-Key": f"{self.name}-{pending_id}-{take}"}
        return await self.client.post(f"{USER}/pending/{pending_id}:confirm", json=body | members, headers=headers)


@pytest.fixture
def products(anonymous: httpx.AsyncClient, token: Token) -> list[Product]:
    return [Product(anonymous, name, bearer(token(*ROLES, oid=f"svc-{name}"))) for name in PRODUCTS]


async def test_a_question_is_asked_by_three_products_until_one_answers(products: list[Product], token: Token) -> None:
    chat, mail, travel = products
    await chat.say("Lisbon", 0.9)
    await chat.say("Oslo", 0.9, "in summer")
    first = await chat.say("Berlin", 0.3)
    second = await mail.say("Turku", 0.3, "in summer")
    assert (await mail.say("Porto", 0.3))["pending_id"] == first["pending_id"], "it joins the question that waits"
    expected = {
        "pending_id": first["pending_id"],
        "binding_id": "personal",
        "question": "Earlier: Lives in Lisbon. Now: Lives in Berlin. / Lives in Porto. Which is right?",
        "choices": ["Lives in Lisbon.", "Lives in Berlin.", "Lives in Porto."],
    }
    assert [await product.asked() for product in products] == [expected] * 3
    assert await chat.asked("project-copilot-v1") is None, "it does not see the document"
    for proposer in (chat, mail):
        refused = await proposer.answer(first["pending_id"], "existing")
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "PROPOSER_CANNOT_CONFIRM")
    assert (await travel.answer(first["pending_id"], "proposed", choice=2)).status_code == 200
    assert {(await product.asked())["pending_id"] for product in products} == {second["pending_id"]}
    assert (await travel.answer(second["pending_id"], "existing")).status_code == 200
    assert [await product.asked() for product in products] == [None] * 3
    content = (await chat.client.get(PLACE, headers=chat.headers)).json()["document"]["content"]
    assert sorted(one["value"] for one in content["facts"] if "valid_until" not in one) == ["Oslo", "Porto"]


async def test_of_two_answers_at_once_one_is_applied_and_the_other_sees_what_is_there(products: list[Product]) -> None:
    chat, mail, travel = products
    await chat.say("Lisbon", 0.9)
    pending_id = (await chat.say("Berlin", 0.3))["pending_id"]
    answers = await asyncio.gather(mail.answer(pending_id, "existing"), travel.answer(pending_id, "proposed"))
    assert sorted(answer.status_code for answer in answers) == [200, 404]
    won, lost = sorted(answers, key=lambda answer: answer.status_code)
    details = lost.json()["error"]["details"]
    by_mail = won is answers[0]
    assert details["decided_by"] == ("svc-mail" if by_mail else "svc-travel")
    assert details["entry"]["value"] == ("Lisbon" if by_mail else "Berlin")
    assert details["etag"] == won.headers["ETag"]
    # On a version that is not the current one, nothing is decided.
    again = (await chat.say("Porto", 0.3))["pending_id"]
    stale = travel.headers | {"If-Match": won.headers["ETag"], "Idempotency-Key": "stale"}
    body = {"namespace": "user", "path": "personal.json", "confidence": 0.95, "evidence": ANSWERED}
    refused = await travel.client.post(f"{USER}/pending/{again}:confirm", json=body, headers=stale)
    assert (refused.status_code, refused.json()["error"]["code"]) == (412, "ETAG_MISMATCH")


class TestOfTheTenant:
    @pytest.fixture
    def services(self, services: Service) -> Service:
        """The same, but the tenant decides."""
        profiles = {
            name: profile.model_copy(update={"upkeep_rules": _of_tenant(profile.upkeep_rules)})
            for name, profile in services.catalog.profiles.items()
        }
        return replace(services, catalog=replace(services.catalog, profiles=profiles))

    async def test_it_is_asked_of_no_user_and_answered_by_an_administrator(
        self, products: list[Product], token: Token
    ) -> None:
        chat, _, travel = products
        await chat.say("Lisbon", 0.9)
        pending_id = (await chat.say("Berlin", 0.3))["pending_id"]
        assert [await product.asked() for product in products] == [None] * 3
        refused = await travel.answer(pending_id, "existing")
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "ROLE_REQUIRED")
        boss = bearer(token("Memory.Admin", oid="svc-boss"))
        listed = (await chat.client.get("/v1/tenants/t1/pending?decides=tenant", headers=boss)).json()["pending"]
        assert [(row["item"]["id"], row["existing"]["entry"]["value"]) for row in listed] == [(pending_id, "Lisbon")]
        waits = (await chat.client.get("/v1/tenants/t1/waiting", headers=boss)).json()["waiting"]
        assert [(row["kind"], row["count"]) for row in waits] == [("question", 1)]
        body = {"namespace": "user", "path": "personal.json", "confidence": 0.95, "take": "existing"}
        answered = await chat.client.post(
            f"{USER}/pending/{pending_id}:confirm",
            json=body | {"evidence": ANSWERED},
            headers=boss | {"Idempotency-Key": "boss"},
        )
        assert answered.status_code == 200, answered.text


def _of_tenant(rules: Any) -> Any:
    return {
        binding_id: tuple(
            rule
            if rule.statements is None or rule.statements.question is None
            else rule.model_copy(update={"statements": rule.statements.model_copy(update={"decides": "tenant"})})
            for rule in of_binding
        )
        for binding_id, of_binding in rules.items()
    }


ReachedBy = Callable[..., Any]


@pytest.fixture
async def reached(app: FastAPI, token: Token) -> AsyncIterator[ReachedBy]:
    """Python clients of the application: of a product, by its name, with the profile."""
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as http:

        def of(name: str, profile: str, *roles: str) -> Any:
            credential = token(*(roles or ROLES), oid=f"svc-{name}")
            memnet = AsyncMemnet(ADDRESS, credential=credential, tenant="t1", profile=profile, http=http)
            return memnet.user("u1")

        yield of


async def test_the_client_answers_each_way(products: list[Product], reached: ReachedBy) -> None:
    chat = products[0]
    await chat.say("Lisbon", 0.9)
    pending_id = (await chat.say("Berlin", 0.3))["pending_id"]
    own, travel = reached("chat", "chat-v1"), reached("travel", "travel-v1")
    (item,) = [one async for one in travel.pending()]
    context = await travel.assemble("Where?")
    assert (context.clarification["pending_id"], item.pending_id) == (pending_id, pending_id)
    with pytest.raises(ProposerCannotConfirm):
        await own.confirm(item, take="existing", evidence=ANSWERED)
    with pytest.raises(RoleRequired):
        await reached("reader", BASE, "Memory.Read").confirm(item, evidence=ANSWERED)
    done = await travel.confirm(item, take="existing", evidence=ANSWERED)
    again = await travel.confirm(item, take="existing", evidence=ANSWERED)
    assert (done.status, again.status, again.change_id) == ("applied", "replayed", done.change_id)
    # Another answer of the same product is no repetition of the first one.
    with pytest.raises(PendingItemNotFound) as late:
        await travel.confirm(item, take="both", apart="in winter", evidence=ANSWERED)
    assert late.value.details["entry"]["value"] == "Lisbon"
    await chat.say("Porto", 0.3)
    (item,) = [one async for one in travel.pending()]
    with pytest.raises(ProfileForbidden):
        await travel.confirm(item, take="both", apart="in winter", evidence=ANSWERED)
    await travel.confirm(item, take="both", evidence=ANSWERED)
    await chat.say("Rome", 0.3)
    await chat.say("Turin", 0.3)
    (item,) = [one async for one in travel.pending()]
    await travel.confirm(item, choice=2, evidence=ANSWERED)
    content = (await chat.client.get(PLACE, headers=chat.headers)).json()["document"]["content"]
    held = {one["value"]: one.get("aspect") for one in content["facts"] if "valid_until" not in one}
    assert held == {"Porto": "Porto", "Turin": None}


async def test_an_mcp_host_answers(products: list[Product], app: FastAPI, token: Token) -> None:
    chat = products[0]
    url = url_of(ADDRESS, "u1", profile="travel-v1")

    @asynccontextmanager
    async def host(name: str) -> AsyncIterator[Host]:
        async with AsyncExitStack() as stack:
            headers = bearer(token(*ROLES, oid=f"svc-{name}"))
            transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
            http = await stack.enter_async_context(httpx2.AsyncClient(transport=transport, headers=headers))
            server = streamable_http_client(url, http_client=http)
            yield Host(await stack.enter_async_context(Client(server, mode="auto")))

    await chat.say("Lisbon", 0.9)
    evidence = {"conversation_id": "c-answer", "message_ids": ["m1"]}
    for town, decision, choice in (("Berlin", "existing", 1), ("Porto", "both", 1), ("Rome", "confirm", 2)):
        pending_id = (await chat.say(town, 0.3))["pending_id"]
        if decision == "confirm":
            await chat.say("Turin", 0.3)
        async with host("travel") as travel:
            (waits,) = (await travel.result("memory_pending"))["items"]
            assert waits["pending_id"] == pending_id
            done = await travel.result(
                "memory_resolve", pending_id=pending_id, decision=decision, choice=choice, evidence=evidence
            )
            assert done["status"] == "applied"
    content = (await chat.client.get(PLACE, headers=chat.headers)).json()["document"]["content"]
    held = {one["value"]: one.get("aspect") for one in content["facts"] if "valid_until" not in one}
    assert held == {"Turin": None, "Porto": "Porto"}


@pytest.mark.parametrize(
    ("said", "held"),
    [
        ({"decision": "confirm"}, None),
        ({"decision": "both", "choice": True}, None),
        ({"decision": "confirm", "choice": 2}, ["Porto"]),
        ({"decision": "existing"}, ["Lisbon"]),
    ],
)
async def test_of_several_proposals_the_person_says_which_one(
    products: list[Product], app: FastAPI, token: Token, said: dict[str, Any], held: list[str] | None
) -> None:
    chat = products[0]
    await chat.say("Lisbon", 0.9)
    for town in ("Berlin", "Porto"):
        pending_id = (await chat.say(town, 0.3))["pending_id"]
    headers = bearer(token(*ROLES, oid="svc-travel"))
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    person = Person("accept", said)
    async with httpx2.AsyncClient(transport=transport, headers=headers) as http:
        server = streamable_http_client(url_of(ADDRESS, "u1", profile="travel-v1"), http_client=http)
        async with Client(server, mode="auto", elicitation_callback=person) as client:
            given = {"pending_id": pending_id, "evidence": ANSWERED | {"message_ids": ["m1"]}}
            found = await client.call_tool("memory_resolve", given)
    assert "1: Lives in Berlin. or 2: Lives in Porto." in person.asked[0]
    assert found.is_error is (held is None)
    assert held is not None or "NOT_DECIDED" in str(found.content)
    content = (await chat.client.get(PLACE, headers=chat.headers)).json()["document"]["content"]
    assert [one["value"] for one in content["facts"] if "valid_until" not in one] == (held or ["Lisbon"])
    assert len(content["to_confirm"]) == (held is None)


@pytest.mark.parametrize(
    ("take", "held"), [("existing", ["Lisbon"]), ("proposed", ["Berlin"]), ("both", ["Berlin", "Lisbon"])]
)
async def test_an_a2a_task_requires_input_until_its_question_is_answered(
    products: list[Product], app: FastAPI, token: Token, services: Service, take: str, held: list[str]
) -> None:
    chat = products[0]
    await chat.say("Lisbon", 0.9, source_time="2025-12-01T00:00:00Z")
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as http:
        agents = httpx.ASGITransport(
            create_app(ADDRESS, tenant="t1", profile=BASE, public_url=AGENT, http=http, retry=Retry(attempts=1)),
            raise_app_exceptions=False,
        )
        submitter, travel, worker = (
            Agent(agents, token(*ROLES, oid=name), user="/users/u1")
            for name in ("svc-submitter", "svc-travel", services.worker_principal)
        )
        said = {"message_id": "m1", "role": "user", "content": "I live in Berlin."}
        talk = [said | {"timestamp": "2026-01-01T00:00:00Z"}]
        task = await submitter.send(data_part({"messages": talk, "conversation_id": "c-talk"}), wait=False)
        await _learn(task, services)
        waiting = await travel.task(task.id)
        assert waiting.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        (item,) = asked(waiting)["pending"]
        assert (item["choices"], item["decides"]) == (["Lives in Lisbon.", "I live in Berlin."], "user")
        decision = {"decision": "confirm", "pending_id": item["pending_id"], "take": take, "evidence": ANSWERED}
        for proposer, refusal in ((submitter, "PROPOSER_CANNOT_CONFIRM"), (worker, "UNAUTHENTICATED")):
            with pytest.raises(A2AError, match=refusal):
                await proposer.send(data_part(decision), task=task.id)
        done = await travel.send(data_part(decision), task=task.id)
        assert done.status.state == TaskState.TASK_STATE_COMPLETED
    content = (await chat.client.get(PLACE, headers=chat.headers)).json()["document"]["content"]
    assert sorted(one["value"] for one in content["facts"] if "valid_until" not in one) == held


async def test_an_a2a_task_shows_the_question_that_its_statement_joined_and_ends_with_its_source(
    products: list[Product], app: FastAPI, token: Token, services: Service
) -> None:
    """The second conversation says what the first one says: it is more evidence of that choice."""
    chat = products[0]
    await chat.say("Lisbon", 0.9, source_time="2025-12-01T00:00:00Z")
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as http:
        made = create_app(ADDRESS, tenant="t1", profile=BASE, public_url=AGENT, http=http, retry=Retry(attempts=1))
        agents = httpx.ASGITransport(made, raise_app_exceptions=False)
        agent = Agent(agents, token(*ROLES, oid="svc-submitter"), user="/users/u1")
        tasks = []
        for number in (1, 2):
            said = {"message_id": "m1", "role": "user", "content": "I live in Berlin."}
            talk = [said | {"timestamp": f"2026-01-01T0{number}:00:00Z"}]
            task = await agent.send(data_part({"messages": talk, "conversation_id": f"c-talk-{number}"}), wait=False)
            await _learn(task, services)
            tasks.append(task.id)
        first, second = [await agent.task(one) for one in tasks]
        assert asked(first)["pending"] == asked(second)["pending"]
        assert len(asked(second)["pending"][0]["choices"]) == 2
        operator = bearer(token("Memory.Admin", oid="svc-operator")) | {"Idempotency-Key": "take-back"}
        url = f"{USER}/conversations/c-talk-2"
        begun = await chat.client.delete(url, params={"reason": "It was another person."}, headers=operator)
        assert begun.status_code == 202, begun.text
        await run_retraction(Job(JobKind.RETRACTION, "t1", "u1", begun.json()["retraction_id"]), services)
        assert (await agent.task(tasks[1])).status.state == TaskState.TASK_STATE_CANCELED
        assert {one.id for one in await agent.tasks()} == set(tasks)
        memory = AsyncMemnet(
            ADDRESS, tenant="t1", profile=BASE, credential=token(*ROLES, oid="svc-submitter"), http=http
        )
        ended = await memory.user("u1").replay(tasks[1])
        assert (await ended.wait(0)).status == "retracted"
        assert ended.state.ended


async def _learn(task: Task, services: Service) -> None:
    """Do the replay of a task, as a worker does."""
    entry = {"subject": "user", "attribute": "lives in", "aspect": None, "value": "Berlin", "importance": 0.5}
    patch = {
        "target_binding_id": "personal",
        "target_path": "personal.json",
        "add_to": "/content/facts",
        "entry": {**entry, "text": "I live in Berlin."},
        "confidence": 0.3,
        "message_ids": ["m1"],
    }
    models = ScriptedModels([canonical({"digest": None, "patches": [patch]}).decode()])
    await replay_snapshot(Job(JobKind.REPLAY, "t1", "u1", task.id), replace(services, models=models))
