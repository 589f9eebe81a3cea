"""The requests of retractions."""

from memnet_client.identifiers import segment
from memnet_client.steps import Json, Request


def plan_retraction(root: str, *, body: Json, key: str) -> Request:
    """Plan to take a source back."""
    return Request("plan_retraction", "POST", f"{root}/retractions", {"Idempotency-Key": key}, body=body)


def retract_conversation(root: str, conversation_id: str, *, reason: str, dry_run: bool, key: str) -> Request:
    """Take a conversation back."""
    params = {"reason": reason} | ({"dry_run": "true"} if dry_run else {})
    place = f"{root}/conversations/{segment('conversation_id', conversation_id)}"
    return Request("retract_conversation", "DELETE", place, {"Idempotency-Key": key}, params=params)


def list_retractions(root: str, *, cursor: str | None) -> Request:
    """List the retractions of a user."""
    params = {} if cursor is None else {"cursor": cursor}
    return Request("list_retractions", "GET", f"{root}/retractions", params=params)


def get_retraction(root: str, retraction_id: str) -> Request:
    """Get a retraction."""
    return Request("get_retraction", "GET", _place(root, retraction_id))


def apply_retraction(root: str, retraction_id: str, *, etag: str) -> Request:
    """Apply a plan."""
    return Request("apply_retraction", "POST", f"{_place(root, retraction_id)}:apply", {"If-Match": etag})


def undo_retraction(root: str, retraction_id: str) -> Request:
    """Undo a retraction."""
    return Request("undo_retraction", "POST", f"{_place(root, retraction_id)}:undo")


def _place(root: str, retraction_id: str) -> str:
    return f"{root}/retractions/{segment('retraction_id', retraction_id)}"
