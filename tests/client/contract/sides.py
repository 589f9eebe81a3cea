"""The two services that the suite runs on: the fake, and a whole local stack; each with a sync or an async client."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import httpx2

from local.emulators.issuer import AUDIENCE
from local.stack.stack import Stack
from memnet import settings
from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.replay.proposal import ConflictDetails
from memnet.operations.replay.proposals import create_conflict
from memnet.settings import ROOT
from memnet.wiring import connect
from memnet_client import AsyncMemnet, Memnet, Retry
from memnet_client.testing import FakeMemnet, Learnt, Outcome
from tests.client.contract.blocking import Blocking
from tests.client.specification import Exchange
from tests.domain.replay_samples import proposal

PROFILE = "project-copilot-v1"
PERSONAL = "personal-memory-v1"
"""A profile that accepts turns."""
WORKSPACE = "workspace-memory-v1"
"""A profile of several claimants."""
USUAL = ("Memory.Read", "Memory.Write")
ALL_ROLES = (*USUAL, "Memory.Replay", "Memory.Admin", "Memory.Audit")
STAGE = {"op": "replace", "path": "/content/facets/stage", "value": "beta"}
"""It applies to no version without this member."""


class Side(ABC):
    """A service, a user and a tenant of one test, and every exchange with them."""

    url: str

    def __init__(self, *, is_async: bool) -> None:
        self.user_id = f"maya-{uuid4().hex[:12]}"
        self.tenant = "t1"
        self.own_tenant = f"t-{uuid4().hex[:12]}"
        """A tenant of this test only."""
        self.exchanges: list[Exchange] = []
        self._is_async = is_async
        self._closing = ExitStack()
        self._runner = self._closing.enter_context(asyncio.Runner()) if is_async else None

    def client(
        self,
        principal: str = "my-agent",
        roles: Sequence[str] = USUAL,
        *,
        tenant: str | None = None,
        token: str | None = None,
        profile: str = PROFILE,
    ) -> Any:
        """Return a client of a principal."""
        wanted = tenant or self.tenant
        chosen: Any = {
            "credential": token or self.token(principal, roles, wanted),
            "tenant": wanted,
            "profile": profile,
            "retry": Retry(first=0.02),
        }
        if self._runner is None:
            http = httpx2.Client(event_hooks={"response": [self._record]}, **self.transport())
            self._closing.callback(http.close)
            return Memnet(self.url, http=http, **chosen)
        async_http = httpx2.AsyncClient(event_hooks={"response": [self._record_async]}, **self.transport())
        self._closing.callback(lambda: self._runner and self._runner.run(async_http.aclose()))
        return Blocking(AsyncMemnet(self.url, http=async_http, **chosen), self._runner)

    def user(self, principal: str = "my-agent", roles: Sequence[str] = USUAL, *, profile: str = PROFILE) -> Any:
        """Return the user's memory as a principal sees it."""
        return self.client(principal, roles, profile=profile).user(self.user_id)

    def close(self) -> None:
        """Close all clients."""
        self._closing.close()

    def _record(self, response: httpx2.Response) -> None:
        response.read()
        self.exchanges.append(Exchange(response.request, response))

    async def _record_async(self, response: httpx2.Response) -> None:
        await response.aread()
        self.exchanges.append(Exchange(response.request, response))

    @abstractmethod
    def token(self, principal: str, roles: Sequence[str], tenant: str) -> str:
        """Return a token."""

    @abstractmethod
    def signed_in(self) -> str:
        """Return a token of the user, with which an application may read."""

    @abstractmethod
    def transport(self) -> dict[str, Any]:
        """Return the arguments of an HTTP client that reaches the service."""

    @abstractmethod
    def open_conflict(self) -> str:
        """Create a conflict about the user's project atlas, which exists; return its id."""


class FakeSide(Side):
    """The fake with profiles that the stack has."""

    url = "http://memnet.test"

    def __init__(self, *, is_async: bool) -> None:
        super().__init__(is_async=is_async)
        profiles = [
            json.loads((ROOT / "profiles" / f"{one}.json").read_text("utf-8")) for one in (PROFILE, PERSONAL, WORKSPACE)
        ]
        names = ("memory.user.static", "memory.user.dynamic", "memory.project", "memory.personal")
        texts = {name: (ROOT / "schemas" / name / "1.0.0.json").read_text("utf-8") for name in names}
        schemas = {(name, "1.0.0"): json.loads(text) for name, text in texts.items()}
        self.fake = FakeMemnet(profiles=profiles, schemas=schemas)

    def token(self, principal: str, roles: Sequence[str], tenant: str) -> str:
        return self.fake.token(principal, roles=roles, tenant=tenant)

    def signed_in(self) -> str:
        return self.fake.token("editor", roles=["Memory.Read"], tenant=self.tenant, user=self.user_id)

    def transport(self) -> dict[str, Any]:
        return {"transport": self.fake.transport}

    def open_conflict(self) -> str:
        learnt = Learnt("project_doc", [STAGE], ids={"project_id": "atlas"})
        self.fake.finish_replay(Outcome(patches=[learnt]))
        said = {"message_id": "m1", "role": "user", "content": "Beta.", "timestamp": "2026-02-14T20:00:00Z"}
        replay = self.user().hand_in("c-disputed", [said]).wait()
        return str(replay.patches[0]["conflict_id"])


class StackSide(Side):
    """A running stack: the API, a worker, and emulators."""

    def __init__(self, stack: Stack, *, is_async: bool) -> None:
        super().__init__(is_async=is_async)
        self._stack = stack
        self.url = stack.url

    def token(self, principal: str, roles: Sequence[str], tenant: str) -> str:
        return self._stack.token(tenants=tenant, principal=principal, roles=roles)

    def signed_in(self) -> str:
        who = {"client_id": "editor", "tenant": self.tenant, "user": self.user_id, "scopes": "Memory.Read"}
        form = {"grant_type": "client_credentials", "scope": f"{AUDIENCE}/.default", **who}
        with httpx2.Client(trust_env=False) as http:
            return str(http.post(self._stack.token_url, data=form).json()["access_token"])

    def transport(self) -> dict[str, Any]:
        return {"trust_env": False, "verify": False}

    def open_conflict(self) -> str:
        found = self.user().read("project_doc", project_id="atlas")
        key = DocumentKey(UserScope(self.tenant, self.user_id), found.namespace, found.path)
        base = {**found.content, "facets": {"stage": "alpha"}}
        etag = ETag(found.etag)
        ours = proposal(key=key, base_etag=etag, base=base, ops=[STAGE], replay_id=f"rpl-{uuid4().hex}")
        details = ConflictDetails("changed", etag, found.content, {"op_index": 0, "why": "gone", "path": STAGE["path"]})

        async def create() -> None:
            async with connect(settings.load_for(self._stack.environment)) as services:
                await create_conflict(ours, details, services, rebases=1)

        asyncio.run(create())
        return f"cfl-{ours.idempotency_key}"
