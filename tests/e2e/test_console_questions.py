"""Questions on the operator's page: both sides with their evidence, and three answers."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.e2e.client import Place, add
from tests.e2e.console_fixtures import Opens
from tests.e2e.console_world import OPERATOR, Maya
from tests.e2e.test_question_race import say
from tests.e2e.test_statement_race import PERSONAL

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def opened(maya: Maya) -> list[Any]:
    facts = (await maya.service.content(PERSONAL))["facts"]
    return sorted(entry["value"] for entry in facts if not entry.get("valid_until"))


async def test_a_question_shows_both_sides_and_is_answered(tab: Opens, maya: Maya) -> None:
    await say(maya.service, "Lisbon", 0.9)
    await say(maya.service, "Berlin", 0.3)
    await say(maya.service, "<b>Porto</b>", 0.3)
    screen = await tab(maya.service.user_id)
    await screen.open("confirmations")
    row = screen.row("Earlier: Lives in Lisbon")
    there = row.get_by_role("group", name="What is there")
    await expect(there).to_contain_text("Lives in Lisbon.")
    await expect(there).to_contain_text("conversation c-Lisbon")
    await expect(row.get_by_role("group", name="Proposal 1")).to_contain_text("Lives in Berlin.")
    await expect(row.get_by_role("group", name="Proposal 2")).to_contain_text("Lives in <b>Porto</b>.")
    await row.get_by_role("button", name="Keep what is there").click()
    dialog = screen.page.get_by_role("dialog", name="Keep what is there")
    await dialog.get_by_label("The person said exactly this").check()
    await dialog.get_by_role("button", name="Keep", exact=True).click()
    await expect(screen.status).to_contain_text("Confirmed: change")
    assert await opened(maya) == ["Lisbon"]
    (entry,) = (await maya.service.content(PERSONAL))["facts"]
    assert OPERATOR in str(entry["evidence"])


async def test_both_can_be_right(tab: Opens, maya: Maya) -> None:
    await say(maya.service, "Lisbon", 0.9)
    await say(maya.service, "Berlin", 0.3)
    screen = await tab(maya.service.user_id)
    await screen.open("confirmations")
    await screen.row("Earlier: Lives in Lisbon").get_by_role("button", name="Both, with proposal").click()
    dialog = screen.page.get_by_role("dialog", name="Keep both")
    await dialog.get_by_label("What sets the proposal apart").fill("in summer")
    await dialog.get_by_label("The person said exactly this").check()
    await dialog.get_by_role("button", name="Keep both", exact=True).click()
    await expect(screen.status).to_contain_text("Confirmed: change")
    assert await opened(maya) == ["Berlin", "Lisbon"]


async def test_a_tenant_without_questions_has_nothing_to_decide(tab: Opens, maya: Maya) -> None:
    screen = await tab(maya.service.user_id)
    await screen.open("decisions")
    await expect(screen.main).to_contain_text("Nothing to decide.")


TENANTS = Place("workspace-memory-v1", "workspace", "workspace", "shared.json")


async def dispute(maya: Maya, first: str, second: str, *, why: str = "") -> str:
    """Two colleagues state different things about the workspace, so that the tenant decides; return the question."""
    for number, value in enumerate((first, second)):
        found = await maya.service.get(TENANTS)
        entry: dict[str, Any] = {
            "subject": "workspace",
            "question": f"day off{why}",
            "value": value,
            "text": f"We are off on {value}.",
        }
        entry |= {"confidence": 0.9, "evidence": {"conversation_id": f"c-{number}"}}
        answer = await maya.service.patch(
            TENANTS,
            add("/content/decisions/-", entry),
            etag=found.etag if found.status == 200 else None,
            key=f"says{why}-{number}",
            confidence=0.9,
            evidence={"conversation_id": f"c-{number}"},
            claimant={"user_id": maya.service.user_id} if number else None,
        )
        assert answer.status in (200, 201), answer.text
    (settled,) = answer.body["settled"]
    return str(settled["pending_id"])


async def decided(maya: Maya) -> list[str]:
    entries = (await maya.service.content(TENANTS))["decisions"]
    return sorted(entry["value"] for entry in entries if entry.get("valid_until") is None)


@pytest.mark.parametrize(
    ("press", "title", "verb", "held"),
    [
        ("Take proposal …", "Confirm this proposal", "Confirm", ["Monday"]),
        ("Keep what is there …", "Keep what is there", "Keep", ["Friday"]),
        ("Both, with proposal …", "Keep both", "Keep both", ["Friday", "Monday"]),
    ],
)
async def test_an_administrator_decides_by_keyboard(
    tab: Opens, maya: Maya, press: str, title: str, verb: str, held: list[str]
) -> None:
    pending_id = await dispute(maya, "Friday", "Monday")
    screen = await tab(maya.service.user_id)
    await screen.open("decisions")
    row = screen.page.get_by_role("listitem").filter(has=screen.page.get_by_role("button", name=maya.service.user_id))
    await expect(row.get_by_role("group", name="What is there")).to_contain_text("conversation c-0")
    await expect(row.get_by_role("group", name="Proposal")).to_contain_text("conversation c-1")
    await row.get_by_role("button", name=press).focus()
    await screen.page.keyboard.press("Enter")
    dialog = screen.page.get_by_role("dialog", name=title)
    await dialog.get_by_label("The person said exactly this").focus()
    await screen.page.keyboard.press("Space")
    await dialog.get_by_role("button", name=verb, exact=True).focus()
    await screen.page.keyboard.press("Enter")
    await expect(screen.status).to_contain_text("Confirmed: change")
    assert await decided(maya) == held
    # Every way of deciding takes the question off the list.
    listed = await maya.operator.session.get(
        f"{maya.operator.api}/v1/tenants/t1/pending?decides=tenant", headers=maya.operator.authorization
    )
    assert pending_id not in await listed.text()


async def test_a_page_on_which_somebody_else_was_faster_says_what_is_there_now(tab: Opens, maya: Maya) -> None:
    pending_id = await dispute(maya, "Friday", "Monday")
    screen = await tab(maya.service.user_id)
    await screen.open("decisions")
    row = screen.page.get_by_role("listitem").filter(has=screen.page.get_by_role("button", name=maya.service.user_id))
    await row.get_by_role("button", name="Take proposal …").click()
    dialog = screen.page.get_by_role("dialog", name="Confirm this proposal")
    await dialog.get_by_label("The person said exactly this").check()
    body: dict[str, Any] = {"namespace": "workspace", "path": "shared.json", "confidence": 0.95, "take": "existing"}
    body |= {"evidence": {"conversation_id": "c-faster"}}
    faster = await maya.operator.send(
        "POST", f"/pending/{pending_id}:confirm", json=body, headers={"Idempotency-Key": "faster"}
    )
    assert faster.status == 200, faster.text
    await dialog.get_by_role("button", name="Confirm", exact=True).click()
    await expect(dialog).to_contain_text("The question was answered before. Nothing was written.")
    assert await decided(maya) == ["Friday"]


HOSTILE = (
    '<img src=x onerror="window.ran=1"><script>window.ran=1</script>',
    "\u202eyadnoM\u202c \u0627\u0644\u0627\u062b\u0646\u064a\u0646",
    "day" * 90,
)


async def test_what_colleagues_say_is_text_on_both_sides(tab: Opens, maya: Maya) -> None:
    for number, text in enumerate(HOSTILE):
        await dispute(maya, f"Friday{number}", text, why=f" {number}")
    screen = await tab(maya.service.user_id)
    await screen.open("decisions")
    for text in HOSTILE:
        shown = text.replace("\u202e", "\\u202e").replace("\u202c", "\\u202c")  # what reorders text is shown
        await expect(screen.main.get_by_role("group", name="Proposal").filter(has_text=shown)).to_have_count(1)
    assert await screen.page.evaluate("window.ran") is None
    assert await screen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing runs off the page"


async def test_an_auditor_sees_the_questions_and_is_refused_an_answer(tab: Opens, maya: Maya) -> None:
    await dispute(maya, "Friday", "Monday")
    screen = await tab(maya.service.user_id, roles=("Memory.Audit",))
    await screen.open("decisions")
    row = screen.page.get_by_role("listitem").filter(has_text=maya.service.user_id)
    await expect(row.get_by_role("group", name="What is there")).to_contain_text("We are off on Friday.")


async def test_an_entry_that_is_closed_is_not_shown_as_what_is_there(tab: Opens, maya: Maya) -> None:
    await say(maya.service, "Lisbon", 0.9)
    await say(maya.service, "Berlin", 0.3)
    await say(maya.service, "Porto", 0.95)
    screen = await tab(maya.service.user_id)
    await screen.open("confirmations")
    row = screen.row("Earlier: Lives in Lisbon")
    await expect(row.get_by_role("group", name="What is there")).to_contain_text("The entry is not open any more")
    await expect(row.get_by_role("button", name="Keep what is there …")).to_have_count(0)
