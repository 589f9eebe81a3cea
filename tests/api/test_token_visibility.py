"""What a token sees, for every operation and every parameter that the OpenAPI lists: a new route is covered at once.

Values are planted in everything that is stored. `Memory.Write` alone sees none of them, in no answer and in no error;
`Memory.Read` alone sees none that is no longer there.
"""

from itertools import combinations_with_replacement, product
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from memnet.operations.replay.proposals import create_conflict
from memnet.service import Service
from tests.api.conftest import DYNAMIC, USER, Token, bearer, changing, creating, patch_body
from tests.api.every_route import VALUES
from tests.api.test_conflicts import ALPHA, write
from tests.api.test_replays import stored, work
from tests.domain.replay_samples import BASE, details, proposal
from tests.operations.replay_scenario import MESSAGES

CURRENT = ["canary-preference", "canary-event", "canary-summary", "canary-facet", "canary-fact", "canary-proposed"]
GONE = ["canary-removed", "canary-deleted", "canary-earlier"]
SAID = [text for _, _, text in MESSAGES]
DOCUMENTS = ["user/user_dynamic.json", "projects/alpha.json", "projects/beta.json"]
HEADERS = ("If-Match", "If-None-Match", "Idempotency-Key")

Sent = tuple[str, str, dict[str, Any]]
Stores = list[tuple[dict[Any, Any], dict[Any, Any]]]


def preference(text: str, place: str = "-") -> dict[str, Any]:
    return {"op": "add", "path": f"/content/preferences/{place}", "value": text}


@pytest.fixture
async def planted(client: httpx.AsyncClient, services: Service) -> dict[str, list[str]]:
    """Values in every store; returns by parameter what names them."""

    async def patched(etag: str, key: str, *ops: dict[str, Any], **members: Any) -> str:
        answer = await client.patch(DYNAMIC, json=patch_body(*ops, **members), headers=changing(etag, key))
        assert answer.status_code == 200, answer.text
        return str(answer.headers["ETag"])

    first = await client.patch(DYNAMIC, json=patch_body(preference("canary-removed")), headers=creating("used"))
    etag = await patched(first.headers["ETag"], "k2", preference("canary-preference", "0"))
    etag = await patched(etag, "k3", {"op": "remove", "path": "/content/preferences/1"})
    fact = {"id": "f1", "text": "canary-fact", "confidence": 0.9, "evidence": {"conversation_id": "c_1"}}
    fact |= {"last_verified_at": "2026-02-14T20:00:00Z"}
    etag = await patched(etag, "k4", {"op": "add", "path": "/content/durable_facts/-", "value": fact}, confidence=0.9)
    less = {**fact, "id": "f2", "text": "canary-proposed"}
    etag = await patched(etag, "k5", {"op": "add", "path": "/content/durable_facts/-", "value": less}, confidence=0.1)
    earlier = await write(client, {**BASE, "summary": "canary-earlier"}, creating("p1"))
    proposed = proposal(base_etag=earlier)
    await create_conflict(proposed, details(), services, rebases=1)
    now = {**BASE, "summary": "canary-summary", "facets": {"canary-facet": "x"}}
    alpha = await write(client, now, changing(earlier, "p2"))
    gone = ALPHA.replace("alpha", "beta")
    document = {"schema_id": "memory.project", "schema_version": "1.0.0", "content": {**BASE, "summary": GONE[1]}}
    body = {"profile_id": "project-copilot-v1", "binding_id": "project_doc", "document": document}
    answer = await client.put(gone, json=body, headers=creating("b1"))
    assert (await client.delete(gone, headers=changing(answer.headers["ETag"], "b2"))).status_code == 200
    event = {"event_id": "e-1", "timestamp": "2026-02-14T20:00:00Z", "service_id": "s", "source_type": "note"}
    answer = await client.post(f"{USER}/events", json={**event, "digest": "canary-event", "keywords": ["x"]})
    assert answer.status_code == 201, answer.text
    await work(services, location := await stored(client))
    await services.background.drain()  # type: ignore[attr-defined]
    now_read = await client.get(DYNAMIC)
    etag, content = now_read.headers["ETag"], now_read.json()["document"]["content"]
    records = (await client.get(f"{USER}/audit?limit=1000")).json()["records"]
    times = [first.json()["change_id"], *(record["change_id"] for record in records), records[1]["timestamp"]]
    return {
        "tenant_id": ["t1"],
        "user_id": ["u1"],
        "replay_id": [location.rpartition("/")[2]],
        "conflict_id": ["cfl-rpl-1-1"],
        "pending_id": [item["id"] for item in content["pending_confirmations"]],
        "as_of": times,
        "If-Match": [etag, alpha, '"2-0000000000000000"', "*", ""],
        "If-None-Match": ["*", etag],
        "Idempotency-Key": ["fresh", "used"],
        "limit": ["1", "1000"],
        "cursor": ["x"],
        "reason": ["asked"],
    }


def values_of(parameter: dict[str, Any], planted: dict[str, list[str]]) -> list[str]:
    """What is sent for a parameter."""
    name, schema = parameter["name"], parameter["schema"]
    found = planted.get(name) or [str(value) for value in schema.get("enum", ())]
    return found or (["true", "false"] if schema.get("type") == "boolean" else [VALUES.get(name, "user")])


def variations(
    parameters: list[dict[str, Any]], base: dict[str, str], planted: dict[str, list[str]]
) -> list[dict[str, str]]:
    """`base` as it is, without each of its parameters, and with every value of any two parameters."""
    found = [base, *({name: base[name] for name in base if name != one} for one in base)]
    rows = [[(one["name"], value) for value in values_of(one, planted)] for one in parameters if one["in"] != "path"]
    for first, second in combinations_with_replacement(rows, 2):
        found += [base | dict(pair) for pair in product(first, second)]
    return [dict(given) for given in {tuple(sorted(one.items())) for one in found}]


def patches() -> list[Any]:
    """Patches that apply, that read, and that are refused because of what is stored."""
    found: list[Any] = [[], [{"op": "add"}], [preference("x" * 20_000)], [preference("canary-preference")]]
    for place in ("preferences", "preferences/0", "durable_facts", "pending_confirmations/0", "facets", "none"):
        at = f"/content/{place}"
        found += [[{"op": "remove", "path": at}], [{"op": "add", "path": at, "value": 7}]]
        found += [[{"op": "replace", "path": at, "value": [{"x": 1}] * 3}]]
        found += [[{"op": verb, "path": "/content/preferences/-", "from": at}] for verb in ("move", "copy")]
        found += [[{"op": "test", "path": at, "value": "canary-preference"}]]
    bodies = [{**patch_body(confidence=0.1), "ops": ops} for ops in found]
    return [*bodies, *({**body, "binding_id": "project_doc"} for body in bodies)]


def requests(app: FastAPI, planted: dict[str, list[str]]) -> list[Sent]:
    """Every operation with every parameter, alone and with each other one; the bodies with a few of them."""
    found: list[Sent] = []
    for path, methods in app.openapi()["paths"].items():
        for method, operation in methods.items() if path.startswith("/v1/") else ():
            parameters = operation.get("parameters", [])
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            bodies = [example["value"] for example in content.get("examples", {}).values()] or [None]
            more = patches() if operation["operationId"] == "patch_document" else [{}]
            named = {one["name"]: values_of(one, planted)[0] for one in parameters if one["in"] == "path"}
            is_document = "{namespace}" in path
            for document, etag in zip(DOCUMENTS, planted["If-Match"], strict=False) if is_document else [("", "")]:
                named |= dict(zip(("namespace", "path"), document.split("/"), strict=False))
                place = path.format(**named)
                base = {"If-Match": etag, "Idempotency-Key": "fresh"} if is_document and method != "get" else {}
                some = variations(parameters, base, planted)
                dry = [{**base, "dry_run": "true"}, base] if is_document else [base]
                pairs = [*product(some, bodies), *product(dry, more if method != "get" else [])]
                for given, body in pairs:
                    query = {name: given[name] for name in given if name not in HEADERS}
                    headers = {name: given[name] for name in given if name in HEADERS}
                    found.append((method.upper(), place, {"params": query, "headers": headers, "json": body}))
    return found


def stores(services: Service) -> Stores:
    """The dicts of the memory adapters, each with a copy."""
    found: Stores = []
    waiting: list[Any] = [services]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        names = [*getattr(one, "__dict__", ()), *getattr(type(one), "__slots__", ())]
        for value in (getattr(one, name) for name in names):
            if id(value) in seen or "memnet." not in getattr(type(value), "__module__", "") + "memnet." * (
                type(value) is dict
            ):
                continue
            seen.add(id(value))
            if isinstance(value, dict):
                found.append((value, dict(value)))
            else:
                waiting.append(value)
    return found


async def answers(
    anonymous: httpx.AsyncClient, services: Service, sent: list[Sent], token: str
) -> list[tuple[str, httpx.Response]]:
    """Send each request to the stores as they were planted."""
    before, found = stores(services), list[tuple[str, httpx.Response]]()
    for method, place, options in sent:
        headers = {**options["headers"], **bearer(token)}
        answer = await anonymous.request(method, place, **{**options, "headers": headers})
        found.append((f"{method} {place} {options}", answer))
        if answer.is_success and method != "GET":
            await services.background.drain()  # type: ignore[attr-defined]
            for live, copy in before:
                live.clear()
                live.update(copy)
    return found


@pytest.mark.parametrize(
    ("role", "hidden", "reached"),
    [
        ("Memory.Write", CURRENT + GONE + SAID, {200, 201, 400, 403, 404, 409, 412, 422, 428}),
        ("Memory.Read", GONE + SAID, {200, 304, 400, 403, 404}),
    ],
)
async def test_no_response_shows_data_that_the_role_may_not_read(
    anonymous: httpx.AsyncClient,
    app: FastAPI,
    services: Service,
    token: Token,
    planted: dict[str, list[str]],
    role: str,
    hidden: list[str],
    reached: set[int],
) -> None:
    sent = requests(app, planted)
    found = await answers(anonymous, services, sent, token(role, oid="svc-other"))
    assert {answer.status_code for _, answer in found} >= reached
    shown = [
        (request, text) for request, answer in found for text in hidden if text in answer.text + str(answer.headers)
    ]
    assert shown == []


async def test_what_is_planted_can_be_found(
    anonymous: httpx.AsyncClient, app: FastAPI, services: Service, token: Token, planted: dict[str, list[str]]
) -> None:
    """By a token with every role, in answers to the same requests."""
    sent = [one for one in requests(app, planted) if one[0] == "GET" or one[1].endswith((":search", ":assemble"))]
    everything = "".join(answer.text for _, answer in await answers(anonymous, services, sent, token()))
    assert [text for text in CURRENT + GONE if text not in everything] == []
