"""What may stand in a log record: of an exception no text, and of what a library says no values.

A record is cut when it is made, so that whatever handles it, here or in Azure, never gets more. Memory, keys and tokens
pass through libraries that quote them when something fails, and at debug level whenever they are called.
"""

import logging
import sys
import threading
import traceback
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import TracebackType
from typing import Any, Final

SPEAKING: Final = {"memnet": logging.DEBUG, "uvicorn": logging.INFO}
"""Loggers whose texts are known to hold no memory, with the level from which on they are."""
WITHHELD: Final = "(its text is withheld)"
ELIDED: Final = "…"
"""Stands for a value that stays where the logs are kept."""

_log = logging.getLogger("memnet.process")


class LogSafe(str):
    """A text of nothing but names that stand in the code: it may be told anywhere."""

    __slots__ = ()


class RedactedRecord(logging.LogRecord):
    """A record without the texts of exceptions and, unless its logger is one of SPEAKING, without values.

    Of what others say, the place is told and the text as it stands in their code, before values were put into it. A
    text that came without values may have been put together before; it is withheld.
    """

    def __init__(
        self,
        name: str,
        level: int,
        pathname: str,
        lineno: int,
        msg: object,
        args: Any,
        exc_info: Any,
        func: str | None = None,
        sinfo: str | None = None,
        **more: Any,
    ) -> None:
        """Take what logging gives to every record."""
        super().__init__(name, level, pathname, lineno, msg, args, exc_info, func, sinfo, **more)
        if not is_speaking(name or ""):  # logging.makeLogRecord has no name yet
            text = msg if args and isinstance(msg, str) else WITHHELD
            self.msg, self.args = f"{self.filename}:{lineno} {text}", ()
        if self.exc_info and self.exc_info[1] is not None:
            self.exc_info = without_text(self.exc_info[1])


def told_abroad(record: logging.LogRecord) -> str:
    """Return the message of a RedactedRecord as it may leave the place where the logs are kept.

    The lines there name tenants, jobs and blobs. Of its values this tells numbers, members of enumerations, LogSafe,
    and records made of them.
    """
    if not isinstance(record.msg, str):
        return WITHHELD
    told: Any = record.args
    if isinstance(told, Mapping):
        told = _Named((name, _abroad(value)) for name, value in told.items())
    elif told:
        told = tuple(_abroad(value) for value in told)
    else:
        return record.msg
    try:
        return str(record.msg % told)
    except (TypeError, ValueError):
        return record.msg


class _Named(dict[str, object]):
    """Values by name; shown as a whole it tells not even the names, which may be anything."""

    def __repr__(self) -> str:
        return ELIDED


def _abroad(value: object) -> object:
    return value if _is_closed(value) else ELIDED


def _is_closed(value: object) -> bool:
    if value is None or isinstance(value, (int, float, Enum, LogSafe)):
        return True
    if not is_dataclass(value) or isinstance(value, type):
        return False
    return all(_is_closed(getattr(value, field.name)) for field in fields(value))


def where(error: BaseException) -> LogSafe:
    """Name the frames an exception went through, innermost first."""
    frames = traceback.extract_tb(error.__traceback__)
    return LogSafe(" < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames)))


def is_speaking(name: str) -> bool:
    """Whether the texts of this logger may be told."""
    return name.partition(".")[0] in SPEAKING


def without_text(error: BaseException) -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """Return what stands for `error` in a record: its type's name and its frames, without its text and its causes."""
    told = _namesake(type(error))().with_traceback(error.__traceback__)
    return type(told), told, told.__traceback__


def _namesake(kind: type[BaseException]) -> type[BaseException]:
    return type(kind.__name__, (Exception,), {"__module__": kind.__module__, "__qualname__": kind.__qualname__})


def install(level: str) -> None:
    """Hold every record of this process to it, and let those of `level` and above pass; of libraries, warnings.

    What would be printed past the logs, exceptions that nobody caught and Python's own warnings, goes there, too.
    Called again it changes the level.
    """
    wanted = logging.getLevelNamesMapping()[level.upper()]
    logging.setLogRecordFactory(RedactedRecord)
    logging.getLogger().setLevel(max(wanted, logging.WARNING))
    for name, lowest in SPEAKING.items():
        logging.getLogger(name).setLevel(max(wanted, lowest))
    logging.captureWarnings(True)
    # A record that cannot be written would be printed with its values instead.
    logging.raiseExceptions = False
    sys.excepthook = _uncaught
    sys.unraisablehook = _unraisable
    threading.excepthook = _uncaught_in_thread


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        _log.critical("nobody caught it", exc_info=error)


def _uncaught_in_thread(told: threading.ExceptHookArgs) -> None:
    if told.exc_value is not None and not isinstance(told.exc_value, SystemExit):
        _log.error("nobody caught it in a thread", exc_info=told.exc_value)


def _unraisable(told: "sys.UnraisableHookArgs") -> None:
    if told.exc_value is not None:
        _log.error("it could not be raised", exc_info=told.exc_value)
