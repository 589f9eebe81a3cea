"""Telemetry as Log Analytics keeps it: what Microsoft's exporter sends, row by row in AppMetrics and AppRequests."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

from memnet.ports import Telemetry
from memnet.wiring import open_telemetry
from tests.sample_settings import sample_settings
from tests.telemetry_receiver import TelemetryReceiver

TABLE, REQUESTS = "AppMetrics", "AppRequests"


class Recording:
    """The recorded telemetry; `rows` and `requests` are complete when it is closed."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []

    @property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """As a query finds them."""
        return {TABLE: self.rows, REQUESTS: self.requests}

    def names(self) -> set[str]:
        """The metrics that came."""
        return {row["Name"] for row in self.rows}

    def properties(self, name: str) -> set[str]:
        """The properties that a metric came with."""
        return {member for row in self.rows if row["Name"] == name for member in row["Properties"]}

    @asynccontextmanager
    async def of(self, part: str) -> AsyncIterator[Telemetry]:
        """Record one process of the service."""
        before = dict(os.environ)
        with TelemetryReceiver() as receiver:
            settings = sample_settings(
                telemetry="azure_monitor",
                telemetry_connection_string=receiver.connection_string,
            )
            try:
                async with open_telemetry(settings, part) as telemetry:
                    yield telemetry
            finally:
                os.environ.clear()
                os.environ.update(before)
        self.rows += [_row(each) for each in receiver.envelopes() if each["data"]["baseType"] == "MetricData"]
        self.requests += [_request(each) for each in receiver.envelopes() if each["data"]["baseType"] == "RequestData"]


def _row(envelope: dict[str, Any]) -> dict[str, Any]:
    data = envelope["data"]["baseData"]
    [point] = data["metrics"]
    return {
        "TimeGenerated": datetime.fromisoformat(envelope["time"]),
        "Name": point["name"],
        "Sum": float(point["value"]),
        "ItemCount": point["count"],
        "Min": point.get("min"),
        "Max": point.get("max"),
        "Properties": data["properties"],
        "AppRoleName": envelope["tags"]["ai.cloud.role"],
    }


def _request(envelope: dict[str, Any]) -> dict[str, Any]:
    data = envelope["data"]["baseData"]
    days, _, clock = data["duration"].partition(".")
    hours, minutes, seconds = clock.split(":")
    took = timedelta(days=int(days), hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    return {
        "TimeGenerated": datetime.fromisoformat(envelope["time"]),
        "Name": data["name"],
        "DurationMs": took / timedelta(milliseconds=1),
        "ItemCount": round(100 / envelope["sampleRate"]),
        "Success": data["success"],
        "ResultCode": data["responseCode"],
        "Properties": data["properties"],
        "AppRoleName": envelope["tags"]["ai.cloud.role"],
    }
