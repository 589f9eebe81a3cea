"""Log records as OpenTelemetry's: with their trace, and with fewer fields than the lines on stderr.

The lines there name the tenant and hash the user; here is no more than what anybody may know who reads telemetry. What
libraries say was cut already when their records were made (memnet.log_redaction).
"""

import logging
from typing import Final

from opentelemetry._logs import Logger, LogRecord, SeverityNumber

from memnet.log_redaction import told_abroad, where

FIELDS: Final = ("operation", "method", "status", "error", "ms", "request_id")
"""The fields of a request's record that are exported."""
_OWN_THREADS: Final = "Otel"
"""How the names of the SDK's threads begin: what is said about a delivery would have to be delivered, and so on."""
_OWN_LOGGERS: Final = ("opentelemetry", "azure.monitor")
_SEVERITIES: Final = (
    (logging.CRITICAL, SeverityNumber.FATAL),
    (logging.ERROR, SeverityNumber.ERROR),
    (logging.WARNING, SeverityNumber.WARN),
    (logging.INFO, SeverityNumber.INFO),
)


class LogExport(logging.Handler):
    """Hands records on; which ones there are at all, the loggers' levels decide."""

    def __init__(self, logger: Logger) -> None:
        """Use a logger of a provider that has an exporter."""
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        """Hand one on, under the span that is under way."""
        if record.name.startswith(_OWN_LOGGERS) or (record.threadName or "").startswith(_OWN_THREADS):
            return
        at = int(record.created * 1e9)
        self._logger.emit(
            LogRecord(
                timestamp=at,
                observed_timestamp=at,
                severity_text=record.levelname,
                severity_number=_severity(record.levelno),
                body=told_abroad(record),
                attributes=_attributes(record),
            )
        )


def _attributes(record: logging.LogRecord) -> dict[str, str | int | float]:
    fields = getattr(record, "fields", {})
    told = {name: fields[name] for name in FIELDS if fields.get(name) is not None}
    told["logger"] = record.name
    if record.exc_info and record.exc_info[1]:
        told["exception"] = type(record.exc_info[1]).__name__
        told["where"] = str(where(record.exc_info[1]))
    return told


def _severity(level: int) -> SeverityNumber:
    return next((severity for least, severity in _SEVERITIES if level >= least), SeverityNumber.DEBUG)
