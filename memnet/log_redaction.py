"""Redact log records: no text of an exception, and no values that a library logs.

Records are redacted when they are created, so no handler, here or in Azure, gets more. Memory, keys and tokens pass
through libraries that quote them in errors, and in every call at debug level.
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

TRUSTED: Final = {"memnet": logging.DEBUG, "uvicorn": logging.INFO}
"""Loggers whose messages contain no memory, with the lowest level for which that is known."""
WITHHELD: Final = "(its text is withheld)"
ELIDED: Final = "…"
"""Replaces a value that must not be exported."""

_log = logging.getLogger("memnet.process")


class LogSafe(str):
    """A text that consists of names in the code only, so it may be exported."""

    __slots__ = ()


class RedactedRecord(logging.LogRecord):
    """A record without the texts of exceptions and, unless its logger is TRUSTED, without values.

    Records of other loggers keep their origin and their format string. A message without arguments may have been
    formatted before; it is withheld.
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
        """Accept the arguments that logging passes to every record."""
        super().__init__(name, level, pathname, lineno, msg, args, exc_info, func, sinfo, **more)
        if (name or "").partition(".")[0] not in TRUSTED:  # logging.makeLogRecord has no name yet
            text = msg if args and isinstance(msg, str) else WITHHELD
            self.msg, self.args = f"{self.filename}:{lineno} {text}", ()
        if self.exc_info and self.exc_info[1] is not None:
            self.exc_info = without_text(self.exc_info[1])


def exportable_message(record: logging.LogRecord) -> str:
    """Return the message of a RedactedRecord without the tenants, jobs and blobs that the line on stderr names.

    Numbers, members of enumerations, LogSafe texts and dataclasses of these are kept.
    """
    if not isinstance(record.msg, str):
        return WITHHELD
    values: Any = record.args
    if isinstance(values, Mapping):
        values = _Named((name, _exportable(value)) for name, value in values.items())
    elif values:
        values = tuple(_exportable(value) for value in values)
    else:
        return record.msg
    try:
        return str(record.msg % values)
    except (TypeError, ValueError):
        return record.msg


class _Named(dict[str, object]):
    """Values by name. Formatted as a whole it hides the names too, which may be anything."""

    def __repr__(self) -> str:
        return ELIDED


def _exportable(value: object) -> object:
    return value if _is_log_safe(value) else ELIDED


def _is_log_safe(value: object) -> bool:
    if value is None or isinstance(value, (int, float, Enum, LogSafe)):
        return True
    if not is_dataclass(value) or isinstance(value, type):
        return False
    return all(_is_log_safe(getattr(value, field.name)) for field in fields(value))


def where(error: BaseException) -> LogSafe:
    """Name the frames an exception went through, innermost first."""
    frames = traceback.extract_tb(error.__traceback__)
    return LogSafe(" < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames)))


def without_text(error: BaseException) -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """Return an exception with the type's name and the frames of `error`, without its text and its causes."""
    kind = type(error)
    namesake = type(kind.__name__, (Exception,), {"__module__": kind.__module__, "__qualname__": kind.__qualname__})
    redacted = namesake().with_traceback(error.__traceback__)
    return namesake, redacted, redacted.__traceback__


def install(level: str) -> None:
    """Redact every record of this process, and log those of `level` and above; of libraries, warnings and above.

    Uncaught exceptions and Python's warnings are logged instead of printed. Another call changes the level.
    """
    wanted = logging.getLevelNamesMapping()[level.upper()]
    logging.setLogRecordFactory(RedactedRecord)
    logging.getLogger().setLevel(max(wanted, logging.WARNING))
    for name, lowest in TRUSTED.items():
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
        _log.critical("uncaught_exception", exc_info=error)


def _uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        _log.error("uncaught_exception_in_thread", exc_info=args.exc_value)


def _unraisable(args: "sys.UnraisableHookArgs") -> None:
    if args.exc_value is not None:
        _log.error("unraisable_exception", exc_info=args.exc_value)
