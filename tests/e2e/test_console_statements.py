"""Statements in a browser: what holds, what held before, and the question that decides between two of them."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from playwright.async_api import Browser, Locator, expect

from local.emulators.issuer import AUDIENCE
from local.stack.stack import Stack
from tests.e2e.client import Place, User, add
from tests.e2e.console_screen import SCHEMES, Screen, open_screen
from tests.e2e.console_world import PROPOSER, token
from tests.e2e.replays import ROLES

pytestmark = pytest.mark.asyncio(loop_scope="session")
PERSONAL = Place("personal-memory-v1", "personal", "user", "personal.json")
HOMES = (
    ("Lisbon", "2026-01-10T09:00:00Z", 0.9),
    ("Porto", "2026-03-01T09:00:00Z", 0.9),
    ("Berlin", "2026-05-03T12:00:00Z", 0.95),
)


async def state(user: User, town: str, at: str, sure: float) -> Any:
    value = {"text": f"Lives in {town}.", "subject": "user", "attribute": "lives in", "value": town, "confidence": sure}
    said = {"conversation_id": "c-41", "message_ids": ["m7"]}
    home = add("/content/facts/-", value | {"id": f"home-{town.lower()}", "evidence": said})
    found = await user.get(PERSONAL)
    etag = found.etag if found.status == 200 else None
    answer = await user.patch(PERSONAL, home, etag=etag, key=town, confidence=sure, evidence=said, source_time=at)
    assert answer.status in (200, 201), answer.text
    (settled,) = answer.body["settled"]
    return settled


@pytest_asyncio.fixture(loop_scope="session")
async def person(session: ClientSession, stack: Stack) -> User:
    """A user who has moved twice, and of whom somebody says less surely that there was a third move."""
    issued = stack.token(tenants="t1", principal=PROPOSER, roles=ROLES)
    user = User(session, stack.url, issued, f"mara-{uuid4().hex[:8]}")
    for town, at, sure in HOMES:
        await state(user, town, at, sure)
    assert (await state(user, "Rome", "2026-06-01T09:00:00Z", 0.5))["verdict"] == "asked"
    return user


def earlier(place: Locator) -> Locator:
    return place.get_by_role("list", name="What held before").get_by_role("listitem")


async def fits(screen: Screen, what: str) -> None:
    """Wide and on a phone, light and dark."""
    for width, height in ((1280, 800), (390, 844)):
        for scheme in SCHEMES:
            await screen.page.set_viewport_size({"width": width, "height": height})
            await screen.page.emulate_media(color_scheme=scheme)
            assert (await screen.overflow(), await screen.violations()) == (0, []), (what, width, scheme)


async def test_an_entry_is_shown_with_what_held_before_and_a_question_comes_first(
    browser: Browser, stack: Stack, person: User
) -> None:
    context, screen = await open_screen(browser, stack, bypass_csp=True)
    async with context:
        await screen.sign_in(await asyncio.to_thread(token, stack))
        await screen.choose(person.user_id)
        known = screen.main.get_by_role("region", name="Facts")
        await expect(known.locator(".entry-text")).to_have_text("Lives in Berlin.")
        await expect(known).to_contain_text("holds since 3 May 2026")
        moves = [
            "From 1 March 2026 to 3 May 2026: Lives in Porto.",
            "From 10 January 2026 to 1 March 2026: Lives in Lisbon.",
        ]
        await expect(earlier(known)).to_have_text(moves)
        await fits(screen, "user")

        await screen.open("documents")
        await expect(earlier(screen.main)).to_have_text(moves)
        await fits(screen, "documents")

        await screen.open("confirmations")
        question = screen.main.get_by_role("heading", level=2)
        await expect(question).to_contain_text("Earlier: Lives in Berlin.")
        await expect(question).to_contain_text("Now: Lives in Rome.")
        await expect(screen.main).to_contain_text("The user decides.")
        await expect(screen.main.get_by_role("group", name="What is there")).to_contain_text("“Lives in Berlin.”")
        await expect(screen.main.get_by_role("group", name="Proposal")).to_contain_text("“Lives in Rome.”")
        await fits(screen, "confirmations")

        await screen.open("history")
        await expect(screen.main).to_contain_text("replaced the fact “Lives in Porto.” with “Lives in Berlin.”")
        screen.check()


async def test_a_person_reads_what_held_before_in_plain_words(
    browser: Browser, stack: Stack, session: ClientSession, person: User
) -> None:
    form = {"grant_type": "client_credentials", "scope": f"{AUDIENCE}/.default", "client_id": "app-mail"}
    form |= {"tenant": "t1", "user": person.user_id, "scopes": "Memory.ReadWrite"}
    async with session.post(stack.token_url, data=form) as answer:
        own = str((await answer.json())["access_token"])
    context, screen = await open_screen(browser, stack, bypass_csp=True)
    async with context:
        await screen.page.goto(f"{screen.url}/me#token={own}")
        await screen.settled()
        facts = screen.main.get_by_role("region", name="Facts")
        await expect(facts).to_contain_text("Lives in Berlin.")
        await expect(facts).to_contain_text("It holds since 3 May 2026.")
        await expect(earlier(facts)).to_have_text(
            ["Until 3 May 2026: Lives in Porto. Forget", "Until 1 March 2026: Lives in Lisbon. Forget"]
        )
        await expect(screen.main.get_by_role("region", name="Waiting for you")).to_contain_text("Now: Lives in Rome.")
        await fits(screen, "me")
        past = facts.get_by_role("group", name="About: Lives in Lisbon.")
        await past.get_by_role("button", name="Forget").click()
        await screen.page.get_by_role("dialog").get_by_role("button", name="Forget").click()
        await expect(earlier(facts)).to_have_text(["Until 3 May 2026: Lives in Porto. Forget"])
        screen.check()
