"""Retractions on the operator's page: a source is planned, taken back, followed to the end, and brought back."""

import pytest
from playwright.async_api import Locator, expect

from tests.e2e.client import DYNAMIC, prefer
from tests.e2e.console_fixtures import Opens
from tests.e2e.console_screen import Screen
from tests.e2e.console_world import Maya, replay
from tests.e2e.test_question_race import lives_in
from tests.e2e.test_statement_race import PERSONAL

pytestmark = pytest.mark.asyncio(loop_scope="session")
INJECTED = '<img src=x onerror="window.ran=1">'
REASON = "<b>It was injected.</b>"
SINCE, UNTIL = "2026-02-14T20:00:00Z", "2026-02-15T20:00:00Z"
SOURCE = {"conversation_id": "c-42", "message_ids": ["m1"]}


async def inject(maya: Maya) -> int:
    """Store a conversation, what was learnt from it, and a value that was injected. Returns the place of the value."""
    await replay(maya)
    written = await maya.service.patch(
        DYNAMIC, prefer(INJECTED), etag=await maya.etag(), key="injected", evidence=SOURCE
    )
    assert written.status == 200, written.text
    preferences: list[str] = (await maya.service.content(DYNAMIC))["preferences"]
    return preferences.index(INJECTED)


async def plan(screen: Screen) -> Locator:
    """Plan the source of the form, and return where the plan is shown."""
    form = screen.main.get_by_role("region", name="Take a source back")
    await form.get_by_label("Reason").fill(REASON)
    await form.get_by_role("button", name="Plan", exact=True).click()
    shown = screen.main.get_by_role("region", name="Plan", exact=True)
    await expect(shown).to_contain_text(REASON)
    return shown


async def statuses(maya: Maya) -> list[str]:
    return [row["status"] for row in (await maya.operator.send("GET", "/retractions")).body["retractions"]]


async def test_a_conversation_is_planned_taken_back_and_brought_back(tab: Opens, maya: Maya) -> None:
    await inject(maya)
    before = await maya.service.content(DYNAMIC)
    screen = await tab(maya.service.user_id, bypass_csp=True)  # injected markup has nothing that stops it
    stored = screen.main.get_by_role("region", name="Conversations")
    await stored.get_by_role("button", name="Take this source back: conversation c-42").click()
    form = screen.main.get_by_role("region", name="Take a source back")
    await expect(form.get_by_label("Conversation", exact=True)).to_have_value("c-42")
    await expect(form.get_by_label("Messages")).to_have_value("")
    shown = await plan(screen)
    await expect(shown.get_by_role("heading", level=2)).to_have_text("Retraction of conversation c-42")
    removed = shown.get_by_role("region", name="Removed")
    await expect(removed.locator("del").filter(has_text="<img src=x")).to_be_visible()
    item = shown.get_by_role("region", name="Items").get_by_role("row").filter(has_text="c-42/s1")
    await expect(item).to_contain_text("is removed")
    assert (await screen.violations(), await screen.overflow() <= 0) == ([], True)
    assert await maya.service.content(DYNAMIC) == before
    row = screen.main.get_by_role("region", name="All retractions").get_by_role("row").filter(has_text="c-42")
    await expect(row).to_contain_text("planned")
    await shown.get_by_role("button", name="Apply").click()
    dialog = screen.page.get_by_role("dialog")
    await dialog.get_by_label("Type the user's id").fill("another-user")
    await dialog.get_by_role("button", name="Take the source back").click()
    await expect(dialog).to_be_visible()
    assert await statuses(maya) == ["planned"]
    await dialog.get_by_label("Type the user's id").fill(maya.service.user_id)
    await dialog.get_by_role("button", name="Take the source back").click()
    await expect(row).to_contain_text("applied")
    await expect(shown.locator(".badge").first).to_have_text("applied")
    assert INJECTED not in (await maya.service.content(DYNAMIC))["preferences"]
    await row.get_by_role("button", name="conversation c-42").click()
    await shown.get_by_role("button", name="Undo").click()
    await dialog.get_by_role("button", name="Undo", exact=True).click()
    await expect(row).to_contain_text("undone")
    await expect(shown.get_by_role("button")).to_have_count(0)
    assert await maya.service.content(DYNAMIC) == before
    assert await screen.page.evaluate("window.ran") is None
    assert await screen.main.locator("img, b").count() == 0


async def test_a_plan_of_cited_messages_is_opened_from_blame_and_discarded(tab: Opens, maya: Maya) -> None:
    number = await inject(maya)
    screen = await tab(maya.service.user_id)
    await screen.open("documents")
    panel = screen.main.get_by_label("user/user_dynamic.json", exact=True)
    await panel.get_by_role("button", name=f"Why /content/preferences/{number}", exact=True).click()
    await panel.locator(".blame").get_by_role("button", name="Take this source back").first.click()
    form = screen.main.get_by_role("region", name="Take a source back")
    await expect(form.get_by_label("Conversation", exact=True)).to_have_value("c-42")
    await expect(form.get_by_label("Messages")).to_have_value("m1")
    shown = await plan(screen)
    await expect(shown).to_contain_text("Retraction of conversation c-42, message m1")
    await shown.get_by_role("button", name="Discard the plan").click()
    await screen.page.get_by_role("dialog").get_by_role("button", name="Discard the plan").click()
    await expect(shown.locator(".badge").first).to_have_text("undone")
    assert await statuses(maya) == ["undone"]
    assert INJECTED in (await maya.service.content(DYNAMIC))["preferences"]


async def test_a_plan_says_which_statement_holds_again(tab: Opens, maya: Maya) -> None:
    etag = None
    for town in ("Lisbon", "Faro"):
        cited = {"conversation_id": f"c-{town}"}
        says = lives_in(town, 0.9)
        written = await maya.service.patch(PERSONAL, says, etag=etag, key=town, confidence=0.9, evidence=cited)
        assert written.status in (200, 201), written.text
        etag = written.etag
    body = {"source": {"kind": "conversation", "conversation_id": "c-Faro"}, "reason": REASON}
    planned = await maya.operator.send("POST", "/retractions", json=body, headers={"Idempotency-Key": "plan"})
    assert planned.status == 201, planned.text
    screen = await tab(maya.service.user_id)
    await screen.open("retractions")
    await screen.row("c-Faro").get_by_role("button", name="conversation c-Faro").click()
    shown = screen.main.get_by_role("region", name="Plan", exact=True)
    await expect(shown.get_by_role("region", name="Reopened").locator("strong")).to_have_text("“Lives in Lisbon.”")
    await expect(shown.get_by_role("region", name="Removed").locator("strong")).to_have_text("“Lives in Faro.”")


async def test_an_entry_of_the_user_s_page_opens_its_source(tab: Opens, maya: Maya) -> None:
    screen = await tab(maya.service.user_id)
    entry = screen.row("Works from Lisbon")
    await entry.get_by_role("button", name="Take this source back").click()
    form = screen.main.get_by_role("region", name="Take a source back")
    await expect(form.get_by_label("Conversation", exact=True)).to_have_value("c-41")
    await expect(form.get_by_label("Messages")).to_have_value("m7")


async def test_the_form_has_the_members_of_each_kind_of_source(tab: Opens, maya: Maya) -> None:
    screen = await tab(maya.service.user_id)
    await screen.open("retractions")
    await expect(screen.main).to_contain_text("No source was taken back.")
    form = screen.main.get_by_role("region", name="Take a source back")
    shown = screen.main.get_by_role("region", name="Plan", exact=True)
    for kind, members, words in (
        ("snapshot", {"conversation_id": "c-42", "snapshot_id": "s1"}, "snapshot s1 of conversation c-42"),
        ("replay", {"replay_id": "rpl-1"}, "replay rpl-1"),
        ("event", {"event_id": "evt-1"}, "event evt-1"),
        ("actor", {"actor": "svc-none", "since": SINCE, "until": UNTIL}, "principal svc-none from"),
        ("model", {"model": "none-1"}, "model none-1"),
    ):
        await form.get_by_label("Source").select_option(kind)
        await form.get_by_label("Reason").fill(REASON)
        for number, text in enumerate(members.values()):
            await form.locator(".controls").nth(1).locator("input").nth(number).fill(text)
        async with screen.page.expect_request(lambda request: request.method == "POST") as sent:
            await form.get_by_role("button", name="Plan", exact=True).click()
        assert (await sent.value).post_data_json == {"source": {"kind": kind, **members}, "reason": REASON}
        await expect(shown.get_by_role("heading", level=2)).to_contain_text(f"Retraction of {words}")
        await expect(shown).to_contain_text("Nothing rests on this source.")
    assert await statuses(maya) == ["planned"] * 5
    await form.get_by_label("Source").select_option("model")
    await form.get_by_role("button", name="Plan", exact=True).click()
    await expect(form.get_by_role("alert")).to_contain_text("MALFORMED_REQUEST")


async def test_an_auditor_reads_a_plan_and_changes_nothing(tab: Opens, maya: Maya) -> None:
    await inject(maya)
    body = {"source": {"kind": "conversation", "conversation_id": "c-42"}, "reason": REASON}
    planned = await maya.operator.send("POST", "/retractions", json=body, headers={"Idempotency-Key": "plan"})
    assert planned.status == 201, planned.text
    screen = await tab(maya.service.user_id, roles=("Memory.Audit",))
    await expect(screen.main.get_by_role("button", name="Take this source back")).to_have_count(0)
    await screen.open("retractions")
    await expect(screen.main).to_contain_text("Your token has no role for this: ask for Memory.Admin.")
    await screen.row("c-42").get_by_role("button", name="conversation c-42").click()
    shown = screen.main.get_by_role("region", name="Plan", exact=True)
    await expect(shown.get_by_role("region", name="Removed")).to_contain_text(INJECTED.split()[0])
    await expect(shown.get_by_role("button")).to_have_count(0)
    await expect(screen.main.get_by_role("region", name="Take a source back")).to_have_count(0)
