"""The service as it runs: API processes on one container behind the fault proxy; and the storage itself."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import uuid4

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

from local.emulators.fault_proxy import FaultProxy
from local.emulators.issuer import AUDIENCE, Issuer
from local.stack.api_process import Api
from local.stack.azurite_server import ACCOUNT_KEY
from local.stack.process import Child, ReservedPort, status_of
from memnet import settings
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import record_hash
from memnet.domain.documents.envelope import Envelope
from memnet.operations.documents.outbox import sweep_user
from memnet.operations.history.verify_history import rebuild_documents
from memnet.service import Service as Services
from memnet.stores.audit_records import Unsealing
from memnet.wiring import connect
from tests.e2e.cli_process import finish, start_command
from tests.e2e.client import Place, User
from tests.sample_settings import NOWHERE

ALL_ROLES = ("Memory.Read", "Memory.Write", "Memory.Replay", "Memory.Admin", "Memory.Audit")


class Service:
    """An async context manager: the proxy, one API process, a client session and the storage's own adapters."""

    def __init__(
        self, container_url: str, *, service_url: str, issuer: Issuer, logs: Path, environment: Mapping[str, str]
    ) -> None:
        """`service_url` is where the storage listens; `environment` holds more settings for the API."""
        self.container_url = container_url
        self.proxy = FaultProxy(service_url)
        self._issuer = issuer
        self._logs = logs
        self._settings = dict(environment)
        self._stack = AsyncExitStack()
        self.apis: list[Api] = []

    async def __aenter__(self) -> "Service":
        try:
            return await self._enter()
        except BaseException:
            await self._stack.aclose()
            raise

    async def _enter(self) -> "Service":
        await self._stack.enter_async_context(self.proxy)
        self.session = await self._stack.enter_async_context(
            ClientSession(connector=TCPConnector(limit=0), timeout=ClientTimeout(total=60), cookie_jar=DummyCookieJar())
        )
        self.environment = {
            **NOWHERE,
            "MEMNET_LOG_LEVEL": "warning",
            "MEMNET_STORAGE_URL": self.proxy.through(self.container_url),
            "MEMNET_STORAGE_KEY": ACCOUNT_KEY,
            "MEMNET_ISSUER_URL": self._issuer.url,
            "MEMNET_AUDIENCE": AUDIENCE,
            **self._settings,
        }
        direct = {**self.environment, "MEMNET_STORAGE_URL": self.container_url, "MEMNET_STORAGE_TIMEOUT_SECONDS": "10"}
        self.storage: Services = await self._stack.enter_async_context(connect(settings.load(direct)))
        await self.start_api()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def api(self) -> Api:
        """The first process."""
        return self.apis[0]

    async def start_api(self, *, until: str = "ready", environment: Mapping[str, str] | None = None) -> Api:
        """Start one more process and wait until /health/{until} is 200; it stops with the service.

        `environment` goes over the settings of the others.
        """
        chosen = {**self.environment, **(environment or {})}
        api = Api(ReservedPort(), environment=chosen, log=self._logs / f"api-{len(self.apis)}.log")
        self._stack.push_async_callback(asyncio.to_thread, api.close)
        await asyncio.to_thread(_start, api, f"{api.url}/health/{until}")
        self.apis.append(api)
        return api

    async def kill(self) -> None:
        """SIGKILL the first process."""
        await asyncio.to_thread(self.api.kill)

    async def restart(self) -> None:
        """Start the first process again, on the same port; it need not have found its search and queue missing."""
        await asyncio.to_thread(_start, self.api, f"{self.api.url}/health/live")

    def token(self, *roles: str, principal: str = "svc-a", tenants: str | Sequence[str] = "t1") -> str:
        """A token; without roles it has all of them."""
        return self._issuer.mint(tenants=tenants, principal=principal, roles=roles or ALL_ROLES)

    def user(self, *, principal: str = "svc-a") -> User:
        """A user of this test only."""
        return User(self.session, self.api.url, self.token(principal=principal), f"u-{uuid4().hex}")

    async def head(self, user: User, place: Place) -> Envelope:
        """The document's blob in the storage."""
        stored = await self.storage.documents.get(_key(user, place))
        assert stored is not None
        return envelope.load(stored.data)

    async def sweep(self, user: User) -> None:
        """Finish what crashed processes left of the user; as often as a writer or another sweeper was faster."""
        postponed = 1
        while postponed:
            report = await sweep_user(_scope(user), self.storage)
            assert report.broken == 0
            postponed = report.postponed

    async def verify(self, user: User) -> None:
        """Rebuild all documents of the user from storage, as `memnet audit verify` does, and find no fault."""
        rebuilt = await rebuild_documents(_scope(user), self.storage)
        assert [found.fault for found in rebuilt] == [None] * len(rebuilt)

    def command(self, *arguments: str, through_proxy: bool = True) -> Child:
        """Start `memnet` with the service's settings."""
        url = self.environment["MEMNET_STORAGE_URL"] if through_proxy else self.container_url
        return start_command(*arguments, environment={**self.environment, "MEMNET_STORAGE_URL": url}, logs=self._logs)

    async def verify_by_command(self, user: User) -> str:
        """Run `memnet audit verify` and return its output."""
        whose = ("--tenant", user.tenant_id, "--user", user.user_id)
        return await finish(self.command("audit", "verify", *whose, through_proxy=False))

    async def flushed_history(self, user: User, place: Place) -> list[Any]:
        """The document's records in audit/ alone, after a sweep.

        They must be exactly one per change, chained by their hashes, no idempotency key twice.
        """
        await self.verify(user)
        await self.sweep(user)
        await self.verify(user)
        head = await self.head(user, place)
        history = await self.storage.audit.history(_scope(user), head.doc_id)
        assert history.baselines == set(history.segments) - {1}
        stored = await self.stored_records(user, place)
        assert [record["sequence"] for record in stored] == list(range(1, head.commit.sequence + 1))
        unsealing = Unsealing(_scope(user), self.storage.vault)
        records = [await unsealing.unseal(record) for record in stored]
        assert [record["previous_record_hash"] for record in records[1:]] == [record_hash(r) for r in records[:-1]]
        assert head.commit.record_hash == record_hash(records[-1])
        keys = [record["idempotency_key"] for record in records]
        assert len(keys) == len(set(keys))
        return records

    async def stored_records(self, user: User, place: Place) -> list[Any]:
        """The document's records in its segments, sealed as stored, one after the other."""
        doc_id = (await self.head(user, place)).doc_id
        history = await self.storage.audit.history(_scope(user), doc_id)
        segments = [await self.storage.audit.read(_scope(user), doc_id, first) for first in history.segments]
        return [record for segment in segments for record in segment or ()]


def _start(api: Api, url: str) -> None:
    api.child.start()
    api.child.wait_until(lambda: status_of(url) == 200, seconds=60)


def _scope(user: User) -> UserScope:
    return UserScope(user.tenant_id, user.user_id)


def _key(user: User, place: Place) -> DocumentKey:
    return DocumentKey(_scope(user), place.namespace, place.path)
