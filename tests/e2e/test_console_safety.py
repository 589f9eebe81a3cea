"""What the operator's page must never do: show what the role does not give, run what memory says, shut anybody out."""

import asyncio
from typing import Any

import pytest
from aiohttp import ClientSession
from playwright.async_api import Browser, Error, expect

from local.stack.stack import Stack
from tests.e2e.client import DYNAMIC, add
from tests.e2e.console_fixtures import Opens
from tests.e2e.console_screen import SCHEMES, VIEWS, Screen, open_screen
from tests.e2e.console_world import Maya, dispute_summary, replay, token

pytestmark = pytest.mark.asyncio(loop_scope="session")
SECRET = "Reports to Priya"
HOSTILE = (
    '<img src=x onerror="window.ran=1">',
    "<script>window.ran=1</script>",
    "<svg onload=window.ran=1><a href=javascript:window.ran=1>x</a></svg>",
    "javascript:window.ran=1",
    "\"'></title></style><iframe srcdoc='<script>parent.ran=1</script>'>",
)
PATHS = ("/content/preferences/javascript:window.ran=1", '/content/"><img src=x onerror=window.ran=1>')


@pytest.mark.parametrize(
    ("roles", "allowed"),
    [
        (("Memory.Read",), {"user", "documents", "confirmations", "replays", "recall", "prompt", "catalog"}),
        (("Memory.Audit",), {"overview", "decisions", "user", "history", "retractions", "catalog"}),
        (("Memory.Replay",), {"conflicts", "replays"}),
        (("Memory.Write",), set()),
    ],
)
async def test_the_menu_has_only_what_the_roles_allow(
    tab: Opens, maya: Maya, roles: tuple[str, ...], allowed: set[str]
) -> None:
    screen = await tab(maya.service.user_id, roles=roles)
    if allowed:  # the first view asks for nothing that is refused
        await expect(screen.main.get_by_role("alert")).to_have_count(0)
    for view in VIEWS:
        await expect(screen.link(view)).to_have_count(1 if view in allowed else 0)
        await screen.visit(view)
        await expect(screen.main.get_by_role("alert")).to_have_count(0)
        refused = screen.main.get_by_text("Your token has no role for this: ask for Memory.")
        if view in allowed:
            text = await screen.main.inner_text()
            assert SECRET not in text or "Memory.Read" in roles or view == "history"
        else:
            await expect(refused).to_be_visible()
            assert "user_dynamic" not in await screen.main.inner_text()
    locked = screen.page.get_by_role("navigation", name="Views").locator(".locked li")
    await expect(locked).to_have_count(len(VIEWS) - len(allowed))


async def test_a_refusal_is_a_sentence_with_its_code_and_its_details_folded(tab: Opens, maya: Maya) -> None:
    screen = await tab()
    await screen.choose(maya.service.user_id, tenant_id="t2")
    alert = screen.main.get_by_role("alert").first
    await expect(alert.locator("strong")).to_contain_text("tenant")
    await expect(alert).to_contain_text("403 TENANT_FORBIDDEN")
    await expect(alert.locator("pre")).to_be_hidden()
    await alert.get_by_text("Details for support").click()
    await expect(alert.locator("pre")).to_contain_text("request_id")


@pytest.mark.parametrize("text", ["no token at all", "e30.e30.e30"])
async def test_what_is_no_token_is_refused_by_its_code(tab: Opens, text: str) -> None:
    screen = await tab(roles=None)
    await screen.sign_in(text)
    await expect(screen.main.get_by_role("alert")).to_contain_text("401 UNAUTHENTICATED")
    await expect(screen.page.get_by_role("navigation", name="Views")).to_be_hidden()


async def test_a_token_that_ends_takes_everything_that_is_shown_with_it(tab: Opens, stack: Stack, maya: Maya) -> None:
    screen = await tab(maya.service.user_id)
    await screen.open("documents")
    await expect(screen.main).to_contain_text(SECRET)
    refusal = {"error": {"code": "UNAUTHENTICATED", "message": "Ended.", "request_id": "r", "details": {}}}
    await screen.page.route("**/v1/**", lambda route: route.fulfill(status=401, json=refusal))
    await screen.page.get_by_role("link", name="History").click()
    await expect(screen.main.get_by_role("alert")).to_contain_text("401 UNAUTHENTICATED")
    await expect(screen.page.get_by_label("Access token")).to_have_value("")
    assert SECRET not in await screen.page.content()
    assert await screen.page.evaluate("sessionStorage.getItem('memnet.token')") is None


async def test_the_token_is_in_no_address_and_kept_only_if_that_is_wanted(tab: Opens, stack: Stack, maya: Maya) -> None:
    for keep in (False, True):
        screen = await tab(roles=None)
        held = await asyncio.to_thread(token, stack)
        await screen.sign_in(held, keep=keep)
        await screen.choose(maya.service.user_id)
        for view in VIEWS:
            await screen.open(view)
        assert [url for url in (*screen.requests, screen.page.url) if held[-40:] in url or "token" in url] == []
        stored = await screen.page.evaluate("[JSON.stringify(localStorage), JSON.stringify(sessionStorage)]")
        assert [held in text for text in stored] == [False, keep]
        assert await screen.page.context.cookies() == []
        await screen.page.reload()
        await expect(screen.page.get_by_label("Access token")).to_have_count(0 if keep else 1)
    await screen.page.get_by_role("button", name="Sign out").click()
    await expect(screen.page.get_by_label("Access token")).to_be_focused()
    assert await screen.page.evaluate("sessionStorage.getItem('memnet.token')") is None


async def test_memory_that_is_markup_or_script_stays_text(
    tab: Opens, stack: Stack, session: ClientSession, maya: Maya
) -> None:
    """In contents, in pending items, their texts and targets, in evidence, in the names of principals and reasons."""
    evil = await asyncio.to_thread(token, stack, principal=HOSTILE[0])
    writer = maya.service.by(evil)
    notes = [add("/content/preferences/-", text) for text in HOSTILE]
    evidence = {"conversation_id": HOSTILE[1], "message_ids": list(HOSTILE)}
    assert (await writer.patch(DYNAMIC, *notes, etag=await maya.etag(), key="e1", evidence=evidence)).status == 200
    items = [
        {
            "id": f"p-{number}",
            "text": HOSTILE[0],
            "confidence": 0.1,
            "evidence": {"conversation_id": HOSTILE[1]},
            "proposed_at": HOSTILE[2],
            "proposed_by": HOSTILE[0],
            "profile_id": "project-copilot-v1",
            "binding_id": "user_dynamic",
            "on_behalf_of": HOSTILE[1],
            "proposed_on": HOSTILE[2],
            "base": {HOSTILE[3]: [HOSTILE[0]]},
            "target": {"op": "add", "path": path, "value": {"text": HOSTILE[4], HOSTILE[0]: HOSTILE[1]}},
        }
        for number, path in enumerate(PATHS)
    ]
    items[0]["proposed_at"] = items[1]["proposed_at"] = "2026-02-14T20:00:00Z"
    content = {**await maya.service.content(DYNAMIC), "pending_confirmations": items}
    put = await writer.put(DYNAMIC, content, "memory.user.dynamic", etag=await maya.etag(), key="e2")
    assert put.status == 200, put.text
    await writer.send("PUT", "/legal-hold", json={"reason": HOSTILE[0]})
    screen = await tab(maya.service.user_id)
    await expect(screen.main.locator(".entry-text", has_text=HOSTILE[0])).to_have_count(1)
    await check_inert(screen.page)
    await screen.open("documents")
    region = screen.main.get_by_role("region", name="user/user_dynamic.json")
    await expect(region.locator(".tree")).to_contain_text(HOSTILE[0].replace('"', '\\"'))
    await check_inert(screen.page)
    await screen.open("history")
    await screen.main.get_by_label("Document", exact=True).select_option("user/user_dynamic.json")
    await screen.settled()
    for summary in await screen.main.get_by_text("JSON Patch and record").all():
        await summary.click()
    await expect(screen.main).to_contain_text(HOSTILE[1])
    await check_inert(screen.page)
    await screen.open("confirmations")
    card = screen.row(HOSTILE[0]).first
    await card.get_by_text("Details").click()
    await expect(card).to_contain_text(PATHS[0])
    await card.get_by_role("button", name="Confirm").click()
    dialog = screen.page.get_by_role("dialog")
    await dialog.get_by_label("The person said exactly this").check()
    await expect(dialog.locator(".preview")).not_to_contain_text("Choose a confidence")
    await check_inert(screen.page)
    await screen.page.keyboard.press("Escape")
    await screen.open("governance")
    await expect(screen.main).to_contain_text(HOSTILE[0])
    await check_inert(screen.page)
    await screen.open("prompt")
    await screen.main.get_by_label("Message").fill(HOSTILE[0])
    await screen.main.get_by_label("Max. tokens").fill("")
    await screen.main.get_by_role("button", name="Show the prompt").click()
    await expect(screen.main.locator(".prompt")).to_contain_text(HOSTILE[3])
    await screen.page.evaluate("document.querySelectorAll('main details').forEach((one) => (one.open = true))")
    await check_inert(screen.page)


async def test_no_text_looks_like_another(tab: Opens, maya: Maya) -> None:
    """A character that reorders what follows it is shown, in sentences, in trees and in plain JSON."""
    reordered, shown = "Pay \u202e007\u202c now", "Pay \\u202e007\\u202c now"
    note = add("/content/preferences/-", reordered)
    assert (await maya.service.patch(DYNAMIC, note, etag=await maya.etag(), key="r")).status == 200
    screen = await tab(maya.service.user_id)
    await expect(screen.main.locator(".entry-text", has_text=shown)).to_have_count(1)
    await screen.open("history")
    await expect(screen.main).to_contain_text(f"added the preference “{shown}”")
    await screen.open("documents")
    region = screen.main.get_by_role("region", name="user/user_dynamic.json")
    await region.get_by_text("As JSON").click()
    await expect(region.locator("pre")).to_contain_text(f'"{shown}"')
    for view in ("user", "history", "documents"):
        await screen.open(view)
        assert not set("\u202e\u202c") & set(await screen.main.inner_text())


async def check_inert(page: Any) -> None:
    """Nothing ran, and nothing but the page's own kinds of elements is there."""
    assert await page.evaluate("window.ran") is None
    foreign = "img, iframe, object, embed, base, form[action], body script, style, link:not([rel]), [onerror], [onload]"
    assert await page.locator(foreign).count() == 0
    hrefs = await page.evaluate("[...document.querySelectorAll('a')].map((a) => a.getAttribute('href'))")
    assert [href for href in hrefs if not href.startswith("#")] == []


async def test_the_policy_stops_what_a_mistake_in_the_page_would_let_through(
    browser: Browser, stack: Stack, tab: Opens
) -> None:
    context, screen = await open_screen(browser, stack)
    async with context:
        await screen.page.goto(f"{screen.url}/console")
        with pytest.raises(Error, match="TrustedHTML"):
            await screen.page.evaluate("document.body.innerHTML = '<b>x</b>'")
        await screen.page.evaluate(
            "document.body.append(Object.assign(document.createElement('img'), {src: 'http://127.0.0.1:9/x'}))"
        )
        with pytest.raises(Error, match="TrustedScript"):
            await screen.page.evaluate("document.body.setAttribute('onclick', 'window.ran=1')")
        await screen.page.evaluate("fetch('http://127.0.0.1:9/x').catch(() => {})")
        assert await screen.page.evaluate("window.ran") is None
        assert len([fault for fault in screen.faults if "Content Security Policy" in fault]) >= 3


@pytest.mark.parametrize(("width", "height", "scheme"), [(375, 740, "light"), (1280, 800, "dark")])
async def test_every_view_fits_and_is_accessible(
    browser: Browser, stack: Stack, maya: Maya, width: int, height: int, scheme: str
) -> None:
    """By the checks of axe-core, narrow and wide, light and dark; CSP is passed by for its script alone."""
    await dispute_summary(stack, maya)
    await replay(maya)
    await maya.propose("Prefers trains", by=maya.operator)
    viewport = {"width": width, "height": height}
    context, screen = await open_screen(browser, stack, viewport=viewport, color_scheme=scheme, bypass_csp=True)
    async with context:
        await screen.page.goto(f"{screen.url}/console")
        await check_page(screen, "sign in")
        await screen.sign_in(await asyncio.to_thread(token, stack))
        await screen.choose(maya.service.user_id)
        for view in VIEWS:
            await screen.open(view)
            if view == "history":
                await screen.main.get_by_label("Document", exact=True).select_option("user/user_dynamic.json")
                await screen.settled()
            await check_page(screen, view)
            if view == "confirmations":
                await screen.main.get_by_role("button", name="Confirm").first.click()
                await screen.page.get_by_label("The person said exactly this").check()
                await expect(screen.page.locator(".preview li").first).to_be_visible()
                await check_page(screen, "confirm")
                await screen.page.keyboard.press("Escape")
        screen.check()


async def test_the_overview_and_the_page_of_a_user_are_accessible(browser: Browser, stack: Stack, maya: Maya) -> None:
    """Wide and on a phone, light and dark; with the messages of an entry and a result shown."""
    context, screen = await open_screen(browser, stack, bypass_csp=True)
    async with context:
        await screen.sign_in(await asyncio.to_thread(token, stack))
        for view in ("overview", "user"):
            if view == "user":
                await screen.choose(maya.service.user_id)
                await screen.main.get_by_role("button", name="Verify").click()
                await screen.main.get_by_role("button", name="Show the message").first.click()
                await expect(screen.main.locator(".cited-place > *").first).to_be_visible()
                await expect(screen.main.locator(".result > .notice")).to_be_visible()
            await screen.settled()
            for width, height in ((1280, 800), (390, 844)):
                for scheme in SCHEMES:
                    await screen.page.set_viewport_size({"width": width, "height": height})
                    await screen.page.emulate_media(color_scheme=scheme)
                    await check_page(screen, f"{view} {width} {scheme}")
        screen.check()


async def check_page(screen: Screen, what: str) -> None:
    assert await screen.overflow() <= 0, what
    assert await screen.violations() == [], what


async def test_it_is_used_by_keyboard(tab: Opens, maya: Maya) -> None:
    screen = await tab(roles=())
    page = screen.page
    skip = page.get_by_role("link", name="Skip to content")
    assert await page.evaluate("document.querySelector('a, button, input, select, [tabindex]').id") == "skip"
    # Signing in moves the focus to the heading first.
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    await skip.focus()
    await expect(skip).to_be_in_viewport()
    await page.keyboard.press("Enter")
    await expect(screen.main).to_be_focused()
    assert page.url.endswith("/console")
    form = page.get_by_role("form", name="Tenant and user")
    await form.get_by_label("User").focus()
    await page.keyboard.type(maya.service.user_id)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    await page.get_by_role("link", name="Confirmations").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Confirmations")
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    await expect(page.get_by_role("link", name="Confirmations")).to_have_attribute("aria-current", "page")
    confirm = screen.main.get_by_role("button", name="Confirm")
    await confirm.focus()
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Confirm this proposal")
    await expect(dialog.get_by_role("button", name="Show the message")).to_be_focused()
    for _ in range(12):
        await page.keyboard.press("Tab")
        assert await page.evaluate(
            "!!document.activeElement.closest('dialog') || document.activeElement === document.body"
        )
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await expect(confirm).to_be_focused()


async def test_the_theme_is_the_reader_s(tab: Opens) -> None:
    screen = await tab(color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = await screen.page.evaluate(ground)
    await screen.page.get_by_label("Theme").select_option("dark")
    dark = await screen.page.evaluate(ground)
    assert light != dark
    await screen.page.reload()
    await expect(screen.page.get_by_label("Theme")).to_have_value("dark")
    assert await screen.page.evaluate(ground) == dark
    await screen.page.get_by_label("Theme").select_option("auto")
    assert await screen.page.evaluate(ground) == light


async def test_an_api_that_does_not_answer_is_reported(tab: Opens, maya: Maya) -> None:
    screen = await tab(maya.service.user_id)
    await screen.page.route("**/v1/**", lambda route: route.abort())
    await screen.page.get_by_role("link", name="History").click()
    await expect(screen.main.get_by_role("alert")).to_contain_text("UNREACHABLE")
    screen.faults.clear()  # the browser's own word of what was aborted


async def test_a_document_that_no_profile_binds_is_shown_all_the_same(tab: Opens, maya: Maya) -> None:
    """Profiles go while documents stay: here the token may know no profile of it."""
    screen = await tab(roles=None)
    empty: dict[str, Any] = {"profiles": [], "next_cursor": None}
    await screen.page.route("**/v1/profiles*", lambda route: route.fulfill(status=200, json=empty))
    await screen.sign_in(maya.operator.token)
    await screen.choose(maya.service.user_id)
    await screen.open("documents")
    row = screen.main.get_by_role("row").filter(has_text="user/user_dynamic.json")
    await expect(row).to_contain_text("bound by no profile")
