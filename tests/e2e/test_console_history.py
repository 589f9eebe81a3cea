"""The history on the operator's page, of records whose document and key are gone."""

import pytest
from playwright.async_api import Route, expect

from memnet.domain.documents.audit_values import CLEAR
from tests.e2e.console_fixtures import Opens
from tests.e2e.console_world import Maya

pytestmark = pytest.mark.asyncio(loop_scope="session")
GIVEN = {
    "change_id": "doc-1-000000000001",
    "sequence": 1,
    "timestamp": "2026-02-14T20:00:00Z",
    "actor": "svc-live",
    "reason": "live_update",
    "namespace": "projects",
    "path": "gone.json",
    "previous_record_hash": "0" * 64,
    "post_etag": '"1-00"',
}
"""The plaintext of a record."""


async def test_an_erased_record_is_shown_as_erased(tab: Opens, maya: Maya) -> None:
    record = dict.fromkeys(CLEAR) | GIVEN

    async def answer(route: Route) -> None:
        await route.fulfill(json={"records": [record], "next_cursor": None})

    screen = await tab(roles=None)
    await screen.page.route("**/audit?*", answer)
    await screen.sign_in(maya.operator.token)
    await screen.choose(maya.service.user_id)
    await screen.open("history")
    change = screen.main.get_by_role("listitem").filter(has_text="projects/gone.json")
    await expect(change).to_contain_text("svc-live")
    await expect(change).to_contain_text("Content erased (its encryption key was destroyed).")
    await change.get_by_text("Evidence, hashes and keys").click()
    await expect(change).to_contain_text("doc-1-000000000001")
    await expect(change).to_contain_text("Evidence erased.")
    await expect(change).not_to_contain_text("undefined")
    screen.check()
