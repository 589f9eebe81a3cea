"""The host's and the app's logs as JSON lines on standard error."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime

from memnet import log_redaction


class JsonLines(logging.Formatter):
    """One object a line. An exception is logged by type and origin, because its text may hold memory."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line: time, level, logger, message, and the exception."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1]:
            frames = traceback.extract_tb(record.exc_info[1].__traceback__)
            line["exception"] = type(record.exc_info[1]).__name__
            line["where"] = " < ".join(f"{each.filename}:{each.lineno} {each.name}" for each in reversed(frames))
        return json.dumps(line, ensure_ascii=False, default=str)


def configure(level: str) -> None:
    """Send the host's and the app's records of `level` and above to standard error; of libraries, warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], force=True)
    log_redaction.install(level)
    # It reports a broken connection many times.
    logging.getLogger("azure.servicebus").setLevel(logging.CRITICAL)
