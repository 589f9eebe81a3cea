"""The whole local stack at its most talkative, in use, misused and failing: its logs contain no memory and no secret.

Every text that is sent has a word of its own that occurs nowhere else; then all logs of all processes are read, and all
telemetry that left them.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

from local.emulators.fault_proxy import Fault, FaultProxy
from local.emulators.models.behaviour import GARBAGE, Behaviour, fails, refuses, says
from local.stack.azurite_server import ACCOUNT_KEY, Azurite, container_client
from local.stack.emulator import Emulator
from local.stack.models_server import ModelsServer
from local.stack.stack import Stack, running_stack
from memnet import settings
from memnet.domain.core.access import ROLES as OPERATIONS
from memnet.domain.core.job import DEAD_LETTERS, QUEUES, JobKind
from memnet.domain.core.metric import LABELS, METRICS
from memnet.domain.core.scope import UserScope
from memnet.stores import KeyRing, read_data_keys
from memnet.wiring import connect
from tests.domain.event_samples import event_body
from tests.domain.extraction_samples import answered_patch
from tests.e2e.client import DYNAMIC, User, add, prefer, write
from tests.e2e.raw_http import request, send_raw
from tests.e2e.replays import FIRST, ROLES, SECOND, Scene, answered, ended, know_projects
from tests.e2e.secrets_in_logs import Secrets
from tests.telemetry_receiver import ReceivedSpan, TelemetryReceiver

pytestmark = pytest.mark.asyncio(loop_scope="module")

PRINCIPAL = "svc-seen-in-logs"
"""The name of the caller is logged: it shows that the search works."""
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE, STEP = CALLER.split("-")[1:3]
WORK = {"replay_snapshot", "requeue_jobs", "reconcile_events", "erase_users"}
WORK |= {"tend_users", "apply_due", "mark_all_users", "run_shard"}
"""Of the worker: what messages and timers start."""


@dataclass
class World:
    """A stack that runs, and what must not come out of it."""

    scene: Scene
    proxy: FaultProxy
    user: User
    secrets: Secrets

    @property
    def stack(self) -> Stack:
        return self.scene.stack

    def another(self, user_id: str, tenant_id: str = "t1") -> User:
        return User(self.user.session, self.user.api, self.user.token, user_id, tenant_id)

    async def replay(self, conversation_id: str, text: str) -> str:
        """Tell a conversation of one sentence, and return how its replay ended."""
        replay_id = await self.scene.tell(self.user, conversation_id, f"user: {text}")
        return str((await ended(self.user, replay_id))["status"])

    @asynccontextmanager
    async def without(self, emulator: Emulator) -> AsyncIterator[None]:
        """While it is dead."""
        await asyncio.to_thread(emulator.kill)
        try:
            yield
        finally:
            await asyncio.to_thread(emulator.start)


async def use(world: World) -> None:
    """What a product does, with memory in every place that takes any."""
    user, word = world.user, world.secrets.word
    await know_projects(user, "alpha")
    created = await user.patch(DYNAMIC, prefer(f"I prefer {word('a preference')}."), etag=None, key="create")
    assert created.status == 201, created.text
    second = prefer(f"Now I prefer {word('a second preference')}.")
    for key in ("change", "change", "stale"):
        answer = await user.patch(DYNAMIC, second, etag=created.etag, key=key)
        assert answer.status == (412 if key == "stale" else 200), answer.text
    event = event_body("e1", digest=f"We spoke of {word('a digest')}.", keywords=[word("a keyword")])
    assert (await user.send("POST", "/events", json=event)).status == 201
    for path, body in {
        "/events:search": {"query": word("a query")},
        "/context:assemble": {"profile_id": DYNAMIC.profile_id, "conversation_hint": {"text": word("a hint")}},
    }.items():
        assert (await user.send("POST", path, json=body)).status == 200
    patch = answered_patch(prefer(f"{word('a proposal')}."), confidence=0.75)
    await world.scene.script(says(answered(patch, text=f"A digest: {word('an extracted digest')}.")))
    assert await world.replay("c1", f"I prefer {word('a snapshot')}.") == "succeeded"
    state, baggage = f"vendor={word('a tracestate')}", f"who={word('a baggage')}"
    sent = {"traceparent": CALLER, "tracestate": state, "baggage": baggage}
    body = conversation(word("a traced snapshot"))
    traced = await user.send("POST", "/conversations/traced/snapshots", json=body, headers=sent)
    assert (traced.status, traced.body["queued"]) == (202, True)
    await ended(user, traced.body["replay_id"])
    for path in ("/conversations/c1/snapshots/s1", "/audit", "/accesses", "/documents"):
        assert (await user.send("GET", path)).status == 200


async def misuse(world: World) -> None:
    """What goes wrong on the client's side, with secrets where none belong."""
    user, word, token = world.user, world.secrets.word, world.user.token
    for path in (f"/documents?access_token={token}", f"/documents?prefix={token}", f"/documents/user/{token}"):
        assert (await user.send("GET", path)).status in (200, 400)
    assert (await user.send("GET", f"/audit?cursor={word('a cursor')}")).status == 400
    target = user.base + DYNAMIC.url
    usual = {**user.authorization, **write('"v0"', "k"), "Content-Type": "application/json"}
    broken = b'{"profile_id": "' + word("a broken body").encode()
    for headers, body in (
        (usual, broken),
        ({**usual, "Content-Type": word("a media type")}, b"{}"),
        ({**usual, "Authorization": f"Basic {word('a password')}"}, b"{}"),
        ({**usual, "Authorization": f"Bearer {tampered(token, word('a forged claim'))}"}, b"{}"),
        ({**usual, "X-Request-Id": token}, b"{}"),
        ({**usual, "If-Match": word("an etag")}, b"{}"),
        ({**usual, "X-Fill": word("a huge header") * 3000}, b"{}"),
        ({**usual, "Content-Length": word("a length")}, b"{}"),
        ({**usual, word("a header with a blank") + " ": "x"}, b"{}"),
    ):
        raw = await send_raw(user.api, request("PATCH", target, headers, body))
        assert 400 <= raw.status < 500, raw
    assert (await send_raw(user.api, f"{word('a method')} / HTTP/1.1\r\n\r\n".encode())).status == 400
    etag = (await user.get(DYNAMIC)).etag
    for number, op in enumerate(
        (
            add("/content/preferences/-", {"password": word("a denied field")}),
            add("/content/preferences/-", [word("a value of another type")]),
            add(f"/content/{word('a path')}/-", "x"),
            {"op": "test", "path": "/content/preferences/0", "value": word("a tested value")},
            {"op": "remove", "path": f"/content/preferences/{word('an index')}"},
        )
    ):
        answer = await user.patch(DYNAMIC, op, etag=etag, key=f"refused-{number}")
        assert answer.status == 422, answer.text
    bad = {"profile_id": word("a profile"), "messages": [{"content": word("a message without a role")}]}
    assert (await user.send("POST", "/conversations/c1/snapshots", json=bad)).status == 400


def tampered(token: str, claim: str) -> str:
    """Another's claim under the signature of this token."""
    header, _, signature = token.split(".")
    claims = base64.urlsafe_b64encode(json.dumps({"oid": claim}).encode()).decode().rstrip("=")
    return f"{header}.{claims}.{signature}"


async def fail(world: World) -> None:
    """What goes wrong behind the API."""
    user, word, stack = world.user, world.secrets.word, world.stack
    for fault in (Fault.DROP_REQUEST, Fault.DROP_ANSWER, Fault.ANSWER_503, Fault.ANSWER_503_AFTER_APPLY):
        etag = (await user.get(DYNAMIC)).etag
        world.proxy.inject(fault, method="PUT", path="/documents/", times=2)
        await user.patch(DYNAMIC, prefer(word(f"written at {fault}")), etag=etag, key=fault)
        world.proxy.heal()
    await spoil(world)
    async with world.without(stack.search):
        event = event_body("e2", digest=word("an event without an index"))
        assert (await user.send("POST", "/events", json=event)).status == 201
        assert (await user.send("POST", "/events:search", json={"query": word("a failed query")})).status == 503
    async with world.without(stack.vault):
        body = conversation(word("a snapshot without a vault"))
        stranger = world.another("u2", "t2")
        assert (await stranger.send("POST", "/conversations/c1/snapshots", json=body)).status == 503
    async with world.without(stack.bus):
        body = conversation(word("a snapshot without a queue"))
        answer = await user.send("POST", "/conversations/unsent/snapshots", json=body)
        assert (answer.status, answer.body["queued"]) == (202, False)


async def spoil(world: World) -> None:
    """Let a document's blob hold what is no document."""
    victim = world.another("u3")
    assert (await victim.patch(DYNAMIC, prefer("x"), etag=None, key="1")).status == 201
    account_url, _, name = world.stack.storage_url.rpartition("/")
    spoilt = '{"content": "' + world.secrets.word("a spoilt blob")

    def upload() -> None:
        with container_client(account_url, name) as container:
            blob = f"{victim.base.removeprefix('/v1/')}{DYNAMIC.url}"
            container.upload_blob(blob, spoilt, overwrite=True)

    await asyncio.to_thread(upload)
    assert (await victim.get(DYNAMIC)).status == 500


def conversation(text: str) -> dict[str, Any]:
    """A snapshot's body."""
    message = {"message_id": "m1", "role": "user", "content": text, "timestamp": "2026-02-14T20:00:00Z"}
    return {"snapshot_id": "s1", "profile_id": DYNAMIC.profile_id, "messages": [message]}


async def fail_to_extract(world: World) -> None:
    """What goes wrong in a worker: models, storage and messages."""
    word = world.secrets.word
    good = says(answered(answered_patch(prefer(word("a second proposal")), confidence=0.75)))
    hostile = says({"digest": {"text": word("a bad digest")}, "patches": [{"ops": word("bad operations")}, 7]})
    unwanted = answered_patch(add(f"/content/{word('a proposed path')}", word("a proposed value")))
    behaviours: tuple[Behaviour, ...] = (
        fails(500, text=word("a model's error")),
        fails(400, code="content_filter", text=word("a filtered prompt")),
        GARBAGE,
        hostile,
        says(word("an answer that is no JSON")),
        refuses(word("a model's excuse")),
        says(answered(unwanted)),
    )
    for number, behaviour in enumerate(behaviours):
        await world.scene.script(behaviour)
        await world.scene.script(good, model=SECOND)
        world.proxy.inject(Fault.ANSWER_503, method="PUT", path="/replays/", times=2)
        assert await world.replay(f"f{number}", word(f"said to model {number}")) in ("succeeded", "partial")
        world.proxy.heal()
    await poison(world)


async def poison(world: World) -> None:
    """Send what is no job, and wait until it is put aside."""
    bus = ServiceBusClient.from_connection_string(world.stack.bus.connection_string, retry_total=0)
    async with bus:
        async with bus.get_queue_sender(QUEUES[JobKind.REPLAY]) as sender:
            body = f'{{"kind": "{world.secrets.word("a poisoned message")}'
            await sender.send_messages(ServiceBusMessage(body, message_id="poison", session_id="s"))
        async with bus.get_queue_receiver(DEAD_LETTERS, max_wait_time=30) as receiver:
            [dead] = await receiver.receive_messages(1)
            assert json.loads(str(dead))["reason"] == "MALFORMED_REQUEST"
            await receiver.complete_message(dead)


async def take_keys(world: World) -> None:
    """Everything that opens something."""
    stack, secrets = world.stack, world.secrets
    secrets.texts |= {
        "the storage's key": ACCOUNT_KEY,
        "the vault's token": stack.vault.token,
        "the queue's key": stack.bus.key,
        "the search service's key": stack.search.api_key,
        "the models' key": world.scene.models.key,
        "a token": world.user.token,
        "a token's claims": world.user.token.split(".")[1],
        "a token's signature": world.user.token.split(".")[2],
    }
    async with connect(settings.load_for(stack.environment)) as services:
        secrets.keys["the tenant's key"] = (await services.vault.keys.newest("t1")).secret
        scope = UserScope("t1", world.user.user_id)
        found = await read_data_keys(scope, records=services.records)
        assert found is not None
        for wrapped in found[0].keys:
            opened = await KeyRing(services.vault).unwrap(scope, wrapped)
            secrets.keys[f"the data key {opened.key_id}"] = opened.secret


@dataclass(frozen=True)
class Told:
    """What all logs hold, by the name of their process, now that everything has ended; and what they must not hold."""

    logs: dict[str, Path]
    secrets: Secrets
    receiver: TelemetryReceiver

    def span(self, name: str) -> ReceivedSpan:
        """The one of this name in the caller's trace."""
        [found] = [span for span in self.receiver.spans() if span.name == name and span.trace_id == TRACE]
        return found

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The lines of a log that is nothing but JSON objects."""
        return [json.loads(line) for line in self.logs[name].read_text("utf-8").splitlines()]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Start every process there is, let all of it happen, and stop."""
    directory, others = tmp_path_factory.mktemp("stack"), tmp_path_factory.mktemp("others")
    secrets = Secrets()
    async with AsyncExitStack() as stack:
        azurite = stack.enter_context(Azurite(log=others / "azurite.log"))
        models = stack.enter_context(ModelsServer(log=others / "models.log"))
        receiver = stack.enter_context(TelemetryReceiver())
        proxy = await stack.enter_async_context(FaultProxy(azurite.service_url))
        session = await stack.enter_async_context(ClientSession())
        running = running_stack(
            directory=directory,
            environment={
                "MEMNET_LOG_LEVEL": "debug",
                "MEMNET_MODEL_PROVIDERS": models.setting(FIRST, SECOND),
                "MEMNET_STORAGE_TIMEOUT_SECONDS": "1",
                "MEMNET_SEARCH_TIMEOUT_SECONDS": "1",
                "MEMNET_TELEMETRY": "otlp",
                "MEMNET_TELEMETRY_URL": receiver.url,
                "MEMNET_METRICS_INTERVAL_SECONDS": "1",
            },
            account_url=azurite.account_url,
            through=proxy.through,
        )
        await stack.enter_async_context(running)
        token = await asyncio.to_thread(running.token, tenants=["t1", "t2"], principal=PRINCIPAL, roles=ROLES)
        user = User(session, running.url, token, secrets.word("a user"))
        world = World(Scene(running, models), proxy, user, secrets)
        for part in (use, misuse, fail, fail_to_extract, take_keys):
            await part(world)
    (others / "telemetry.log").write_bytes(receiver.everything)
    logs = [*(directory / "log").iterdir(), *others.iterdir()]
    return Told({log.stem: log for log in logs}, secrets, receiver)


async def test_no_log_holds_memory_a_user_or_a_secret(told: Told) -> None:
    assert len(told.secrets.texts) > 50
    assert len(told.secrets.keys) >= 2
    assert told.secrets.found_in(told.logs.values()) == []


async def test_the_logs_are_those_of_all_processes_and_tell_what_happened(told: Told) -> None:
    assert told.logs.keys() == {
        "api", "azurite", "issuer", "key-vault", "models", "search", "service-bus", "telemetry", "worker-1"
    }  # fmt: skip
    api, worker = told.lines("api"), told.lines("worker-1")
    assert any(line.get("principal") == PRINCIPAL for line in api)
    assert {400, 401, 412, 415, 422, 431, 500, 503} <= {line.get("status") for line in api}
    loggers = {line["logger"] for line in (*api, *worker)}
    assert loggers >= {"memnet.requests", "memnet.vault", "memnet.queue", "memnet.search", "memnet.models"}
    assert any("job_dead_lettered" in line["message"] for line in worker)


async def test_telemetry_records_what_happened_and_not_to_whom(told: Told) -> None:
    telemetry = told.logs["telemetry"].read_bytes()
    for name in ("memnet.write.count", "SCHEMA_VIOLATION", "memnet.replays", "partial", "memnet.jobs.dead_lettered"):
        assert name.encode() in telemetry
    for name in ("memnet-api", "memnet-worker", "store_snapshot", "replay_snapshot", "job_dead_lettered"):
        assert name.encode() in telemetry
    assert PRINCIPAL.encode() not in telemetry
    assert {span.name for span in told.receiver.spans()} <= {*OPERATIONS, *WORK, "other"}
    assert all(span.events == 0 for span in told.receiver.spans())
    points = told.receiver.points()
    assert {point.name for point in points} <= {metric.name for metric in METRICS}
    assert {label for point in points for label in point.labels} <= set(LABELS)


async def test_one_trace_leads_from_the_request_through_the_queue_to_the_worker(told: Told) -> None:
    request, replay = told.span("store_snapshot"), told.span("replay_snapshot")
    assert (request.service, request.parent_id) == ("memnet-api", STEP)
    assert (replay.service, replay.parent_id) == ("memnet-worker", request.span_id)
    assert request.attributes["http.response.status_code"] == 202
    assert (replay.attributes["memnet.outcome"], replay.failed) == ("done", False)
    [line] = [line for line in told.lines("api") if line.get("trace_id") == TRACE and "operation" in line]
    [record] = [log for log in told.receiver.logs() if log.trace_id == TRACE and "operation" in log.attributes]
    assert line["operation"] == record.attributes["operation"] == "store_snapshot"
    assert line["request_id"] == record.attributes["request_id"]


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
async def test_what_is_looked_for_is_found_in_every_form(tmp_path: Path, before: str) -> None:
    secrets = Secrets()
    text, key = secrets.word("a word"), bytes(range(200, 232))
    secrets.keys["a key"] = key
    log = tmp_path / "one.log"
    around = f"{before}{text} and more".encode()
    for line in (around, around.upper(), around.hex().encode(), base64.b64encode(around), repr(around).encode()):
        log.write_bytes(b"x " + line)
        assert secrets.found_in([log]) == ["a word in one.log"]
    around = before.encode() + key + b"."
    for line in (around, repr(around).encode(), around.hex().encode(), base64.urlsafe_b64encode(around)):
        log.write_bytes(b"x " + line)
        assert secrets.found_in([log]) == ["a key in one.log"]
    log.write_bytes(b"x " + text[:-1].encode() + key[:-1])
    assert secrets.found_in([log]) == []
