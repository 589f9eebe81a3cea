"""Keeps the texts of exceptions out of the logs: they may quote memory."""

import logging
import traceback
from typing import Any


def place_of(error: BaseException) -> str:
    """Name the type of an exception and the frame it came from, without its text."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"


def install() -> None:
    """Have every record made from here on name its exception by type and place alone.

    A record's factory, because the handlers and formatters of a Functions worker are Azure's. Again is fine.
    """
    make = logging.getLogRecordFactory()
    if getattr(make, "is_textless", False):
        return

    def textless(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        if record.exc_info and record.exc_info[1] is not None:
            record.msg = f"{record.getMessage()} error={place_of(record.exc_info[1])}"
            record.args, record.exc_info = (), None
        return record

    textless.is_textless = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(textless)
