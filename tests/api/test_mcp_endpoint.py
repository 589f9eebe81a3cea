"""The MCP endpoints: who is admitted, whose memory it is, and that a second fence holds where the first one fails."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from fastapi import FastAPI
from mcp import Client, types
from mcp.client.streamable_http import streamable_http_client

from api import authorization
from api.mcp_endpoint import OWN_PATH, USER_PATH
from memnet.service import Service
from memnet.settings import Settings
from memnet_client import AsyncMemnet, profile, requests
from memnet_client.mcp.server import create_server
from tests.api.conftest import AUDIENCE, ISSUER, Token, bearer, code
from tests.client.mcp.hosts import EVIDENCE, Host, url_of
from tests.operations.storage_calls import StorageCalls
from tests.sample_settings import sample_settings

PROFILE = "project-copilot-v1"
ADDRESS = "http://memnet.test"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPTED = {"Accept": "application/json, text/event-stream"}
CALLS: dict[str, dict[str, Any]] = {
    "memory_context": {},
    "memory_search": {"query": "x"},
    "memory_read": {"binding_id": "user_dynamic"},
    "memory_remember": {"binding_id": "user_dynamic", "section": "/preferences", "value": "x", "evidence": EVIDENCE},
    "memory_correct": {"binding_id": "user_dynamic", "path": "/preferences/0", "expected": "s3cret", "value": None},
    "memory_pending": {},
    "memory_resolve": {"pending_id": "p1", "decision": "confirm"},
    "memory_hand_in": {
        "conversation_id": "c1",
        "messages": [{"message_id": "m1", "author": "user", "content": "x", "timestamp": "2026-02-14T20:00:00Z"}],
    },
    "memory_replay": {"replay_id": "r1"},
    "memory_consolidate": {},
}
REMEMBER = CALLS["memory_remember"] | {"value": "s3cret"}
Connect = Callable[..., Any]


def url(user_id: str = "u1", **place: str) -> str:
    return url_of(ADDRESS, user_id, **place)


def delegated(token: Token, user_id: str, scopes: str = "Memory.ReadWrite") -> str:
    """A token of a signed-in user."""
    return token(scp=scopes, oid=user_id, azp="app-editor", roles=None)


@pytest.fixture
def connect(app: FastAPI) -> Connect:
    """Opens hosts that are connected to the application."""

    @asynccontextmanager
    async def opened(url: str, token: str, era: str = "auto", **client: Any) -> AsyncIterator[Host]:
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(httpx2.AsyncClient(transport=transport, headers=bearer(token)))
            server = streamable_http_client(url, http_client=http)
            yield Host(await stack.enter_async_context(Client(server, mode=era, **client)))

    return opened


async def test_every_tool_has_a_call_here(connect: Connect, token: Token) -> None:
    async with connect(url(), token()) as host:
        assert [tool.name for tool in (await host.client.list_tools()).tools] == list(CALLS)


class TestAdmission:
    @pytest.fixture
    def settings(self) -> Settings:
        return sample_settings(
            issuer_url=ISSUER,
            audience=AUDIENCE,
            public_url="https://memory.example",
            mcp_origins="https://a.example,https://b.example",
            max_body_bytes=10_000,
        )

    async def refused(self, anonymous: httpx.AsyncClient, url: str, **more: Any) -> tuple[int, str]:
        response = await anonymous.post(url, json=LIST, **more)
        return response.status_code, code(response)

    async def test_without_a_token_the_metadata_is_named(self, anonymous: httpx.AsyncClient) -> None:
        for path in (url(), f"{ADDRESS}/mcp/{PROFILE}"):
            response = await anonymous.post(path, json=LIST, headers=ACCEPTED)
            assert (response.status_code, code(response)) == (401, "UNAUTHENTICATED")
            assert (
                'resource_metadata="https://memory.example/.well-known/oauth-protected-resource"'
                in (response.headers["WWW-Authenticate"])
            )

    async def test_a_token_of_another_tenant_or_user_or_without_a_role_gets_no_list(
        self, anonymous: httpx.AsyncClient, token: Token
    ) -> None:
        own = f"{ADDRESS}/mcp/{PROFILE}"
        cases = [
            (url(), bearer(token(tid="t2")), (403, "TENANT_FORBIDDEN")),
            (url(), bearer(token("Memory.Replay")), (403, "ROLE_REQUIRED")),
            (url(), bearer(token("Memory.Write")), (403, "ROLE_REQUIRED")),
            (url(), bearer(delegated(token, "u2")), (403, "USER_FORBIDDEN")),
            (url(tenant="t2"), bearer(delegated(token, "u1")), (403, "USER_FORBIDDEN")),
            (url(), bearer(delegated(token, "u1", "other")), (403, "ROLE_REQUIRED")),
            (own, bearer(token()), (403, "USER_FORBIDDEN")),
            (url("-"), bearer(token()), (400, "INVALID_IDENTIFIER")),
            (url(profile="p."), bearer(token()), (400, "INVALID_IDENTIFIER")),
        ]
        for path, headers, expected in cases:
            assert await self.refused(anonymous, path, headers=headers | ACCEPTED) == expected, path

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "", "https://a.example,https://b.example"])
    async def test_pages_of_other_origins_are_refused(
        self, anonymous: httpx.AsyncClient, token: Token, origin: str
    ) -> None:
        headers = bearer(token()) | ACCEPTED | {"Origin": origin}
        assert await self.refused(anonymous, url(), headers=headers) == (403, "ORIGIN_FORBIDDEN")

    async def test_pages_of_allowed_origins_are_served(self, anonymous: httpx.AsyncClient, token: Token) -> None:
        headers = bearer(token()) | ACCEPTED | {"Origin": "https://b.example"}
        assert (await anonymous.post(url(), json=LIST, headers=headers)).status_code == 200

    async def test_the_body_has_the_limits_of_every_body(self, anonymous: httpx.AsyncClient, token: Token) -> None:
        headers = bearer(token()) | ACCEPTED
        anonymous.headers.update(headers)
        long = await anonymous.post(url(), json=LIST | {"more": "x" * 10_000})
        other = await anonymous.post(url(), content=b"{}", headers={"Content-Type": "text/plain"})
        assert (long.status_code, code(long)) == (413, "BODY_TOO_LARGE")
        assert (other.status_code, code(other)) == (415, "UNSUPPORTED_MEDIA_TYPE")

    @pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
    async def test_there_are_no_sessions_to_open_or_close(
        self, anonymous: httpx.AsyncClient, token: Token, method: str
    ) -> None:
        response = await anonymous.request(method, url(), headers=bearer(token()) | ACCEPTED)
        assert (response.status_code, response.headers["Allow"]) == (405, "POST")

    async def test_arguments_that_are_not_json_are_refused(self, anonymous: httpx.AsyncClient, token: Token) -> None:
        body = (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_correct", "arguments": '
            b'{"binding_id": "user_dynamic", "path": "/preferences/0", "expected": NaN, "value": "x"}}}'
        )
        headers = bearer(token()) | ACCEPTED | {"Content-Type": "application/json"}
        response = await anonymous.post(url(), content=body, headers=headers)
        assert (response.status_code, response.json()["result"]["isError"]) == (200, True)
        assert '"INVALID_ARGUMENTS"' in response.json()["result"]["content"][0]["text"]


@pytest.mark.parametrize("case", ["no token", "tenant", "user", "roles"])
async def test_no_tool_reaches_anything_with_another_s_token(
    app: FastAPI, token: Token, services: Service, case: str
) -> None:
    given, code = {
        "no token": ("x", "UNAUTHENTICATED"),
        "tenant": (token(tid="t2"), "TENANT_FORBIDDEN"),
        "user": (delegated(token, "u2"), "USER_FORBIDDEN"),
        "roles": (token("Memory.Audit"), "ROLE_REQUIRED"),
    }[case]
    storage = StorageCalls(services)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as http:
        user = AsyncMemnet(ADDRESS, credential=given, tenant="t1", profile=PROFILE, http=http).user("u1")
        async with Client(create_server(lambda context: user, may_consolidate=lambda context: True)) as client:
            for tool, arguments in CALLS.items():
                refused = await Host(client).refusal(tool, **arguments)
                assert (tool, refused["code"]) == (tool, code)
    assert storage.made == []


@pytest.mark.parametrize("origin", [ADDRESS, "null", ""])
async def test_by_default_pages_of_every_origin_are_refused(
    anonymous: httpx.AsyncClient, token: Token, origin: str
) -> None:
    headers = bearer(token()) | ACCEPTED | {"Origin": origin}
    assert code(await anonymous.post(url(), json=LIST, headers=headers)) == "ORIGIN_FORBIDDEN"


async def test_a_signed_in_user_needs_no_name_in_the_path(connect: Connect, token: Token) -> None:
    async with connect(f"{ADDRESS}/mcp/{PROFILE}", delegated(token, "maya")) as own:
        await own.result("memory_remember", **REMEMBER)
        read = await own.result("memory_read", binding_id="user_dynamic")
    async with connect(url("maya"), token()) as service, connect(url("u2"), token()) as other:
        same = await service.result("memory_read", binding_id="user_dynamic")
        none = await other.result("memory_read", binding_id="user_dynamic")
    assert read["content"]["preferences"] == ["s3cret"]
    assert (same, none["content"]) == (read, None)


@pytest.mark.parametrize(("era", "facts"), [("legacy", []), ("auto", ["Lives in Bern."])])
@pytest.mark.parametrize("over_http", [True, False])
async def test_the_person_decides_where_the_host_can_ask(
    app: FastAPI, connect: Connect, token: Token, over_http: bool, era: str, facts: list[str]
) -> None:
    async def person(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"decision": "confirm"})

    fact = {"binding_id": "user_dynamic", "section": "/durable_facts", "value": "Lives in Bern.", "evidence": EVIDENCE}
    other = token(oid="svc-b")
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(connect(url(), token()))
        (pending_id,) = (await host.result("memory_remember", **fact, confidence=0.5))["pending_ids"]
        if over_http:
            second = await stack.enter_async_context(connect(url(), other, era, elicitation_callback=person))
        else:
            http = await stack.enter_async_context(httpx2.AsyncClient(transport=httpx2.ASGITransport(app)))
            user = AsyncMemnet(ADDRESS, credential=other, tenant="t1", profile=PROFILE, http=http).user("u1")
            client = Client(create_server(lambda context: user), mode=era, elicitation_callback=person)
            second = Host(await stack.enter_async_context(client))
        await second.result("memory_resolve", pending_id=pending_id, decision="reject", evidence=EVIDENCE)
        read = await host.result("memory_read", binding_id="user_dynamic")
    assert [found["text"] for found in read["content"]["durable_facts"]] == facts


@pytest.mark.parametrize(
    ("roles", "refused"),
    [
        (("Memory.Read",), {"memory_remember", "memory_hand_in"}),
        (("Memory.Read", "Memory.Write"), set()),
        (("Memory.Audit", "Memory.Read"), {"memory_remember", "memory_hand_in"}),
    ],
)
async def test_a_tool_needs_the_roles_of_its_requests(
    connect: Connect, token: Token, roles: tuple[str, ...], refused: set[str]
) -> None:
    found = set()
    async with connect(url(), token(*roles)) as host:
        for tool in (await host.client.list_tools()).tools:
            answer = await host.client.call_tool(name := tool.name, CALLS[name])
            if answer.is_error and '"ROLE_REQUIRED"' in str(answer.content):
                found.add(name)
    assert found == refused


HOSTILE = [
    ("memory_read", {"binding_id": "project_doc", "id": "{trick}"}),
    ("memory_remember", REMEMBER | {"binding_id": "project_doc", "section": "/recent_notes", "id": "{trick}"}),
    (
        "memory_correct",
        {"binding_id": "project_doc", "path": "/preferences/0", "expected": "s3cret", "value": "x", "id": "{trick}"},
    ),
    ("memory_replay", {"replay_id": "{trick}"}),
    ("memory_resolve", {"pending_id": "{trick}", "decision": "confirm"}),
]
UP = "../"
TRICKS = [
    f"{UP}user/user_dynamic",
    f"{UP * 3}u2/documents/user/user_dynamic",
    f"{UP * 2}u2/documents/user/user_dynamic",
    f"{UP}documents/user/user_dynamic.json",
    f"{UP * 2}u2/documents/user/user_dynamic.json?",
    f"{UP * 3}u2/documents/user/user_dynamic.json#",
]


class TestHostileArguments:
    """User u2 has a secret; hosts of u1 look for it, with all roles."""

    @pytest.fixture(autouse=True)
    async def secret(self, connect: Connect, token: Token) -> AsyncIterator[Connect]:
        async with connect(url("u2"), token()) as host:
            await host.result("memory_remember", **REMEMBER)
        yield connect
        async with connect(url("u2"), token()) as host:
            read = await host.result("memory_read", binding_id="user_dynamic")
        assert read["content"]["preferences"] == ["s3cret"]

    async def answers(self, connect: Connect, token: Token) -> list[str]:
        """Call every hostile combination; nothing says the secret."""
        found = []
        async with connect(url(), token()) as host:
            for name, arguments in HOSTILE:
                for trick in TRICKS:
                    given = {key: trick if value == "{trick}" else value for key, value in arguments.items()}
                    answer = await host.client.call_tool(name, given)
                    found.append(answer.model_dump_json())
        assert [text for text in found if "s3cret" in text] == []
        return found

    async def test_both_fences(self, connect: Connect, token: Token, services: Service) -> None:
        storage = StorageCalls(services)
        assert len(await self.answers(connect, token)) == len(HOSTILE) * len(TRICKS)
        assert [call for call in storage.made if "u2" in str(call)] == []

    async def test_without_the_check_of_the_client(
        self, connect: Connect, token: Token, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in (profile, requests):
            monkeypatch.setattr(module, "segment", lambda kind, value: value)
        monkeypatch.setattr(requests, "document_path", lambda value: value)
        found = await self.answers(connect, token)
        assert any("USER_FORBIDDEN" in text for text in found)

    async def test_without_the_bound_user(
        self, connect: Connect, token: Token, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(authorization, "_confine", lambda *_: None)
        found = await self.answers(connect, token)
        assert any("INVALID_IDENTIFIER" in text for text in found)

    async def test_without_both_the_secret_is_read(
        self, connect: Connect, token: Token, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """So the tests above are about the fences and not about tricks that never work."""
        for module in (profile, requests):
            monkeypatch.setattr(module, "segment", lambda kind, value: value)
        monkeypatch.setattr(requests, "document_path", lambda value: value)
        monkeypatch.setattr(authorization, "_confine", lambda *_: None)
        with pytest.raises(AssertionError, match="s3cret"):
            await self.answers(connect, token)

    @pytest.mark.parametrize("name", ["user_id", "tenant_id", "user", "tenant", "principal", "token", "role"])
    async def test_an_identity_is_no_argument(self, connect: Connect, token: Token, name: str) -> None:
        async with connect(url(), token()) as host:
            for tool, arguments in CALLS.items():
                refused = await host.refusal(tool, **arguments, **{name: "u2"})
                assert refused["code"] == "INVALID_ARGUMENTS"

    async def test_a_long_text_changes_nothing(self, connect: Connect, token: Token) -> None:
        long = "x" * 1_000_000
        async with connect(url(), token()) as host:
            context = await host.client.call_tool("memory_context", {"text": long})
            refused = await host.refusal("memory_remember", **REMEMBER | {"value": long})
        assert "s3cret" not in context.model_dump_json()
        assert refused["code"] in {"SCHEMA_VIOLATION", "LIMIT_EXCEEDED"}


class TestSlots:
    @pytest.fixture
    def settings(self) -> Settings:
        return sample_settings(issuer_url=ISSUER, audience=AUDIENCE, max_in_flight=1)

    @pytest.mark.parametrize("era", ["legacy", "auto"])
    async def test_the_requests_of_a_tool_run_under_the_slot_of_the_host(
        self, connect: Connect, app: FastAPI, token: Token, era: str
    ) -> None:
        async with connect(url(), token(), era) as host:
            written = await host.result("memory_remember", **REMEMBER)
        assert written["status"] == "applied"
        limit = app.state.concurrency_limit
        assert (limit.working.count, limit.receiving.count) == (0, 0)


async def test_logs_name_no_user(connect: Connect, token: Token, caplog: pytest.LogCaptureFixture) -> None:
    handlers = logging.root.handlers[:]
    with caplog.at_level(logging.INFO):
        async with connect(url("maya-of-t1"), token()) as host:
            await host.result("memory_remember", **REMEMBER)
            await host.refusal("memory_read", binding_id="maya-of-t1")
        fields = [record.__dict__["fields"] for record in caplog.records if record.name == "memnet.requests"]
        async with connect(f"{ADDRESS}/mcp/{PROFILE}", delegated(token, "maya-of-t1")) as host:
            await host.result("memory_read", binding_id="user_dynamic")
    assert "maya-of-t1" not in caplog.text + str(fields)
    assert {row["route"] for row in fields} >= {USER_PATH, "/v1/profiles/{profile_id}"}
    all_fields = [record.__dict__["fields"] for record in caplog.records if record.name == "memnet.requests"]
    assert OWN_PATH in {row["route"] for row in all_fields}
    assert len({row["user_hash"] for row in all_fields} - {None}) == 1
    assert logging.root.handlers == handlers
