"""Blame on the operator's page: each value of a document opens who wrote it, on which message, and what was before."""

import pytest
from playwright.async_api import expect

from tests.e2e.console_fixtures import Opens
from tests.e2e.console_world import EVIDENCE, OPERATOR, Maya, replay

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_value_opens_its_writer_its_evidence_and_the_value_before(tab: Opens, maya: Maya) -> None:
    await replay(maya)
    (item, *_) = (await maya.operator.send("GET", "/pending")).body["pending"]
    body = {"namespace": "user", "path": "user_dynamic.json", "confidence": 1, "evidence": EVIDENCE}
    headers = {"Idempotency-Key": "confirm"}
    path = f"/pending/{item['item']['id']}:confirm"
    assert (await maya.operator.send("POST", path, json=body, headers=headers)).status == 200
    content = (await maya.operator.send("GET", "/documents/user/user_dynamic.json")).body["document"]["content"]
    texts = [fact["text"] for fact in content["durable_facts"]]
    confirmed = f"Why /content/durable_facts/{texts.index(item['item']['text'])}/text"
    screen = await tab(maya.service.user_id)
    await screen.open("documents")
    panel = screen.main.get_by_label("user/user_dynamic.json", exact=True)
    await panel.get_by_role("button", name="Why /content/preferences/0", exact=True).click()
    found = panel.locator(".blame")
    await expect(found).to_contain_text("svc-chat")
    await expect(found.locator("del")).to_contain_text("Answer briefly.")
    await panel.get_by_role("button", name="Why /content/preferences/0", exact=True).click()
    await expect(found).to_have_count(0)
    await panel.get_by_role("button", name=confirmed, exact=True).click()
    await expect(found).to_contain_text(f"by {OPERATOR}, proposed by svc-chat")
    await expect(found).to_contain_text("Further changes")
