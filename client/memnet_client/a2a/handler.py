"""The agent's calls. It keeps nothing: a task is a replay, and memnet has the replay before the task is answered."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import httpx2
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    Part,
    SendMessageRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import (
    ExtendedAgentCardNotConfiguredError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from memnet_client.a2a.caller import caller_of, user_of
from memnet_client.a2a.parts import data_of, data_part, reply, text_of
from memnet_client.a2a.refusals import translated
from memnet_client.a2a.tasks import open_conflicts, proposals_of, task_of
from memnet_client.aio import AsyncMemnet, AsyncUser
from memnet_client.errors import InvalidIdentifier
from memnet_client.identifiers import segment
from memnet_client.steps import Json, Retry
from memnet_client.values import PendingItem, ReplayState

BLOCKING_SECONDS = 20.0
"""How long a message that asks to wait waits for its task; then the task is returned unfinished."""
EVENTS = 5
"""Events of earlier conversations in what is recalled."""
PAGE = 50


class MemoryAgent(RequestHandler):
    """One tenant's memory under one profile, for the user of each request."""

    def __init__(self, url: str, *, tenant: str, profile: str, http: httpx2.AsyncClient, retry: Retry | None = None):
        """Call the service at `url` through `http` with the token of each caller."""
        self._url, self._tenant, self._profile = url, tenant, profile
        self._http, self._retry = http, retry

    @asynccontextmanager
    async def _user(self, context: ServerCallContext) -> AsyncIterator[AsyncUser]:
        with translated():
            memnet = AsyncMemnet(
                self._url, credential=caller_of(context).token, tenant=self._tenant, profile=self._profile,
                http=self._http, retry=self._retry,
            )  # fmt: skip
            yield user_of(memnet, context)

    @validate_request_params
    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        """Answer a message: by a task for a conversation or a decision, otherwise by a message."""
        message = params.message
        data = data_of(message)
        async with self._user(context) as user:
            if message.task_id:
                return await _decide(user, message.task_id, data)
            match data.get("skill") or ("learn_from_conversation" if "messages" in data else "recall"):
                case "recall":
                    found = await user.assemble(text_of(message) or str(data.get("text", "")), events=EVENTS)
                    return reply(message, [Part(text=found.as_prompt())])
                case "remember":
                    return reply(message, [data_part(await _remember(user, data))])
                case "learn_from_conversation":
                    return await _learn(user, message, data, wait=not params.configuration.return_immediately)
                case "consolidate":
                    return reply(message, [data_part(await _consolidate(user, data))])
                case other:
                    raise InvalidParamsError(f"There is no skill {str(other)[:40]!r}.")

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        """Get a task."""
        async with self._user(context) as user:
            return await _task(user, params.id)

    @validate_request_params
    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """List tasks, a page of replays at a time; a page may hold fewer tasks than it asked for, or none."""
        async with self._user(context) as user:
            page = await user.client.run(user.memory.replays()(params.page_token or None))
            pending = [item async for item in user.pending()] if page.rows else []
            tasks = [task_of(replay, pending) for replay in page.rows]
            chosen = [task for task in tasks if _is_chosen(task, params)]
            if not params.include_artifacts:
                for task in chosen:
                    task.ClearField("artifacts")
            return ListTasksResponse(
                tasks=chosen, next_page_token=page.cursor or "", page_size=len(chosen), total_size=len(chosen)
            )

    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        """Refuse: a submitted conversation is replayed. Raises TaskNotFoundError, TaskNotCancelableError."""
        async with self._user(context) as user:
            await _task(user, params.id)
        raise TaskNotCancelableError("A replay is not canceled. Reject what it proposes, or discard its conflicts.")

    async def on_message_send_stream(self, params: Any, context: ServerCallContext) -> AsyncGenerator[Any]:
        """Refuse: the card says that the agent does not stream."""
        raise UnsupportedOperationError
        yield

    async def on_subscribe_to_task(self, params: Any, context: ServerCallContext) -> AsyncGenerator[Any]:
        """Refuse: the card says that the agent does not stream."""
        raise UnsupportedOperationError
        yield

    async def on_create_task_push_notification_config(self, params: Any, context: ServerCallContext) -> NoReturn:
        """Refuse: the card says that the agent sends no notifications."""
        raise PushNotificationNotSupportedError

    on_get_task_push_notification_config = on_create_task_push_notification_config
    on_list_task_push_notification_configs = on_create_task_push_notification_config
    on_delete_task_push_notification_config = on_create_task_push_notification_config

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Refuse: there is one card."""
        raise ExtendedAgentCardNotConfiguredError


async def _remember(user: AsyncUser, data: dict[str, Json]) -> Json:
    binding, section = _text(data, "binding"), _text(data, "section")
    if "entry" not in data:
        raise InvalidParamsError("The data needs an entry.")
    ids: dict[str, Any] = _ids(data)
    change = await user.append(
        binding, section, data["entry"], evidence=data.get("evidence"), confidence=data.get("confidence"),
        **ids,
    )  # fmt: skip
    return {
        "status": change.status,
        "visible": change.visible,
        "change_id": change.change_id,
        "pending_ids": list(change.pending_ids),
    }


async def _consolidate(user: AsyncUser, data: dict[str, Json]) -> Json:
    dry_run = data.get("dry_run", False)
    if not isinstance(dry_run, bool):
        raise InvalidParamsError("dry_run must be true or false.")
    return await user.consolidate(dry_run=dry_run)


async def _learn(user: AsyncUser, message: Message, data: dict[str, Json], *, wait: bool) -> Task:
    conversation_id = data.get("conversation_id") or message.context_id or f"a2a-{message.message_id}"
    messages = data.get("messages")
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        raise InvalidParamsError("The data needs messages: a list of {message_id, role, content, timestamp}.")
    replay = await user.hand_in(str(conversation_id), messages)
    if wait:
        await replay.wait(BLOCKING_SECONDS)
    return await _task(user, replay.replay_id)


async def _decide(user: AsyncUser, task_id: str, data: dict[str, Json]) -> Task:
    """Confirm or reject a proposal of a task, or retry or discard a conflict of it, and return the task."""
    replay = await _replay(user, task_id)
    decision = data.get("decision")
    if decision in ("confirm", "reject"):
        proposals = proposals_of(replay, [item async for item in user.pending()])
        item = next((one for one in proposals if one.pending_id == data.get("pending_id")), None)
        if item is None:
            raise InvalidParamsError("The task has no such pending_id that waits for confirmation.")
        if decision == "reject":
            await user.reject(item, note=data.get("note"))
        else:
            await _confirm(user, item, data)
    elif decision in ("retry", "discard"):
        conflict_id = data.get("conflict_id")
        if conflict_id not in open_conflicts(replay):
            raise InvalidParamsError("The task has no such open conflict_id.")
        if decision == "retry":
            await user.retry_conflict(conflict_id)
        else:
            await user.discard_conflict(conflict_id, note=data.get("note"))
    else:
        raise InvalidParamsError("The data needs a decision: confirm, reject, retry or discard.")
    return await _task(user, task_id)


async def _confirm(user: AsyncUser, item: PendingItem, data: dict[str, Json]) -> None:
    names = ("confidence", "take", "choice", "apart")
    chosen: Json = {name: data[name] for name in names if data.get(name) is not None}
    await user.confirm(item, evidence=data.get("evidence"), **chosen)


async def _task(user: AsyncUser, task_id: str) -> Task:
    replay = await _replay(user, task_id)
    proposed = any(patch["status"] == "redirected" for patch in replay.patches)
    return task_of(replay, [item async for item in user.pending()] if proposed else ())


async def _replay(user: AsyncUser, task_id: str) -> ReplayState:
    try:
        segment("task_id", task_id)
    except InvalidIdentifier as error:
        raise TaskNotFoundError from error
    return (await user.replay(task_id)).state


def _is_chosen(task: Task, params: ListTasksRequest) -> bool:
    wanted = params.status
    return (not params.context_id or task.context_id == params.context_id) and (
        wanted == TaskState.TASK_STATE_UNSPECIFIED or task.status.state == wanted
    )


def _text(data: dict[str, Json], name: str) -> str:
    found = data.get(name)
    if not isinstance(found, str):
        raise InvalidParamsError(f"The data needs {name}, a string.")
    return found


def _ids(data: dict[str, Json]) -> dict[str, str]:
    ids = data.get("ids") or {}
    if not isinstance(ids, dict) or not all(isinstance(value, str) for value in ids.values()):
        raise InvalidParamsError("ids must be an object of strings.")
    return ids
