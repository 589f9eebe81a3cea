"""Two unlike products share one user: each works by its own profile, and the service knows neither."""

from typing import Any

import pytest

from tests.e2e.client import DYNAMIC, STATIC, Answer, Place, User, add, prefer, project, write
from tests.e2e.service import Service
from tests.e2e.test_spec_examples import ASSEMBLE_10_4, PATCH_10_2

pytestmark = pytest.mark.asyncio(loop_scope="module")

COPILOT, DESK = "project-copilot-v1", "support-desk-v1"
CUSTOMER = Place(DESK, "customer", "support", "customer.json")
EVIDENCE = {"conversation_id": "c7", "message_ids": ["m3", "m4"]}


def ticket(ticket_id: str) -> Place:
    return Place(DESK, "ticket", "support", f"tickets/{ticket_id}.json")


async def set_up(user: User) -> None:
    """What administration knows of the user, in both products."""
    known = {
        "profile": {"display_name": "Mara", "locale": "de-AT"},
        "projects_index": [
            {"project_id": "alpha", "aliases": ["Project Alpha", "the retrieval thing"], "keywords": ["latency"]},
            {"project_id": "beta", "aliases": ["Beta"], "keywords": ["billing"]},
        ],
    }
    account = {
        "account": {"name": "Mara", "tier": "premium"},
        "open_tickets": [
            {"ticket_id": "T-17", "nicknames": ["printer jam"], "subject_words": ["printer", "paper"]},
            {"ticket_id": "T-18", "nicknames": [], "subject_words": ["invoice"]},
        ],
        "agreements": [],
        "to_verify": [],
    }
    assert (await user.put(STATIC, known, "memory.user.static", etag=None, key="setup")).status == 201
    assert (await user.put(CUSTOMER, account, "support.customer", etag=None, key="setup")).status == 201


def bindings(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.text
    return [document["binding_id"] for document in answer.body["documents"]]


def dropped(answer: Answer) -> dict[str, str]:
    return {row["binding_id"]: row["reason"] for row in answer.body["dropped_bindings"]}


async def test_each_profile_assembles_its_own_documents(service: Service) -> None:
    user = service.user()
    await set_up(user)
    assert (await user.patch(DYNAMIC, prefer("Be brief."), etag=None, key="1")).status == 201
    note = add("/content/recent_notes/-", {"text": "p95 is 900 ms", "noted_at": "2026-02-14T20:00:00Z"})
    assert (await user.patch(project("alpha"), note, etag=None, key="1")).status == 201
    opened = [add("/content/subject", "Paper jam"), {"op": "replace", "path": "/content/state", "value": "open"}]
    assert (await user.patch(ticket("T-17"), *opened, etag=None, key="1")).status == 201

    copilot = await user.assemble(COPILOT, text="The RETRIEVAL thing is slow again")
    assert copilot.body["selected_project_id"] == "alpha"
    assert copilot.body["selected"] == {"project_id": "alpha"}
    assert copilot.body["routing_debug"]["reason"] == "alias_match"
    assert bindings(copilot) == ["user_static", "user_dynamic", "project_doc"]
    assert copilot.body["documents"][2]["document"]["content"]["recent_notes"][0]["text"] == "p95 is 900 ms"

    desk = await user.assemble(DESK, text="it is about the printer jam")
    assert desk.body["selected"] == {"ticket_id": "T-17"}
    assert desk.body["selected_project_id"] is None
    assert bindings(desk) == ["ticket", "customer"]
    assert dropped(desk) == {"entitlements": "document_not_found"}

    unsure = await user.assemble(DESK, text="printer or invoice?")
    assert unsure.body["selected"] == {}
    assert unsure.body["routing_debug"]["reason"] == "ambiguous"
    assert unsure.body["routing_debug"]["candidates"] == ["T-17", "T-18"]
    assert dropped(unsure) == {"ticket": "not_routed", "entitlements": "document_not_found"}

    explicit = await user.assemble(COPILOT, conversation_hint={"text": "", "project_id": "alpha"}, max_docs=2)
    assert bindings(explicit) == ["user_static", "user_dynamic"]
    assert dropped(explicit) == {"project_doc": "max_docs"}
    tight = await user.assemble(DESK, text="printer jam", max_chars_total=150)
    assert bindings(tight) == ["ticket"]
    assert dropped(tight)["customer"] == "max_chars_total"


async def test_what_falls_short_waits_until_another_principal_confirms_it(service: Service) -> None:
    user = service.user()
    await set_up(user)
    other = user.by(service.token(principal="svc-b"))
    cause = add("/content/resolution/cause", "A worn roller")
    proposed = await user.patch(ticket("T-17"), cause, etag=None, key="1", confidence=0.85, evidence=EVIDENCE)
    assert proposed.status == 201, proposed.text
    [redirection] = proposed.body["redirected"]
    assert (redirection["path"], redirection["to"]) == ("/content/resolution/cause", "/content/unverified")
    content = await user.content(ticket("T-17"))
    assert content["resolution"] == {}
    [item] = content["unverified"]
    assert (item["proposed_by"], item["confidence"], item["target"]) == ("svc-a", 0.85, cause)

    ops = [{"op": "remove", "path": "/content/unverified/0"}, item["target"]]
    own = await user.patch(ticket("T-17"), *ops, etag=proposed.etag, key="own", confidence=0.95, evidence=EVIDENCE)
    assert (own.status, own.code) == (403, "PROPOSER_CANNOT_CONFIRM")
    assert (await user.get(ticket("T-17"))).etag == proposed.etag
    [waits] = (await other.send("GET", "/pending")).body["pending"]
    assert (waits["path"], waits["pointer"], waits["item"]) == ("tickets/T-17.json", "/content/unverified/0", item)
    claim = {"namespace": "support", "path": waits["path"], "confidence": 0.95, "evidence": EVIDENCE}
    url, headers = f"/pending/{item['id']}:confirm", {"Idempotency-Key": "confirm"}
    own = await user.send("POST", url, json=claim, headers=headers)
    assert (own.status, own.code) == (403, "PROPOSER_CANNOT_CONFIRM")
    confirmed = await other.send("POST", url, json=claim, headers=headers)
    assert confirmed.status == 200, confirmed.text
    assert await user.content(ticket("T-17")) == {
        "subject": "",
        "state": "new",
        "timeline": [],
        "resolution": {"cause": "A worn roller"},
        "unverified": [],
    }

    # The same confidence is enough for the other profile, whose thresholds are its own.
    fact = {
        "id": "f1",
        "text": "Works on Tuesdays",
        "confidence": 0.85,
        "evidence": EVIDENCE,
        "last_verified_at": "2026-02-14T20:00:00Z",
    }
    durable = await user.patch(
        DYNAMIC, add("/content/durable_facts/-", fact), etag=None, key="1", confidence=0.85, evidence=EVIDENCE
    )
    assert durable.status == 201
    assert "redirected" not in durable.body
    assert (await user.content(DYNAMIC))["durable_facts"] == [fact]
    await service.verify(user)


@pytest.mark.parametrize(
    ("place", "op", "code"),
    [
        (CUSTOMER, add("/content/account/tier", "free"), "PATH_NOT_WRITABLE"),
        (CUSTOMER, add("/content/account/language", 7), "SCHEMA_VIOLATION"),
        (ticket("T-17"), add("/content/timeline/-", {"at": "2026-02-14T20:00:00Z", "text": "x", "internal": 1}), None),
        (Place(DESK, "entitlements", "support", "billing/entitlements.json"), add("/content/plan", "x"), None),
        (Place(COPILOT, "user_dynamic", "support", "customer.json"), add("/content/preferences/-", "x"), None),
        (STATIC, add("/content/profile/role", "x"), "PATH_NOT_WRITABLE"),
    ],
)
async def test_each_profile_refuses_by_its_own_rules(
    service: Service, place: Place, op: dict[str, Any], code: str | None
) -> None:
    user = service.user()
    await set_up(user)
    etag = (await user.get(place)).headers.get("ETag")
    refused = await user.patch(place, op, etag=etag, key="1", confidence=1.0, evidence=EVIDENCE)
    assert refused.status == 422, refused.text
    assert code is None or refused.code == code
    assert (await user.get(place)).headers.get("ETag") == etag


async def test_the_life_of_the_documents_of_one_user(service: Service) -> None:
    user = service.user()
    await set_up(user)
    first = await user.patch(ticket("T-17"), add("/content/subject", "Paper jam"), etag=None, key="open")
    solved = {"op": "replace", "path": "/content/state", "value": "solved"}
    second = await user.patch(ticket("T-17"), solved, etag=first.etag, key="solve")
    assert (first.status, second.status) == (201, 200)

    listed = (await user.send("GET", "/documents")).body
    assert [(row["namespace"], row["path"]) for row in listed["documents"]] == [
        ("support", "customer.json"),
        ("support", "tickets/T-17.json"),
        ("user", "user_static.json"),
    ]
    desk = (await user.send("GET", "/documents", params={"namespace": "support", "prefix": "tickets/"})).body
    assert [(row["etag"], row["sequence"]) for row in desk["documents"]] == [(second.etag, 2)]

    deleted = await user.delete(ticket("T-17"), etag=second.etag, key="delete")
    assert (deleted.status, deleted.body["sequence"]) == (200, 3)
    assert (await user.get(ticket("T-17"))).code == "DOCUMENT_NOT_FOUND"
    assert len((await user.send("GET", "/documents")).body["documents"]) == 2
    assert dropped(await user.assemble(DESK, text="printer jam"))["ticket"] == "document_not_found"
    again = await user.patch(ticket("T-17"), add("/content/subject", "Again"), etag=None, key="reopen")
    assert (again.status, again.body["sequence"]) == (201, 4)
    assert again.etag not in (first.etag, second.etag, deleted.body["etag"])
    assert await user.content(ticket("T-17")) == {
        "subject": "Again",
        "state": "new",
        "timeline": [],
        "resolution": {},
        "unverified": [],
    }

    records = await user.audit(ticket("T-17"))
    assert [(r["idempotency_key"], r["sequence"]) for r in records] == [
        ("open", 1),
        ("solve", 2),
        ("delete", 3),
        ("reopen", 4),
    ]
    assert [r["pre_etag"] for r in records] == [None, first.etag, second.etag, None]
    assert {r["idempotency_key"] for r in await user.audit()} >= {"setup", "open"}

    for moment in (second.body["change_id"], records[1]["timestamp"]):
        earlier = await user.get(ticket("T-17"), as_of=moment)
        assert earlier.status == 200, earlier.text
        assert (earlier.etag, earlier.body["document"]["content"]["state"]) == (second.etag, "solved")
    gone = await user.get(ticket("T-17"), as_of=deleted.body["change_id"])
    assert (gone.status, gone.code) == (404, "VERSION_NOT_FOUND")
    await service.flushed_history(user, ticket("T-17"))


async def test_a_dry_run_shows_what_would_be_and_leaves_nothing(service: Service) -> None:
    user = service.user()
    await set_up(user)
    tried = await user.patch(
        ticket("T-17"), add("/content/subject", "Jam"), etag=None, key="try", query={"dry_run": "true"}
    )
    assert (tried.status, tried.body["dry_run"]) == (200, True)
    assert tried.body["document"]["content"]["subject"] == "Jam"
    assert (await user.get(ticket("T-17"))).status == 404
    assert await user.audit(ticket("T-17")) == []


async def test_the_specification_s_examples_work_under_the_profile_that_completes_them(service: Service) -> None:
    user = service.user()
    known = {"profile": {}, "projects_index": [{"project_id": "project-alpha", "aliases": ["Alpha"]}]}
    assert (await user.put(STATIC, known, "memory.user.static", etag=None, key="1")).status == 201
    created = await user.patch(DYNAMIC, prefer("Answer at length."), etag=None, key="1")
    patched = await user.send("PATCH", DYNAMIC.url, json=PATCH_10_2, headers=write(created.etag, "2"))
    assert patched.status == 200, patched.text
    assert (await user.content(DYNAMIC))["preferences"] == ["Use concise, direct answers."]
    summary = add("/content/summary", "Retrieval")
    assert (await user.patch(project("project-alpha"), summary, etag=None, key="1")).status == 201
    answer = await user.send("POST", "/context:assemble", json=ASSEMBLE_10_4)
    assert answer.body["selected_project_id"] == "project-alpha"
    assert answer.body["routing_debug"]["reason"] == "alias_match"
    assert 0.9 <= answer.body["routing_debug"]["deterministic_score"] <= 1
    assert bindings(answer) == ["user_static", "user_dynamic", "project_doc"]
