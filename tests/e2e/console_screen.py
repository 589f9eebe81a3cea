"""The operator's page in a browser: opened, signed in, looked at. What goes wrong in it is kept."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Literal

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Request, expect

from local.stack.stack import Stack
from tests.browser.chromium import AXE

VIEWS = {
    "overview": "Overview",
    "decisions": "Decisions",
    "service": "Service",
    "catalog": "Profiles",
    "user": "User",
    "documents": "Documents",
    "history": "History",
    "confirmations": "Confirmations",
    "conflicts": "Conflicts",
    "replays": "Replays",
    "recall": "Recall",
    "prompt": "Prompt",
    "retractions": "Retractions",
    "governance": "Governance",
}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PATIENCE_MILLISECONDS = 60_000
expect.set_options(timeout=PATIENCE_MILLISECONDS)
REFUSED = "Failed to load resource: the server responded with a status of"
"""What a browser logs of each answer from 400 on; it is no fault of the page."""


@dataclass
class Screen:
    """One tab, and everything it complained of or asked for."""

    page: Page
    url: str
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("console", self._logged)
        self.page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))
        self.page.on("request", self._asked)

    def _logged(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(REFUSED):
            self.faults.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)

    async def sign_in(self, token: str, *, keep: bool = False) -> None:
        await self.page.goto(f"{self.url}/console")
        await self.page.get_by_label("Access token").fill(token)
        if keep:
            await self.page.get_by_label("Stay signed in until I close this tab").check()
        await self.page.get_by_role("button", name="Sign in").click()

    async def choose(self, user_id: str, tenant_id: str = "t1") -> None:
        """Say whose memory is looked at."""
        form = self.page.get_by_role("form", name="Tenant and user")
        await form.get_by_label("Tenant").fill(tenant_id)
        await form.get_by_label("User").fill(user_id)
        await form.get_by_role("button", name="Open").click()
        await self.settled()

    def link(self, view: str) -> Locator:
        """The view's link in the menu."""
        return self.page.get_by_role("navigation", name="Views").get_by_role("link", name=VIEWS[view], exact=True)

    async def open(self, view: str) -> None:
        await self.link(view).click()
        await expect(self.link(view)).to_have_attribute("aria-current", "page")
        await self.settled()

    async def visit(self, view: str) -> None:
        """Open a view by its address, whether or not the menu has it."""
        await self.page.evaluate(
            """(view) => new Promise((done) => {
                if (location.hash === `#${view}`) done();
                addEventListener("hashchange", done, { once: true });
                location.hash = view;
            })""",
            view,
        )
        await self.settled()

    async def settled(self) -> None:
        """Wait until nothing is loading."""
        await expect(self.page.locator("[aria-busy]")).to_have_count(0)

    @property
    def main(self) -> Locator:
        return self.page.get_by_role("main")

    @property
    def status(self) -> Locator:
        return self.page.get_by_role("status").first

    def row(self, text: str) -> Locator:
        """The row of a table, or the item of a list, that says this."""
        return self.main.locator("tr, li").filter(has_text=text)

    async def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        wider: int = await self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wider

    async def violations(self) -> list[Any]:
        """What axe-core finds on the page: each rule, and the elements that break it. Needs `bypass_csp`."""
        script = await asyncio.to_thread(AXE.read_text, "utf-8")
        found = await self.page.evaluate(f"{script}; axe.run().then(({{violations}}) => violations)")
        return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]

    def check(self) -> None:
        """Nothing failed, and no request went to another host."""
        assert self.faults == []
        assert [url for url in self.requests if not url.startswith(self.url)] == []


async def open_screen(browser: Browser, stack: Stack, **options: Any) -> tuple[BrowserContext, Screen]:
    """A tab of its own, with nothing remembered. Without motion no color is measured on its way to the next."""
    usual = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
    context = await browser.new_context(**{**usual, **options})
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    screen = Screen(await context.new_page(), stack.url)
    screen.listen()
    return context, screen
