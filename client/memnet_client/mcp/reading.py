"""The tools that read: context, a search, documents, what waits for confirmation, and replays."""

import re
from typing import Any

from memnet_client import AsyncUser
from memnet_client.mcp.arguments import (
    ContextArguments,
    NoArguments,
    ReadArguments,
    ReplayArguments,
    SearchArguments,
)
from memnet_client.mcp.tool import READS, Call, Tool, tool
from memnet_client.mcp.values import Citation, Found, Patch, Read, Recalled, Replayed, Waiting, WaitingList
from memnet_client.profile import binding_of

MAX_WAITING = 100
"""Items that memory_pending lists at most."""
TOOLS: dict[str, Tool] = {}
_VARIABLE = re.compile(r"{(\w+)}")


@tool(TOOLS, title="Recall context", hints=READS)
async def memory_context(call: Call, given: ContextArguments) -> Recalled:
    """Get what is known about the user that fits this conversation."""
    context = await call.user.assemble(given.text, max_chars=given.max_chars, events=given.events)
    return Recalled(
        context=context.as_prompt(max_chars=given.max_chars),
        documents=[document["binding_id"] for document in context.documents],
        dropped=[f"{one['binding_id']}: {one['reason']}" for one in context.dropped],
    )


@tool(TOOLS, title="Search memory", hints=READS)
async def memory_search(call: Call, given: SearchArguments) -> Found:
    """Find what was said or learnt about a question, as lines with citations."""
    found = await call.user.recall(
        given.query,
        limit=given.limit,
        closed=given.closed,
        valid_at=given.valid_at,
    )
    return Found(
        text=found.text,
        citations=[_citation(one) for one in found.results],
        degraded=found.degraded,
    )


def _citation(found: Any) -> Citation:
    return Citation(
        kind=found["kind"],
        id=found.get("entry_id") or found.get("event_id"),
        conversation_id=found.get("conversation_id"),
        message_ids=found.get("message_ids", []),
        said_at=found.get("said_at"),
        also=[{name: one.get(name) for name in ("conversation_id", "message_ids")} for one in found.get("also", [])],
    )


@tool(TOOLS, title="Read a document", hints=READS)
async def memory_read(call: Call, given: ReadArguments) -> Read:
    """Read one memory document, or an earlier version of it."""
    ids = await ids_of(call.user, given.binding_id, given.id)
    document = await call.user.read(given.binding_id, as_of=given.as_of, **ids)
    if document is None:
        return Read(etag=None, content=None)
    return Read(etag=document.etag, content=document.content)


@tool(TOOLS, title="List what waits for confirmation", hints=READS)
async def memory_pending(call: Call, given: NoArguments) -> WaitingList:
    """List proposed memory that waits for confirmation."""
    items: list[Waiting] = []
    async for item in call.user.pending():
        if len(items) == MAX_WAITING:
            return WaitingList(items=items, more=True)
        items.append(
            Waiting(
                pending_id=item.pending_id,
                binding_id=item.binding_id,
                text=item.text,
                confidence=item.confidence,
                proposed_by=item.proposed_by,
                question=item.question or "",
                choices=item.choices,
            )
        )
    return WaitingList(items=items, more=False)


@tool(TOOLS, title="Follow a replay", hints=READS)
async def memory_replay(call: Call, given: ReplayArguments) -> Replayed:
    """Get the state of a submitted conversation's extraction."""
    replay = await call.user.replay(given.replay_id)
    if given.wait_seconds:
        await replay.wait(given.wait_seconds)
    patches = [
        Patch(binding_id=patch["binding_id"], status=patch["status"], reason=patch.get("reason"))
        for patch in replay.patches
    ]
    found = replay.state.raw
    return Replayed(status=found["status"], reason=found.get("reason"), event_id=found.get("event_id"), patches=patches)


def variables_of(binding: Any) -> list[str]:
    """Return the names of the ids that a binding's path template takes."""
    return _VARIABLE.findall(binding.get("path_template") or "")


async def ids_of(user: AsyncUser, binding_id: str, document_id: str | None) -> dict[str, str]:
    """Return a document's id under the name that the binding has for it. Raises BindingNotFound."""
    if document_id is None:
        return {}
    binding = binding_of(await user.client.run(user.memory.profile()), binding_id)
    return {(variables_of(binding) or ["id"])[0]: document_id}
