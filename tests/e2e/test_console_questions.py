"""Questions on the operator's page: both sides with their evidence, and three answers."""

from typing import Any

import pytest
from playwright.async_api import expect

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
    there = row.get_by_role("region", name="What is there")
    await expect(there).to_contain_text("Lives in Lisbon.")
    await expect(there).to_contain_text("conversation c-Lisbon")
    await expect(row.get_by_role("region", name="Proposal 1")).to_contain_text("Lives in Berlin.")
    await expect(row.get_by_role("region", name="Proposal 2")).to_contain_text("Lives in <b>Porto</b>.")
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
