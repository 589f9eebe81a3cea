"""Find the user of a dead letter of the broker or of the workers."""

import base64
from typing import Any

import orjson

from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.job import load, session_of
from memnet.domain.governance.erasure import Whose


def is_about(scope: Whose, body: bytes, session: str | None) -> bool:
    """Return whether a message is about exactly this user or tenant, by its job or, if unreadable, its session."""
    try:
        job = load(body)
    except MalformedRequest:
        return session == session_of(scope.tenant_id, scope.user_id)
    return (job.tenant_id, job.user_id) == (scope.tenant_id, scope.user_id)


def letter_is_about(scope: Whose, letter: bytes) -> bool:
    """Return whether a dead letter of the workers is about the user; False if it cannot be read."""
    try:
        members: Any = orjson.loads(letter)
        body = members.get("body")
        data = base64.b64decode(members.get("body_base64", "")) if body is None else body.encode()
        return is_about(scope, data, members.get("session_id"))
    except (ValueError, TypeError, AttributeError):
        return False
