"""Log records as OpenTelemetry's: with their trace, and with fewer fields than the lines on stderr.

The lines on stderr name the tenant and hash the user; exported records contain neither. Records of libraries were
redacted when they were created (memnet.log_redaction).
"""

import logging
from typing import Final

from opentelemetry._logs import Logger, LogRecord, SeverityNumber

from memnet.log_redaction import exportable_message, where

FIELDS: Final = ("operation", "method", "status", "error", "ms", "request_id")
"""The fields of a request's record that are exported."""
_OWN_THREADS: Final = "Otel"
"""Prefix of the SDK's threads: records about a delivery are not exported, or each would cause another one."""
_OWN_LOGGERS: Final = ("opentelemetry", "azure.monitor")
_SEVERITIES: Final = (
    (logging.CRITICAL, SeverityNumber.FATAL),
    (logging.ERROR, SeverityNumber.ERROR),
    (logging.WARNING, SeverityNumber.WARN),
    (logging.INFO, SeverityNumber.INFO),
)


class LogExport(logging.Handler):
    """Exports records; the levels of the loggers decide which."""

    def __init__(self, logger: Logger) -> None:
        """Use a logger of a provider that has an exporter."""
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        """Export a record under the current span."""
        if record.name.startswith(_OWN_LOGGERS) or (record.threadName or "").startswith(_OWN_THREADS):
            return
        at = int(record.created * 1e9)
        self._logger.emit(
            LogRecord(
                timestamp=at,
                observed_timestamp=at,
                severity_text=record.levelname,
                severity_number=next(
                    (severity for least, severity in _SEVERITIES if record.levelno >= least), SeverityNumber.DEBUG
                ),
                body=exportable_message(record),
                attributes=_attributes(record),
            )
        )


def _attributes(record: logging.LogRecord) -> dict[str, str | int | float]:
    fields = getattr(record, "fields", {})
    attributes = {name: fields[name] for name in FIELDS if fields.get(name) is not None}
    attributes["logger"] = record.name
    if record.exc_info and record.exc_info[1]:
        attributes["exception"] = type(record.exc_info[1]).__name__
        attributes["where"] = str(where(record.exc_info[1]))
    return attributes
