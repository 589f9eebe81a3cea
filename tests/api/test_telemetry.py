"""The log lines: caller and operation, and no memory."""

import json
import logging
import sys

import httpx
import pytest
from opentelemetry import _logs, metrics, trace

from api.telemetry import JsonFormatter
from tests.api.conftest import DYNAMIC, changing, patch_body


def last_fields(caplog: pytest.LogCaptureFixture) -> dict[str, object]:
    lines = [record for record in caplog.records if record.name == "memnet.requests"]
    return json.loads(JsonFormatter().format(lines[-1]))  # type: ignore[no-any-return]


async def test_a_request_is_logged_by_route_caller_and_outcome(
    client: httpx.AsyncClient, etag: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        await client.patch(DYNAMIC, json=patch_body(), headers=changing('"stale"', "k"))
    fields = last_fields(caplog)
    assert fields["operation"] == "patch_document"
    assert fields["status"] == 412
    assert fields["error"] == "ETAG_MISMATCH"
    assert fields["principal"] == "svc-a"
    assert fields["tenant"] == "t1"
    assert len(str(fields["user_hash"])) == 16
    assert "concise" not in json.dumps(fields)
    assert "u1" not in json.dumps(fields)


async def test_users_are_distinguished_by_tenant_and_id(
    client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    hashes = []
    with caplog.at_level(logging.INFO):
        for user in ("u1", "u2", "u1"):
            await client.get(f"/v1/tenants/t1/users/{user}/documents")
            hashes.append(last_fields(caplog)["user_hash"])
    assert hashes[0] == hashes[2] != hashes[1]


def test_an_exception_is_logged_without_its_text() -> None:
    try:
        raise ValueError("Jane prefers tea")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "it failed: %s", ("name",), sys.exc_info())
    line = JsonFormatter().format(record)
    fields = json.loads(line)
    assert fields["message"] == "it failed: name"
    assert fields["exception"] == "ValueError"
    assert "test_telemetry.py" in fields["where"]
    assert "tea" not in line
    assert "\n" not in line


async def test_the_frameworks_own_telemetry_is_off(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> None:
        raise AssertionError("FastAPI looked for a telemetry provider")

    for module, name in (
        (trace, "get_tracer_provider"),
        (metrics, "get_meter_provider"),
        (_logs, "get_logger_provider"),
    ):
        monkeypatch.setattr(module, name, asked)
    assert (await client.get("/health/live")).status_code == 200
