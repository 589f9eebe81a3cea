"""One JSON line per request and per log record: no content of memory."""

import hashlib
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson
from starlette.types import Scope

from memnet import log_redaction
from memnet.domain.core.timestamps import to_text

_requests = logging.getLogger("memnet.requests")


class JsonFormatter(logging.Formatter):
    """Log records as JSON lines. An exception is logged by type and origin, without its text."""

    trace_id: Callable[[], str | None] = staticmethod(lambda: None)
    """Returns the current trace id, or None."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line: time, level, logger, message, and the fields of a request's record."""
        line: dict[str, Any] = {
            "time": to_text(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (trace_id := self.trace_id()) is not None:
            line["trace_id"] = trace_id
        line.update(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[1]:
            line["exception"] = type(record.exc_info[1]).__name__
            line["where"] = log_redaction.where(record.exc_info[1])
        return orjson.dumps(line, default=str).decode()


def configure(level: str) -> None:
    """Send this service's records of `level` and above to stderr as JSON lines; of libraries, warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], force=True)
    log_redaction.install(level)


def attach_trace_ids(trace_id: Callable[[], str | None]) -> None:
    """Add the current trace id to every line that `configure` writes."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, JsonFormatter):
            handler.formatter.trace_id = trace_id


def log_request(scope: Scope, method: str | None, status: int | None, seconds: float) -> None:
    """Log one request. `method` is None if it could not be parsed, `status` if the client left before the response."""
    if not _requests.isEnabledFor(logging.INFO):
        return
    route = scope.get("route")
    parameters = scope.get("path_params") or {}
    fields = {
        "method": method,
        "route": getattr(route, "path", None),
        "operation": getattr(route, "operation_id", None),
        "status": status,
        "error": scope.get("memnet.error"),
        "ms": round(seconds * 1000, 2),
        "request_id": scope["memnet.request_id"],
        "principal": scope.get("memnet.principal"),
        "tenant": scope.get("memnet.tenant"),
        "user_hash": _user_hash(scope.get("memnet.tenant"), parameters.get("user_id")),
    }
    _requests.info("request", extra={"fields": fields})


def _user_hash(tenant: str | None, user: str | None) -> str | None:
    """Distinguish users in logs without naming them, for authorized requests only."""
    if tenant is None or user is None:
        return None
    return hashlib.sha256(f"{tenant}/{user}".encode()).hexdigest()[:16]
