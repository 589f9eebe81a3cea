"""The tools that write: remember, correct, resolve, submit a conversation, and consolidate.

None removes more than one entry; `memory_consolidate` closes statements and removes none.
"""

from typing import Any

from mcp import types

from memnet_client.difference import text as canonical
from memnet_client.mcp.arguments import (
    ConsolidateArguments,
    CorrectArguments,
    EvidenceArgument,
    HandInArguments,
    RememberArguments,
    ResolveArguments,
)
from memnet_client.mcp.reading import ids_of
from memnet_client.mcp.refusals import Refused
from memnet_client.mcp.tool import ADDS, CHANGES, Call, Tool, tool
from memnet_client.mcp.values import Consolidated, ConsolidatedDocument, Submitted, Written
from memnet_client.pending import Take
from memnet_client.profile import at
from memnet_client.values import Change, PendingItem

QUESTION = "decision"
"""The name of the question whether a pending item is true."""
DECISIONS = ["confirm", "reject"]
ANSWERS = ["confirm", "existing", "both", "reject"]
"""The decisions on an item that contradicts an entry."""
TAKING = ("confirm", "both")
"""The decisions that take a proposal."""
CHOICE = "choice"
TOOLS: dict[str, Tool] = {}


@tool(TOOLS, title="Remember", hints=ADDS)
async def memory_remember(call: Call, given: RememberArguments) -> Written:
    """Add an entry to a list, unless it is known. Uncertain entries wait for confirmation."""
    ids: dict[str, Any] = await ids_of(call.user, given.binding_id, given.id)
    change = await call.user.append(
        given.binding_id,
        given.section,
        given.value,
        evidence=_evidence(given.evidence),
        confidence=given.confidence,
        **ids,
    )
    return _written(change)


@tool(TOOLS, title="Correct an entry", hints=CHANGES)
async def memory_correct(call: Call, given: CorrectArguments) -> Written:
    """Replace or remove one entry that has not changed since it was read."""
    ids: dict[str, Any] = await ids_of(call.user, given.binding_id, given.id)
    change = await call.user.update(
        given.binding_id,
        lambda content: correct_entry(content, given),
        evidence=_evidence(given.evidence),
        confidence=given.confidence,
        **ids,
    )
    return _written(change)


@tool(TOOLS, title="Confirm or reject", hints=CHANGES)
async def memory_resolve(call: Call, given: ResolveArguments) -> Written | types.InputRequiredResult:
    """Confirm or reject memory that waits, or answer its question. Its proposer is refused a confirmation."""
    item = await _item(call, given.pending_id)
    if call.can_ask and QUESTION not in call.answers:
        return _question(item)
    decision, choice = _answer(call, item) if call.can_ask else (given.decision, given.choice)
    if decision is None:
        raise Refused("DECISION_REQUIRED", "There is no decision. Nothing was changed.")
    if decision == "reject":
        return _written(await call.user.reject(item))
    take: Take = "existing" if decision == "existing" else "both" if decision == "both" else "proposed"
    chosen = None if take == "existing" else choice
    return _written(await call.user.confirm(item, evidence=_evidence(given.evidence), take=take, choice=chosen))


@tool(TOOLS, title="Submit a conversation", hints=ADDS)
async def memory_hand_in(call: Call, given: HandInArguments) -> Submitted:
    """Store a conversation encrypted. Memory is extracted from it later; memory_replay follows that."""
    messages = [
        {
            "message_id": message.message_id,
            "role": message.author,
            "content": message.content,
            "timestamp": message.timestamp,
        }
        for message in given.messages
    ]
    replay = await call.user.hand_in(given.conversation_id, messages)
    return Submitted(status="submitted", visible="after_replay", replay_id=replay.replay_id)


@tool(TOOLS, title="Consolidate memory", hints=CHANGES)
async def memory_consolidate(call: Call, given: ConsolidateArguments) -> Consolidated:
    """Let statements that say the same become one, which cites the sources of all. None is removed."""
    found = await call.user.consolidate(dry_run=given.dry_run)
    members = ConsolidatedDocument.model_fields
    documents = [
        ConsolidatedDocument(**{name: value for name, value in row.items() if name in members})
        for row in found["documents"]
    ]
    return Consolidated(dry_run=found["dry_run"], documents=documents)


def correct_entry(content: Any, given: CorrectArguments) -> None:
    """Replace or remove the entry in `content`. It may have moved within its list, and may have the new value.

    Raises Refused, MalformedRequest.
    """
    above, _, name = given.path.rpartition("/")
    place = at(content, above)
    if not isinstance(place, (list, dict)):
        raise Refused("MALFORMED_REQUEST", f"{above} has no entries.", details={"path": above})
    key: Any = _index(place, name, given.expected) if isinstance(place, list) else _member(place, name, given.expected)
    if key is not None:
        _check_single(place, given)
        if given.value is None:
            del place[key]
        else:
            place[key] = given.value
    elif not _has(place, name, given.value):
        raise Refused("PATCH_TEST_FAILED", "The entry has changed or is gone.", details={"path": given.path})


def _index(entries: list[Any], name: str, expected: Any) -> int | None:
    """Return the index of the expected entry, the one at `name` before others that are equal."""
    found = [index for index, entry in enumerate(entries) if _equal(entry, expected)]
    return int(name) if name.isdecimal() and int(name) in found else next(iter(found), None)


def _member(members: dict[str, Any], name: str, expected: Any) -> str | None:
    name = name.replace("~1", "/").replace("~0", "~")
    return name if name in members and _equal(members[name], expected) else None


def _has(place: Any, name: str, value: Any) -> bool:
    """Whether the new value is there, because an earlier call of the same arguments put it there."""
    if value is None:
        return False
    return (
        any(_equal(entry, value) for entry in place)
        if isinstance(place, list)
        else _member(place, name, value) is not None
    )


def _check_single(place: Any, given: CorrectArguments) -> None:
    """Refuse a list, and an object that is no entry of a list: both hold entries, and a call removes one at most."""
    if isinstance(given.expected, list) or (isinstance(given.expected, dict) and isinstance(place, dict)):
        raise Refused("ONE_ENTRY_ONLY", "The path names more than one entry.", details={"path": given.path})


def _equal(one: Any, other: Any) -> bool:
    return canonical(one) == canonical(other)


async def _item(call: Call, pending_id: str) -> PendingItem:
    async for item in call.user.pending():
        if item.pending_id == pending_id:
            return item
    raise Refused("PENDING_ITEM_NOT_FOUND", "Nothing waits under this id.", details={"pending_id": pending_id[:128]})


def _question(item: PendingItem) -> types.InputRequiredResult:
    """Return the question to the person; the host calls the tool again with the answer."""
    wanted: dict[str, Any] = {QUESTION: {"type": "string", "title": "Decision", "enum": _decisions(item)}}
    message = f"Is this true, to be remembered? {item.text}"
    if item.question is not None:
        proposed = [f"{number}: {text}" for number, text in enumerate(item.choices[1:], start=1)]
        message = f"{item.question} confirm takes {' or '.join(proposed)}; existing takes: {item.choices[0]}"
    if _is_several(item):
        wanted[CHOICE] = {"type": "integer", "title": "Which one", "minimum": 1, "maximum": len(item.choices) - 1}
    schema = {"type": "object", "properties": wanted, "required": [QUESTION]}
    params = types.ElicitRequestFormParams(message=message, requested_schema=schema)
    return types.InputRequiredResult(input_requests={QUESTION: types.ElicitRequest(params=params)})


def _is_several(item: PendingItem) -> bool:
    """Whether a question has more than one proposal, beside what is there."""
    return len(item.choices) > 2


def _decisions(item: PendingItem) -> list[str]:
    return DECISIONS if item.question is None else ANSWERS


def _answer(call: Call, item: PendingItem) -> tuple[str, int | None]:
    """Return the person's decision, and which proposal it takes. Raises Refused if there is none."""
    answer = call.answers[QUESTION]
    if isinstance(answer, types.ElicitResult) and answer.action == "accept":
        content = answer.content or {}
        decision, given = content.get(QUESTION), content.get(CHOICE)
        choice = given if isinstance(given, int) and not isinstance(given, bool) else None
        # Of several proposals, the person says which one: the first of them is no answer.
        is_open = decision in TAKING and _is_several(item) and choice is None
        if decision in _decisions(item) and not is_open:
            return str(decision), choice
    raise Refused("NOT_DECIDED", "The user made no decision. Nothing was changed.")


def _evidence(given: EvidenceArgument | None) -> dict[str, Any] | None:
    return given.model_dump() if given else None


def _written(change: Change) -> Written:
    if change.pending_ids:
        status = "waits_for_confirmation"
    else:
        status = "unchanged" if change.status == "unchanged" else "applied"
    return Written(
        status=status,  # type: ignore[arg-type]
        visible=change.visible,
        change_id=change.change_id,
        pending_ids=list(change.pending_ids),
    )
