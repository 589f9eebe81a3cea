"""What host.json says, as far as it concerns queues and timers."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class HostError(Exception):
    """The app cannot be run; the message says what to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """The settings, with the defaults of the Service Bus extension."""

    max_concurrent_sessions: int = 8
    max_concurrent_calls: int = 16
    max_auto_lock_renewal_seconds: float = 300.0
    session_idle_seconds: float = 60.0
    """How long a session is kept that has no message left."""
    auto_complete_messages: bool = True
    function_timeout_seconds: float | None = None
    """How long an invocation may take; None: for ever."""


def read_host_options(app: Path) -> HostOptions:
    """Read host.json of the app. Raises HostError, also for a Service Bus setting that this host would not obey."""
    try:
        file = json.loads((app / "host.json").read_text("utf-8"))
        bus = dict(file.get("extensions", {}).get("serviceBus", {}))
        if file["version"] != "2.0":
            raise HostError(f"host.json: version must be 2.0, not {file['version']!r}")
        values = {name: read(bus.pop(key)) for key, (name, read) in _SERVICE_BUS.items() if key in bus}
        if "functionTimeout" in file:
            values["function_timeout_seconds"] = _seconds(file["functionTimeout"])
    except OSError as error:
        raise HostError(f"{app / 'host.json'} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HostError(f"host.json is not understood: {type(error).__name__}: {error}") from error
    if bus:
        raise HostError(f"host.json: the local host does not know serviceBus.{', serviceBus.'.join(sorted(bus))}")
    return HostOptions(**values)


def _seconds(text: str) -> float:
    if not (match := re.fullmatch(r"(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2}(?:\.\d+)?)", text)):
        raise ValueError(f"{text!r} is not a time span like 00:05:00")
    days, hours, minutes, seconds = match.groups()
    return int(days or 0) * 86400 + int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def _count(value: object) -> int:
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{value!r} is not a number from 1")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is not true or false")
    return value


_SERVICE_BUS: Mapping[str, tuple[str, Any]] = {
    "maxConcurrentSessions": ("max_concurrent_sessions", _count),
    "maxConcurrentCalls": ("max_concurrent_calls", _count),
    "maxAutoLockRenewalDuration": ("max_auto_lock_renewal_seconds", _seconds),
    "sessionIdleTimeout": ("session_idle_seconds", _seconds),
    "autoCompleteMessages": ("auto_complete_messages", _flag),
}
