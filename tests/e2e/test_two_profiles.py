"""Two unlike products share one user: each works by its own profile, and the service knows neither."""

import pytest

from tests.e2e.client import DYNAMIC, STATIC, Answer, Place, User, add, prefer, project
from tests.e2e.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")

COPILOT, DESK = "project-copilot-v1", "support-desk-v1"
CUSTOMER = Place(DESK, "customer", "support", "customer.json")


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
