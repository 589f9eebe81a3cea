"""The telemetry of requests: by operation and status, of writes by outcome and binding, without identifiers."""

import json
from collections.abc import Mapping
from time import monotonic
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from api.app import create_app
from api.identity import TokenValidator
from memnet.adapters.memory.telemetry import MemorySpan, MemoryTelemetry
from memnet.catalog import Catalog
from memnet.domain.core.access import ROLES
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.metric import LABELS
from memnet.service import Service
from memnet.settings import Settings
from memnet.wiring import in_memory
from tests.api.conftest import DYNAMIC, USER, Token, bearer, changing, creating, patch_body

WRITES = "memnet.write.count"
PROFILE, BINDING = "project-copilot-v1", "user_dynamic"
CANARY = "canary-of-nobody"


@pytest.fixture
def telemetry() -> MemoryTelemetry:
    return MemoryTelemetry()


@pytest.fixture
def services(settings: Settings, catalog: Catalog, telemetry: MemoryTelemetry) -> Service:
    return in_memory(settings, catalog, telemetry=telemetry)


def labels_of(telemetry: MemoryTelemetry, metric: str) -> list[Mapping[str, str]]:
    """The labels of a metric's values since this was last asked."""
    return [labels for _, labels in telemetry.values.pop(metric, [])]


def outcomes(telemetry: MemoryTelemetry) -> list[tuple[str, ...]]:
    return [tuple(labels.values()) for labels in labels_of(telemetry, WRITES)]


def last_span(telemetry: MemoryTelemetry) -> MemorySpan:
    return telemetry.spans[-1]


async def test_every_request_is_recorded_by_operation_and_status(
    client: httpx.AsyncClient, telemetry: MemoryTelemetry, etag: str
) -> None:
    labels_of(telemetry, "memnet.request.duration")
    for method, path in (("GET", DYNAMIC), ("HEAD", DYNAMIC), ("GET", f"{USER}/documents"), ("GET", "/nowhere/at/all")):
        await client.request(method, path)
    await client.get(DYNAMIC, headers={"If-None-Match": etag})
    assert [tuple(labels.values()) for labels in labels_of(telemetry, "memnet.request.duration")] == [
        ("get_document", "200"),
        ("get_document", "200"),
        ("list_documents", "200"),
        ("other", "404"),
        ("get_document", "304"),
    ]


async def test_health_checks_are_recorded_apart_from_unrouted_requests(
    app: FastAPI, client: httpx.AsyncClient, telemetry: MemoryTelemetry
) -> None:
    began = monotonic()
    for path in ("/health/live", "/health/ready", "/nowhere"):
        await client.get(path)
    app.state.concurrency_limit.draining = True
    await client.get("/health/ready")
    measured = [seconds for seconds, _ in telemetry.values["memnet.request.duration"]]
    assert max(measured) <= monotonic() - began
    assert min(measured) > 0
    assert [tuple(labels.values()) for labels in labels_of(telemetry, "memnet.request.duration")] == [
        ("health", "200"),
        ("health", "200"),
        ("other", "404"),
        ("health", "503"),
    ]
    assert [span.name for span in telemetry.spans] == ["other"]


async def test_a_write_is_recorded_by_its_outcome(
    client: httpx.AsyncClient, telemetry: MemoryTelemetry, etag: str
) -> None:
    assert outcomes(telemetry) == [("patch_document", "applied", PROFILE, BINDING)]
    denied = patch_body({"op": "add", "path": "/content/preferences/-", "value": {"password": "x"}})
    broken = patch_body({"op": "add", "path": "/content/preferences/-", "value": 7})
    for body, headers, query in (
        (patch_body(), creating(), ""),
        (patch_body(reason="live_update", confidence=0.9), creating(), ""),
        (patch_body(), changing('"stale"', "a"), ""),
        (patch_body(), changing(etag, "b"), "?dry_run=true"),
        (denied, changing(etag, "c"), ""),
        (broken, changing(etag, "d"), ""),
        (patch_body(), creating("e"), ""),
    ):
        await client.patch(f"{DYNAMIC}{query}", json=body, headers=headers)
    assert [outcome for _, outcome, _, _ in outcomes(telemetry)] == [
        "replayed",
        "IDEMPOTENCY_KEY_REUSED",
        "ETAG_MISMATCH",
        "dry_run",
        "FIELD_DENIED",
        "SCHEMA_VIOLATION",
        "DOCUMENT_EXISTS",
    ]


async def test_a_refused_write_names_no_profile_or_binding_that_a_client_made_up(
    client: httpx.AsyncClient, telemetry: MemoryTelemetry
) -> None:
    await client.patch(DYNAMIC, json=patch_body(), headers={"Authorization": "Bearer x", **creating()})
    await client.patch(DYNAMIC, content=b"{", headers={**creating(), "Content-Type": "application/json"})
    await client.patch(DYNAMIC, json=patch_body(profile_id=CANARY), headers=creating())
    await client.patch(DYNAMIC, json=patch_body(binding_id=CANARY), headers=creating())
    assert outcomes(telemetry) == [
        ("patch_document", "UNAUTHENTICATED", "none", "none"),
        ("patch_document", "MALFORMED_REQUEST", "none", "none"),
        ("patch_document", "PROFILE_NOT_FOUND", "unknown", "unknown"),
        ("patch_document", "BINDING_NOT_FOUND", PROFILE, "unknown"),
    ]


async def test_put_and_delete_are_writes_too(client: httpx.AsyncClient, telemetry: MemoryTelemetry, etag: str) -> None:
    outcomes(telemetry)
    document = (await client.get(DYNAMIC)).json()["document"]
    named = {name: document[name] for name in ("schema_id", "schema_version", "content")}
    body = {"profile_id": PROFILE, "binding_id": BINDING, "document": named, "reason": "x"}
    put = await client.put(DYNAMIC, json=body, headers=changing(etag, "put"))
    await client.delete(DYNAMIC, headers=changing(put.headers["ETag"], "delete"))
    assert outcomes(telemetry) == [
        ("replace_document", "applied", PROFILE, BINDING),
        ("delete_document", "applied", "none", "none"),
    ]


async def test_a_write_records_how_full_its_document_is(
    client: httpx.AsyncClient, telemetry: MemoryTelemetry, etag: str, catalog: Catalog
) -> None:
    content = (await client.get(DYNAMIC)).json()["document"]["content"]
    [(ratio, labels)] = telemetry.values["memnet.document.size_ratio"]
    binding = catalog.profiles[PROFILE].binding(BINDING)
    assert binding is not None
    characters = len(json.dumps(content, separators=(",", ":"), ensure_ascii=False))
    assert ratio == characters / binding.max_chars
    assert labels == {"profile_id": PROFILE, "binding_id": BINDING}
    await client.patch(DYNAMIC, json=patch_body(), headers=changing('"stale"', "k"))
    await client.patch(f"{DYNAMIC}?dry_run=true", json=patch_body(), headers=changing(etag, "k"))
    assert len(telemetry.values["memnet.document.size_ratio"]) == 1


async def test_a_search_is_recorded_with_its_time_and_its_hits_or_its_code(
    client: httpx.AsyncClient, telemetry: MemoryTelemetry, services: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise Unavailable(dependency="search")

    event = {"event_id": "e1", "service_id": "s", "timestamp": "2026-02-14T20:00:00Z", "source_type": "chat"}
    await client.post(f"{USER}/events", json={**event, "digest": "tea"})
    for query in ("tea", "nothing-of-that"):
        assert (await client.post(f"{USER}/events:search", json={"query": query})).status_code == 200
    monkeypatch.setattr(services.search.index, "search", fail)
    await client.post(f"{USER}/events:search", json={"query": "tea"})
    outcomes = [labels["outcome"] for labels in labels_of(telemetry, "memnet.search.duration")]
    assert outcomes == ["found", "empty", "UNAVAILABLE"]
    assert telemetry.values["memnet.search.results"] == [(1, {"outcome": "found"}), (0, {"outcome": "empty"})]


async def test_a_span_has_its_operation_s_name_and_says_how_it_ended(
    client: httpx.AsyncClient, telemetry: MemoryTelemetry, etag: str
) -> None:
    await client.patch(DYNAMIC, json=patch_body(), headers={**changing('"stale"', "k"), "X-Request-Id": "r-1"})
    span = last_span(telemetry)
    assert (span.name, span.kind, span.failed) == ("patch_document", "server", False)
    assert span.facts == {"method": "PATCH", "request_id": "r-1", "error": "ETAG_MISMATCH", "status": 412}


async def test_a_span_continues_the_trace_of_the_caller(client: httpx.AsyncClient, telemetry: MemoryTelemetry) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await client.get(DYNAMIC, headers={"traceparent": parent})
    assert last_span(telemetry).parent == parent
    await client.get(DYNAMIC)
    assert last_span(telemetry).parent is None


async def test_a_defect_is_a_failure_with_type_and_place_and_no_text(
    client: httpx.AsyncClient, telemetry: MemoryTelemetry, services: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise KeyError(CANARY)

    monkeypatch.setattr(services.documents, "get", fail)
    assert (await client.get(DYNAMIC)).status_code == 500
    span = last_span(telemetry)
    assert (span.failed, span.facts["error"], span.facts["status"]) == (True, "INTERNAL", 500)
    assert str(span.facts["place"]).startswith("KeyError at ")
    assert CANARY not in str(span.facts)


async def test_a_client_that_left_is_recorded_as_abandoned(
    services: Service, validator: TokenValidator, token: Token, telemetry: MemoryTelemetry
) -> None:
    app = create_app(services, validator)
    headers = [(b"authorization", f"Bearer {token()}".encode()), (b"content-type", b"application/json")]
    headers += [(name.lower().encode(), value.encode()) for name, value in creating().items()]
    scope = {"type": "http", "method": "PATCH", "path": DYNAMIC, "raw_path": DYNAMIC.encode(), "query_string": b""}

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(_: Any) -> None:
        raise AssertionError("no caller")

    await app({**scope, "headers": headers}, receive, send)
    assert labels_of(telemetry, "memnet.request.duration") == [{"operation": "patch_document", "status": "abandoned"}]
    assert outcomes(telemetry) == []
    assert "status" not in last_span(telemetry).facts


async def test_no_value_names_a_user_or_a_tenant_or_what_is_remembered(
    client: httpx.AsyncClient, telemetry: MemoryTelemetry, token: Token
) -> None:
    user = f"/v1/tenants/{CANARY}-tenant/users/{CANARY}-user"
    client.headers.update(bearer(token(tid=f"{CANARY}-tenant", oid=f"{CANARY}-principal")))
    op = {"op": "add", "path": "/content/preferences/-", "value": CANARY}
    path = f"{user}/documents/user/user_dynamic.json"
    assert (await client.patch(path, json=patch_body(op), headers=creating(CANARY))).status_code == 201
    await client.get(f"{user}/documents/{CANARY}/{CANARY}.json?{CANARY}={CANARY}")
    await client.post(f"{user}/events:search", json={"query": CANARY})
    await client.request(CANARY.upper(), f"/{CANARY}")
    assert CANARY not in str(telemetry.values) + str(telemetry.spans)
    assert CANARY.upper() not in str(telemetry.values) + str(telemetry.spans)
    labels = {name for values in telemetry.values.values() for _, labels in values for name in labels}
    assert labels <= set(LABELS)
    assert {span.name for span in telemetry.spans} <= {*ROLES, "other"}
