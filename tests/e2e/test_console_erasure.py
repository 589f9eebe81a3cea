"""Following an erasure on the operator's page: one at a time, to its end, and no word more than there is news."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.async_api import Locator, Route, expect

from tests.e2e.console_fixtures import Opens
from tests.e2e.console_screen import Screen
from tests.e2e.console_world import Maya

pytestmark = pytest.mark.asyncio(loop_scope="session")
FIRST, SECOND = "ers-first", "ers-second"
TURN = 2000
"""After so many milliseconds it is asked again."""


class Erasures:
    """The erasures that the API returns, and how often it was asked."""

    def __init__(self) -> None:
        self.told: dict[str, dict[str, Any]] = {}
        self.trouble: int | None = None
        """A status to refuse with; 0: no answer at all."""
        self.asked: list[str] = []

    def tell(self, erasure_id: str, status: str, **members: Any) -> None:
        self.told[erasure_id] = {
            "erasure_id": erasure_id,
            "status": status,
            "accepted_at": "2026-02-14T20:00:00Z",
            "removed": {},
            "failing": {},
            "settled_at": None,
            "receipt": None,
            **members,
        }

    async def answer(self, route: Route) -> None:
        erasure_id = route.request.url.rpartition("/")[2]
        self.asked.append(erasure_id)
        if self.trouble == 0:
            await route.abort()
        elif self.trouble is not None:
            await route.fulfill(status=self.trouble, json=refusal("UNAVAILABLE"))
        else:
            await route.fulfill(json=self.told[erasure_id])


def refusal(code: str, **details: Any) -> Mapping[str, Any]:
    return {"error": {"code": code, "message": "No.", "request_id": "r", "details": details}}


@pytest.fixture
def erasures() -> Erasures:
    return Erasures()


async def opened(tab: Opens, maya: Maya, erasures: Erasures) -> tuple[Screen, Locator]:
    """The view, with a clock that the test moves, and its part about erasures."""
    screen = await tab(roles=None)
    await screen.page.clock.install()
    # Browsers know it where the page came by TLS or from this machine alone.
    await screen.page.add_init_script("delete Crypto.prototype.randomUUID")
    await screen.page.route("**/erasures/*", erasures.answer)
    await screen.sign_in(maya.operator.token)
    await screen.choose(maya.service.user_id)
    await screen.open("governance")
    return screen, screen.main.get_by_role("region", name="Erasure")


async def look_up(section: Locator, erasure_id: str) -> None:
    await section.get_by_label("Erasure id").fill(erasure_id)
    await section.get_by_role("button", name="Look up").click()


async def turn(screen: Screen, erasures: Erasures) -> None:
    """Allow one more request."""
    async with screen.page.expect_event("requestfinished", lambda request: "/erasures/" in request.url):
        await screen.page.clock.run_for(TURN)


async def test_only_the_one_that_was_looked_up_last_is_followed(tab: Opens, maya: Maya, erasures: Erasures) -> None:
    erasures.tell(FIRST, "running")
    erasures.tell(SECOND, "running", removed={"documents": 4711})
    screen, section = await opened(tab, maya, erasures)
    await look_up(section, FIRST)
    await expect(section).to_contain_text(FIRST)
    await look_up(section, SECOND)
    await expect(section).to_contain_text("4,711")
    del erasures.asked[:]
    for _ in range(3):
        await turn(screen, erasures)
    assert erasures.asked == [SECOND] * 3
    await expect(section).not_to_contain_text(FIRST)
    await screen.open("documents")
    await screen.page.clock.run_for(5 * TURN)
    assert erasures.asked == [SECOND] * 3


@pytest.mark.parametrize("trouble", [0, 503])
async def test_a_question_without_an_answer_is_asked_again(
    tab: Opens, maya: Maya, erasures: Erasures, trouble: int
) -> None:
    erasures.tell(FIRST, "running")
    screen, section = await opened(tab, maya, erasures)
    await look_up(section, FIRST)
    await expect(section).to_contain_text("running")
    erasures.trouble = trouble
    await screen.page.clock.run_for(TURN)
    await expect(section.get_by_role("alert")).to_be_visible()
    erasures.trouble = None
    erasures.tell(FIRST, "complete", receipt={"clean_scans": 2})
    await screen.page.clock.run_for(TURN)
    await expect(section).to_contain_text("clean_scans: 2")
    await expect(section.get_by_role("alert")).to_have_count(0)
    screen.faults.clear()  # the browser's own word of what was aborted


async def test_a_refusal_ends_it(tab: Opens, maya: Maya, erasures: Erasures) -> None:
    screen, section = await opened(tab, maya, erasures)
    erasures.trouble = 404
    await look_up(section, FIRST)
    await expect(section.get_by_role("alert")).to_contain_text("404")
    await screen.page.clock.run_for(5 * TURN)
    assert erasures.asked == [FIRST]


async def test_what_has_not_changed_is_neither_shown_nor_announced_again(
    tab: Opens, maya: Maya, erasures: Erasures
) -> None:
    erasures.tell(FIRST, "running")
    screen, section = await opened(tab, maya, erasures)
    await look_up(section, FIRST)
    await expect(screen.status).to_have_text("The erasure is running.")
    await screen.page.evaluate(
        """() => {
            window.changes = 0;
            const count = (records) => (window.changes += records.length);
            for (const node of [document.getElementById("main"), document.getElementById("status")])
                new MutationObserver(count).observe(node, { childList: true, subtree: true, characterData: true });
        }"""
    )
    for _ in range(5):
        await turn(screen, erasures)
    assert await screen.page.evaluate("window.changes") == 0
    assert await section.locator("[aria-live]").count() == 0
    erasures.tell(FIRST, "running", removed={"documents": 3}, settled_at="2026-02-14T20:15:00Z")
    await turn(screen, erasures)
    await expect(section).to_contain_text("Earliest completion")
    erasures.tell(FIRST, "complete")
    await turn(screen, erasures)
    await expect(screen.status).to_have_text("The erasure is complete.")


async def test_an_erasure_that_runs_already_is_shown(tab: Opens, maya: Maya, erasures: Erasures) -> None:
    erasures.tell(FIRST, "running")
    screen, section = await opened(tab, maya, erasures)
    keys: list[str] = []

    async def refuse(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        await route.fulfill(status=409, json=refusal("ERASURE_RUNNING", erasure_id=FIRST))

    await screen.page.route("**/memory", refuse)
    await erase(screen, section, maya)
    await expect(section).to_contain_text(FIRST)
    await expect(section.get_by_label("Erasure id")).to_have_value(FIRST)
    assert len(keys) == 1
    assert re.fullmatch(r"console-[0-9a-f]{32}", keys[0])


async def test_the_items_on_hold_are_shown(tab: Opens, maya: Maya, erasures: Erasures) -> None:
    erasures.tell(FIRST, "partial", receipt={"remaining": [{"reason": "legal_hold"}]})
    screen, section = await opened(tab, maya, erasures)

    async def accept(route: Route) -> None:
        await route.fulfill(status=202, body=json.dumps(erasures.told[FIRST]), content_type="application/json")

    await screen.page.route("**/memory", accept)
    await erase(screen, section, maya)
    await expect(section).to_contain_text("partial")
    await expect(section).to_contain_text("Erase again")
    await expect(section).to_contain_text('reason: "legal_hold"')
    await expect(screen.status).to_have_text("The erasure is partial.")
    await screen.page.clock.run_for(5 * TURN)
    assert erasures.asked == []


async def erase(screen: Screen, section: Locator, maya: Maya) -> None:
    await section.get_by_role("button", name="Erase the user's memory").click()
    dialog = screen.page.get_by_role("dialog")
    await dialog.get_by_label("Type the user's id").fill(maya.service.user_id)
    await dialog.get_by_role("button", name="Erase everything").click()
