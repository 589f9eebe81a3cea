"""One user on one page of the console: what is known, who wrote it, export, proof and erasure, without a shell."""

import asyncio
from zipfile import ZipFile

import pytest
from playwright.async_api import Locator, expect

from tests.e2e.client import DYNAMIC, add
from tests.e2e.console_fixtures import Opens
from tests.e2e.console_screen import Screen
from tests.e2e.console_world import OPERATOR, PROPOSER, Maya, replay

pytestmark = pytest.mark.asyncio(loop_scope="session")
CHARTS = "I prefer charts to tables"
COUNT_CLICKS = """() => {
    window.clicks = 0;
    addEventListener("click", (event) => event.isTrusted && window.clicks++, { capture: true });
}"""


def part(screen: Screen, title: str) -> Locator:
    return screen.main.get_by_role("region", name=title)


async def test_an_officer_answers_a_request_on_one_page_in_five_clicks(tab: Opens, maya: Maya) -> None:
    """What is known, who wrote it, export, proof, erasure."""
    screen = await tab(roles=("Memory.Admin",))
    await screen.settled()
    await screen.page.evaluate(COUNT_CLICKS)
    await screen.main.get_by_label("User", exact=True).fill(maya.service.user_id)
    await screen.page.keyboard.press("Enter")

    entry = part(screen, "What is known").get_by_role("listitem").filter(has_text="Works from Lisbon")
    await expect(entry).to_contain_text(f"by {PROPOSER}")
    await expect(entry).to_contain_text("confident (0.9)")
    await expect(entry).to_contain_text("verified on 2 May 2019")
    result = screen.main.get_by_role("group", name="Result")

    async with screen.page.expect_download() as downloading:
        await screen.main.get_by_role("button", name="Export").click()
    download = await downloading.value
    archive = await asyncio.to_thread(ZipFile, await download.path())
    assert download.suggested_filename.endswith(".zip")
    assert "Works from Lisbon" in archive.read("report.html").decode()
    await expect(result).to_contain_text(f"Exported as {download.suggested_filename}.")

    await screen.main.get_by_role("button", name="Verify").click()
    records = len(await maya.service.audit())
    await expect(result).to_contain_text("The history is complete and unaltered.")
    await expect(result).to_contain_text(f"{records} records of 3 documents")

    await screen.main.get_by_role("button", name="Erase …").click()
    dialog = screen.page.get_by_role("dialog")
    await dialog.get_by_label("Type the user's id").fill(maya.service.user_id)
    await dialog.get_by_role("button", name="Erase everything").click()
    await expect(result).to_contain_text("running")
    assert (await maya.service.get(DYNAMIC)).status == 404
    assert await screen.page.evaluate("window.clicks") <= 5
    assert screen.page.url.endswith("#user")
    await screen.open("overview")
    await expect(screen.row(maya.service.user_id).filter(has_text="1 erasure is running")).to_have_count(1)


async def test_the_page_shows_what_waits_was_said_and_was_read(tab: Opens, maya: Maya) -> None:
    told = await replay(maya)
    screen = await tab(maya.service.user_id)
    known = part(screen, "What is known")
    waiting = (await maya.service.send("GET", "/pending")).body["pending"]
    assert len(waiting) > 1
    await expect(known).to_contain_text(f"{len(waiting)} proposals wait for a confirmation and are not known yet.")
    await expect(known.locator(".entry-text", has_text="Moved to Porto")).to_have_count(0)
    (event,) = (await maya.service.send("GET", "/events")).body["events"]
    await expect(part(screen, "Events")).to_contain_text(event["digest"])
    conversation = part(screen, "Conversations").get_by_role("listitem").filter(has_text="c-42")
    await expect(conversation).to_contain_text("extracted")
    await expect(part(screen, "Who read it")).to_contain_text("No conversation was read")
    await expect(part(screen, "Legal holds")).to_contain_text("No legal hold is in force.")
    await expect(part(screen, "Erasures")).to_contain_text("No erasure was requested.")
    await conversation.get_by_role("button", name="c-42", exact=True).click()
    await expect(screen.page.get_by_role("heading", level=1)).to_have_text("Replays")
    await expect(screen.main).to_contain_text(told["conversation_id"])


async def test_the_message_behind_an_entry_is_shown_and_its_reading_recorded(tab: Opens, maya: Maya) -> None:
    await replay(maya)
    said = {"conversation_id": "c-42", "message_ids": ["m1"]}
    wish = add("/content/preferences/-", CHARTS)
    answer = await maya.service.patch(DYNAMIC, wish, etag=await maya.etag(), key="charts", evidence=said)
    assert answer.status == 200, answer.text
    screen = await tab(maya.service.user_id)
    known = part(screen, "What is known")
    await expect(known).to_contain_text("The service records who read it and when.")
    entry = known.get_by_role("listitem").filter(has_text=CHARTS)
    await expect(entry).to_contain_text("said in conversation c-42, message m1")
    await entry.get_by_role("button", name="Show the message").click()
    messages = entry.get_by_role("list").get_by_role("listitem")
    await expect(messages).to_have_count(2)
    await expect(messages.first).to_contain_text("cited")
    await expect(messages.first).to_contain_text("I prefer charts to tables.")
    await expect(messages.last).to_contain_text("I work with Tomas now.")
    (access,) = (await maya.operator.send("GET", "/accesses")).body["accesses"]
    assert (access["principal"], access["conversation_id"]) == (OPERATOR, "c-42")
    await entry.get_by_role("button", name="Hide the message").click()
    await expect(messages).to_have_count(0)
    await screen.choose(maya.service.user_id)
    await expect(part(screen, "Who read it")).to_contain_text(f"{OPERATOR} read conversation c-42")


async def test_an_unknown_user_is_said_to_be_unknown_and_cannot_be_erased(tab: Opens, maya: Maya) -> None:
    screen = await tab(maya.service.user_id + "x")
    await expect(screen.main).to_contain_text(f"No memory is stored for “{maya.service.user_id}x” in tenant t1.")
    for label in ("Export", "Verify", "Erase …"):
        await expect(screen.main.get_by_role("button", name=label)).to_be_disabled()
    await screen.open("governance")
    await screen.main.get_by_role("button", name="Erase the user's memory").click()
    await expect(screen.status).to_contain_text("there is nothing to erase.")
    await expect(screen.page.get_by_role("dialog")).to_have_count(0)
    await screen.open("user")
    await screen.main.get_by_role("button", name=maya.service.user_id, exact=True).click()
    await expect(screen.page.get_by_role("heading", level=1)).to_have_text(maya.service.user_id)
    await expect(part(screen, "What is known")).to_contain_text("Works from Lisbon")


@pytest.mark.parametrize("role", ["Read", "Audit"])
async def test_each_part_needs_its_own_role(tab: Opens, maya: Maya, role: str) -> None:
    screen = await tab(maya.service.user_id, roles=(f"Memory.{role}",))
    refused = "Your token has no role for this: ask for Memory."
    reader = role == "Read"
    known, reads = part(screen, "What is known"), part(screen, "Who read it")
    await expect(known).to_contain_text("Works from Lisbon" if reader else refused)
    await expect(reads).to_contain_text(refused if reader else "No conversation was read")
    await expect(part(screen, "Erasures")).to_contain_text(refused)
    await expect(screen.main.get_by_role("button", name="Verify")).to_be_enabled(enabled=not reader)
    await expect(screen.main.get_by_role("button", name="Export")).to_be_disabled()
    await expect(screen.main.get_by_role("button", name="Erase …")).to_be_disabled()
    if reader:
        await expect(known.get_by_role("button", name="Show the message")).to_have_count(0)
        await expect(known.get_by_text("ask for Memory.Audit or Memory.Admin").first).to_be_visible()
    await expect(screen.main.get_by_role("alert")).to_have_count(0)
