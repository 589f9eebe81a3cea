"""A task is a replay: its id is the replay's, its context is the conversation."""

from collections.abc import Sequence

from a2a.types import Artifact, Message, Role, Task, TaskState, TaskStatus
from google.protobuf.timestamp_pb2 import Timestamp

from memnet_client.a2a.parts import data_part
from memnet_client.steps import Json
from memnet_client.values import PendingItem, ReplayState

STATES = {
    "queued": TaskState.TASK_STATE_SUBMITTED,
    "running": TaskState.TASK_STATE_WORKING,
    "succeeded": TaskState.TASK_STATE_COMPLETED,
    "partial": TaskState.TASK_STATE_COMPLETED,
    "failed": TaskState.TASK_STATE_FAILED,
    "retracted": TaskState.TASK_STATE_CANCELED,
}
WITHOUT_RESULT = ("failed", "retracted")


def open_conflicts(replay: ReplayState) -> list[str]:
    """Return the ids of the replay's conflicts that are not closed."""
    return [patch["conflict_id"] for patch in replay.patches if patch.get("conflict_status") == "open"]


def proposals_of(replay: ReplayState, pending: Sequence[PendingItem]) -> list[PendingItem]:
    """Return what the replay proposed and waits for confirmation."""
    uri = replay.raw.get("snapshot_uri")
    return [item for item in pending if uri in _sources(item)]


def _sources(item: PendingItem) -> list[Json]:
    """Return the conversations behind an item: of its proposal, and of those that joined its question."""
    proposals = [item.raw, *(item.raw.get("alternatives") or ())]
    evidence = [one.get("evidence") or {} for one in proposals]
    return [source.get("snapshot_uri") for one in evidence for source in (one, *(one.get("also") or ()))]


def task_of(replay: ReplayState, pending: Sequence[PendingItem] = ()) -> Task:
    """Return the task that shows a replay. `pending` is what waits for confirmation in the user's memory."""
    proposals, conflicts = proposals_of(replay, pending), open_conflicts(replay)
    needs_input = replay.ended and replay.status not in WITHOUT_RESULT and (proposals or conflicts)
    status = TaskStatus(state=TaskState.TASK_STATE_INPUT_REQUIRED if needs_input else STATES[replay.status])
    changed = replay.raw.get("updated_at")
    if changed:
        moment = Timestamp()
        moment.FromJsonString(changed)
        status.timestamp.CopyFrom(moment)
    context = str(replay.raw.get("conversation_id", ""))
    if needs_input:
        asked: Json = {"pending": [_asked(item) for item in proposals], "conflicts": conflicts}
        status.message.CopyFrom(
            Message(
                role=Role.ROLE_AGENT, message_id=f"{replay.replay_id}-input", context_id=context,
                task_id=replay.replay_id, parts=[data_part(asked)],
            )
        )  # fmt: skip
    task = Task(id=replay.replay_id, context_id=context, status=status)
    if replay.ended:
        task.artifacts.append(Artifact(artifact_id="patches", name="patches", parts=[data_part(replay.patches)]))
    return task


def _asked(item: PendingItem) -> Json:
    asked = {
        "pending_id": item.pending_id,
        "binding_id": item.binding_id,
        "text": item.text,
        "confidence": item.confidence,
        "proposed_by": item.proposed_by,
    }
    question = {"question": item.question, "choices": item.choices, "decides": item.decides}
    return asked | (question if item.question is not None else {})
