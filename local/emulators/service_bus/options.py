"""What can be set for a queue, read from a file in the format of Microsoft's own emulator (Config.json)."""

import re
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import orjson

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_MEMBERS = frozenset(
    {
        "DeadLetteringOnMessageExpiration",
        "DefaultMessageTimeToLive",
        "DuplicateDetectionHistoryTimeWindow",
        "ForwardDeadLetteredMessagesTo",
        "ForwardTo",
        "LockDuration",
        "MaxDeliveryCount",
        "RequiresDuplicateDetection",
        "RequiresSession",
    }
)
_EMPTY = frozenset({"ForwardDeadLetteredMessagesTo", "ForwardTo"})
"""Part of the format; the emulator does not forward."""


class ConfigError(Exception):
    """The file cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """One queue's settings; durations are in seconds."""

    lock_duration: float = 60.0
    max_deliveries: int = 10
    seconds_to_live: float = inf
    dead_letter_expired: bool = False
    duplicate_window: float = 0.0
    """0: no duplicate detection."""
    sessions: bool = False


def load(path: Path, *, lock_seconds: float | None = None) -> dict[str, QueueOptions]:
    """Read the queues of the first namespace; `lock_seconds` replaces all their lock durations. Raises ConfigError."""
    try:
        namespaces = orjson.loads(path.read_bytes())["UserConfig"]["Namespaces"]
        if len(namespaces) != 1 or namespaces[0].get("Topics"):
            raise ConfigError(f"{path}: there must be one namespace, without topics.")
        queues = {queue["Name"]: _options(queue.get("Properties") or {}) for queue in namespaces[0]["Queues"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path}: {type(error).__name__}: {error}") from error
    if lock_seconds is None:
        return queues
    return {name: replace(options, lock_duration=lock_seconds) for name, options in queues.items()}


def seconds(text: str) -> float:
    """Read an ISO 8601 duration of days, hours, minutes and seconds. Raises ValueError."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ValueError(f"not a duration: {text!r}")
    days, hours, minutes, rest = (float(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def _options(given: dict[str, Any]) -> QueueOptions:
    unknown = sorted(given.keys() - _MEMBERS) + sorted(name for name in _EMPTY & given.keys() if given[name])
    if unknown:
        raise ValueError(f"the emulator does not support {', '.join(unknown)}")
    window = seconds(given.get("DuplicateDetectionHistoryTimeWindow") or "PT10M")
    alive = given.get("DefaultMessageTimeToLive")
    return QueueOptions(
        lock_duration=seconds(given.get("LockDuration") or "PT1M"),
        max_deliveries=int(given.get("MaxDeliveryCount") or 10),
        seconds_to_live=seconds(alive) if alive else inf,
        dead_letter_expired=bool(given.get("DeadLetteringOnMessageExpiration")),
        duplicate_window=window if given.get("RequiresDuplicateDetection") else 0.0,
        sessions=bool(given.get("RequiresSession")),
    )
