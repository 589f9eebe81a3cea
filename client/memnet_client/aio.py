"""The async client."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import httpx2

from memnet_client import local as local_stack
from memnet_client.conversation import Transcript
from memnet_client.credentials import Credential, TokenSource
from memnet_client.exchange import answer_of, arguments, no_answer
from memnet_client.governance import ServiceCalls
from memnet_client.memory import Memory
from memnet_client.randomness import between, monotonic
from memnet_client.results import send_pending
from memnet_client.steps import Answer, Json, PendingWrite, Request, Retry, Steps, Wait
from memnet_client.values import Change, Message, Pages, ReplayState, TenantQuestion, Turn

P = ParamSpec("P")
T = TypeVar("T")
SCOPE = "api://memnet/.default"
"""The scope that azure-identity gets tokens for, unless a deployment has another audience."""


def _call(
    steps: Callable[Concatenate[Memory, P], Steps[T]],
) -> Callable[Concatenate["AsyncUser", P], Coroutine[None, None, T]]:
    """Return the method that runs a call of `Memory`."""

    @wraps(steps)
    async def method(self: "AsyncUser", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.client.run(steps(self.memory, *args, **kwargs))

    return method


def _list(pages: Callable[Concatenate[Memory, P], Pages[T]]) -> Callable[Concatenate["AsyncUser", P], AsyncIterator[T]]:
    """Return the method that iterates over a list of `Memory`, page by page."""

    @wraps(pages)
    def method(self: "AsyncUser", /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self.client.rows(pages(self.memory, *args, **kwargs))

    return method


class AsyncUser:
    """One user's memory. Created by `AsyncMemnet.user`; the methods are described in `memnet_client.memory.Memory`."""

    def __init__(self, client: "AsyncMemnet", memory: Memory) -> None:
        self.client = client
        self.memory = memory

    def __repr__(self) -> str:
        return f"AsyncUser(profile={self.memory.profile_id!r})"

    assemble = _call(Memory.assemble)
    recall = _call(Memory.recall)
    read = _call(Memory.read)
    update = _call(Memory.update)
    append = _call(Memory.append)
    patch = _call(Memory.patch)
    replace = _call(Memory.replace)
    delete = _call(Memory.delete)
    documents = _list(Memory.documents)
    entries = _list(Memory.entries)
    pending = _list(Memory.pending)
    confirm = _call(Memory.confirm)
    reject = _call(Memory.reject)
    record = _call(Memory.record)
    search = _list(Memory.search)
    search_turns = _list(Memory.search_turns)
    events = _list(Memory.events)
    retry_replay = _call(Memory.retry_replay)
    conversations = _list(Memory.conversations)
    snapshot = _call(Memory.snapshot)
    snapshot_reads = _list(Memory.snapshot_reads)
    conflicts = _list(Memory.conflicts)
    retry_conflict = _call(Memory.retry_conflict)
    discard_conflict = _call(Memory.discard_conflict)
    audit = _list(Memory.audit)
    blame = _list(Memory.blame)
    consolidate = _call(Memory.consolidate)
    apply_retention = _call(Memory.apply_retention)
    place_hold = _call(Memory.place_hold)
    release_hold = _call(Memory.release_hold)
    hold = _call(Memory.hold)
    plan_retraction = _call(Memory.plan_retraction)
    retract_conversation = _call(Memory.retract_conversation)
    retractions = _list(Memory.retractions)
    retraction = _call(Memory.retraction)
    apply_retraction = _call(Memory.apply_retraction)
    undo_retraction = _call(Memory.undo_retraction)
    erase = _call(Memory.erase)
    erasure = _call(Memory.erasure)
    erasures = _list(Memory.erasures)
    export = _call(Memory.export)
    verify_audit = _call(Memory.verify_audit)

    async def hand_in(
        self, conversation_id: str, messages: Sequence[Message], *, snapshot_id: str | None = None
    ) -> "AsyncReplay":
        """Submit a conversation; return its replay, which can be waited for. See `Memory.hand_in`."""
        return AsyncReplay(
            self, await self.client.run(self.memory.hand_in(conversation_id, messages, snapshot_id=snapshot_id))
        )

    async def store_turns(self, conversation_id: str, turns: Sequence[Turn]) -> "list[AsyncReplay]":
        """Submit turns; return their replays, which can be waited for. See `Memory.store_turns`."""
        states = await self.client.run(self.memory.store_turns(conversation_id, turns))
        return [AsyncReplay(self, state) for state in states]

    async def replay(self, replay_id: str) -> "AsyncReplay":
        """Get a replay. Raises ReplayNotFound."""
        return AsyncReplay(self, await self.client.run(self.memory.replay(replay_id)))

    async def replay_of(self, conversation_id: str, snapshot_id: str) -> "AsyncReplay":
        """Get the replay of a snapshot. Raises ReplayNotFound."""
        return AsyncReplay(self, await self.client.run(self.memory.replay_of(conversation_id, snapshot_id)))

    def replays(self) -> AsyncIterator["AsyncReplay"]:
        """List the user's replays."""
        return (AsyncReplay(self, state) async for state in self.client.rows(self.memory.replays()))

    def conversation(self, conversation_id: str | None = None) -> "AsyncConversation":
        """Begin a conversation: a context manager that collects messages and submits them at its end."""
        return AsyncConversation(self, conversation_id)


class AsyncReplay:
    """The extraction of memory from one submitted conversation."""

    def __init__(self, user: AsyncUser, state: ReplayState) -> None:
        self._user = user
        self.state = state

    def __repr__(self) -> str:
        return f"AsyncReplay({self.state.status})"

    @property
    def replay_id(self) -> str:
        """Its id."""
        return self.state.replay_id

    @property
    def snapshot_id(self) -> str:
        """The id of the conversation's snapshot."""
        return self.state.snapshot_id

    @property
    def status(self) -> str:
        """queued, running, succeeded, partial, failed or retracted, when it was last read."""
        return self.state.status

    @property
    def patches(self) -> list[Json]:
        """The proposed patches with their results, when it was last read."""
        return self.state.patches

    async def wait(self, timeout: float = 60.0) -> Self:  # noqa: ASYNC109 - it returns then, it does not cancel
        """Read it until it has ended, at most `timeout` seconds, and return it."""
        self.state = await self._user.client.run(self._user.memory.wait_for_replay(self.replay_id, timeout))
        return self


class AsyncConversation(Transcript):
    """A conversation with an agent. Used with `async with`, it is submitted at its end, unless an exception ends it."""

    def __init__(self, user: AsyncUser, conversation_id: str | None) -> None:
        super().__init__(conversation_id)
        self._user = user
        self.replay: AsyncReplay | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self.messages:
            await self.hand_in()

    async def hand_in(self) -> AsyncReplay:
        """Submit the messages so far; return the replay."""
        self.replay = await self._user.hand_in(self.conversation_id, self.messages)
        return self.replay


def _service(
    steps: Callable[Concatenate[ServiceCalls, P], Steps[T]],
) -> Callable[Concatenate["AsyncMemnet", P], Coroutine[None, None, T]]:
    @wraps(steps)
    async def method(self: "AsyncMemnet", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(steps(self.service, *args, **kwargs))

    return method


class AsyncMemnet:
    """memnet for one tenant. A context manager; one client serves many users and threads."""

    def __init__(
        self,
        url: str,
        *,
        credential: Credential,
        tenant: str,
        profile: str | None = None,
        scope: str = SCOPE,
        retry: Retry | None = None,
        timeout: float = 35.0,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        """`profile` is the default of `user`; `timeout` limits one request in seconds. Sends nothing.

        An injected HTTP client stays open when this one is closed. Raises TypeError and InvalidIdentifier.
        """
        if http is not None and not isinstance(http, httpx2.AsyncClient):
            raise TypeError("http must be an httpx2.AsyncClient")
        self._url = url.rstrip("/")
        self._http = http or httpx2.AsyncClient()
        self._owns_http = http is None
        self._token = TokenSource(credential, scope)
        self._timeout = timeout
        self._profile = profile
        self.service = ServiceCalls(tenant, retry or Retry(), {})

    @classmethod
    def local(
        cls,
        principal: str = "my-agent",
        *,
        tenant: str = "t1",
        roles: Sequence[str] = local_stack.ROLES,
        profile: str | None = None,
        retry: Retry | None = None,
    ) -> Self:
        """Return a client of the local stack that runs in this directory or above. Raises LookupError."""
        stack = local_stack.find()
        credential = local_stack.LocalCredential(stack, tenant=tenant, principal=principal, roles=roles)
        return cls(stack.url, credential=credential, tenant=tenant, profile=profile, retry=retry)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r}, tenant={self.service.tenant!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        if self._owns_http:
            await self._http.aclose()

    def user(self, user_id: str, *, profile: str | None = None) -> AsyncUser:
        """Return one user's memory under a profile. Sends nothing. Raises ValueError without any profile."""
        chosen = profile or self._profile
        if chosen is None:
            raise ValueError("give a profile, here or to the client")
        service = self.service
        return AsyncUser(self, Memory(service.tenant, user_id, chosen, service.retry, service.profile_cache))

    async def run(self, steps: Steps[T]) -> T:
        """Drive a call: send its requests, wait, and return its result."""
        try:
            step = next(steps)
            while True:
                step = steps.send(await self._do(step))
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    async def rows(self, pages: Pages[T]) -> AsyncIterator[T]:
        """Yield the rows of a list, page by page."""
        cursor = None
        while True:
            page = await self.run(pages(cursor))
            for row in page.rows:
                yield row
            cursor = page.cursor
            if cursor is None:
                return

    async def send(self, pending: PendingWrite) -> Change:
        """Send a write again whose outcome was unknown; it takes effect once. Raises what the write raises."""
        return await self.run(send_pending(pending, self.service.retry))

    def users(self, *, prefix: str | None = None) -> AsyncIterator[str]:
        """List the ids of the users about whom anything is stored; `prefix` is how the ids start."""
        return self.rows(self.service.users(prefix=prefix))

    def questions(self) -> AsyncIterator[TenantQuestion]:
        """List the questions that the tenant decides; see `ServiceCalls.questions`."""
        return self.rows(self.service.questions())

    def waiting(self, *, kind: str | None = None) -> AsyncIterator[Json]:
        """List the users for whom something waits; see `ServiceCalls.waiting`."""
        return self.rows(self.service.waiting(kind=kind))

    def profiles(self) -> AsyncIterator[Json]:
        """List the profiles that this principal may use."""
        return self.rows(self.service.profiles())

    profile = _service(ServiceCalls.profile)
    schema = _service(ServiceCalls.schema)
    statistics = _service(ServiceCalls.statistics)
    keys = _service(ServiceCalls.keys)
    me = _service(ServiceCalls.me)
    live = _service(ServiceCalls.live)
    ready = _service(ServiceCalls.ready)
    place_tenant_hold = _service(ServiceCalls.place_tenant_hold)
    release_tenant_hold = _service(ServiceCalls.release_tenant_hold)
    tenant_hold = _service(ServiceCalls.tenant_hold)
    erase_tenant = _service(ServiceCalls.erase_tenant)
    tenant_erasure = _service(ServiceCalls.tenant_erasure)
    reindex = _service(ServiceCalls.reindex)
    reindexing = _service(ServiceCalls.reindexing)

    async def _do(self, step: Request | Wait) -> Answer | float:
        began = monotonic()
        if isinstance(step, Wait):
            await asyncio.sleep(between(step.least, step.least + step.spread))
            return monotonic() - began
        token = await self._token.get_async()
        try:
            response = await self._http.request(**arguments(self._url, step, token, self._timeout))
        except httpx2.TransportError as error:
            return no_answer(error, monotonic() - began)
        return answer_of(response, monotonic() - began)
