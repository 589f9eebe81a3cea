"""Conversations as files: a JSON list of turns, split into sessions at long pauses."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from local.stack.process import ROOT

SHIPPED: Final = ROOT / "local" / "demo" / "conversations" / "maya.json"
GAP: Final = timedelta(hours=2)
"""A longer silence than this starts a new session."""
ROLES: Final = ("user", "assistant", "system", "tool")
LONGEST_NAME: Final = 128
LONGEST_HINT: Final = 4000


class ConversationError(Exception):
    """The file is not a conversation; the message says which turn and what about it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `number` counts from 1 over the whole conversation."""

    number: int
    message_id: str
    role: str
    speaker: str
    content: str
    timestamp: datetime
    service: str | None = None
    """The product that serves this turn, where the file says so."""


@dataclass(frozen=True, slots=True)
class Session:
    """Turns without a long silence between them."""

    number: int
    conversation_id: str
    turns: Sequence[Turn]

    @property
    def opening(self) -> str:
        """What the user says first, as a hint of bounded length; empty if the user says nothing."""
        return next((turn.content for turn in self.turns if turn.role == "user"), "")[:LONGEST_HINT]

    def service(self, default: str) -> str:
        """The product that serves this session."""
        return next((turn.service for turn in self.turns if turn.service), default)


def read_sessions(path: Path) -> Sequence[Session]:
    """Read a file of `{message_id?, role, content, timestamp}` turns; other members are allowed.

    `speaker` names who speaks, `service` the product that serves the session. Turns are put in the order of time.
    Raises ConversationError.
    """
    try:
        data: Any = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConversationError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConversationError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, list) or not data:
        raise ConversationError(f"{path} must hold a JSON list with at least one turn")
    turns = [_turn(number, value, f"{path}, turn {number}") for number, value in enumerate(data, 1)]
    sessions = split_sessions(sorted(turns, key=lambda turn: turn.timestamp), name=_name(path))
    for session in sessions:
        (message_id, times), *_ = Counter(turn.message_id for turn in session.turns).most_common(1)
        if times > 1:
            raise ConversationError(f"{path}: message_id {message_id!r} occurs {times} times in one session")
    return sessions


def split_sessions(turns: Sequence[Turn], *, name: str, gap: timedelta = GAP) -> Sequence[Session]:
    """Split turns, in order of time, where two of them are more than `gap` apart."""
    cut: list[list[Turn]] = []
    for turn in turns:
        if cut and turn.timestamp - cut[-1][-1].timestamp <= gap:
            cut[-1].append(turn)
        else:
            cut.append([turn])
    return [Session(number, f"{name}-{number}", part) for number, part in enumerate(cut, 1)]


def _turn(number: int, value: Any, where: str) -> Turn:
    if not isinstance(value, dict):
        raise ConversationError(f"{where}: must be an object with role, content and timestamp")
    role = _text(value, "role", where)
    if role not in ROLES:
        raise ConversationError(f"{where}: role must be one of {', '.join(ROLES)}, not {role!r}")
    return Turn(
        number=number,
        message_id=_short(value, "message_id", where) or f"turn-{number}",
        role=role,
        speaker=_short(value, "speaker", where) or role,
        content=_text(value, "content", where),
        timestamp=_time(_text(value, "timestamp", where), where),
        service=_short(value, "service", where),
    )


def _text(value: dict[str, Any], member: str, where: str) -> str:
    text = value.get(member)
    if not isinstance(text, str):
        raise ConversationError(f"{where}: {member} must be there and be a string")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConversationError(f"{where}: {member} holds half a surrogate pair") from error
    return text


def _short(value: dict[str, Any], member: str, where: str) -> str | None:
    if value.get(member) is None:
        return None
    text = _text(value, member, where)
    if not 1 <= len(text) <= LONGEST_NAME:
        raise ConversationError(f"{where}: {member} must have 1 to {LONGEST_NAME} characters")
    return text


def _time(text: str, where: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ConversationError(
            f"{where}: timestamp must be a time such as 2026-02-14T20:00:00Z, not {text!r}"
        ) from error


def _name(path: Path) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem)[:64].strip("-") or "conversation"
