"""The tool that consolidates, over the HTTP endpoint: who is offered it, and what it returns."""

import pytest
from mcp import MCPError

from tests.api.conftest import Token
from tests.api.test_mcp_endpoint import Connect, connect, url
from tests.client.mcp.hosts import EVIDENCE

__all__ = ["connect"]


async def test_consolidation_is_offered_to_a_token_that_may_consolidate(connect: Connect, token: Token) -> None:
    for roles, expected in (
        (("Memory.Read", "Memory.Write"), False),
        (("Memory.Read", "Memory.Replay"), True),
        (("Memory.Read", "Memory.Admin"), True),
    ):
        async with connect(url(), token(*roles)) as host:
            assert ("memory_consolidate" in [tool.name for tool in (await host.client.list_tools()).tools]) is expected
            if expected:
                found = await host.result("memory_consolidate", dry_run=True)
                assert found == {"dry_run": True, "documents": []}
            else:
                with pytest.raises(MCPError, match="There is no such tool"):
                    await host.client.call_tool("memory_consolidate", {})


async def test_a_consolidation_reports_each_statement_and_is_done_once(connect: Connect, token: Token) -> None:
    personal = url(profile="personal-memory-v1")
    said = {"subject": "user", "valid_from": "2026-01-01T12:00:00Z", "last_verified_at": "2026-01-01T12:00:00Z"}
    facts = [
        {
            "id": "s1",
            "text": "The user lives in Lisbon.",
            "attribute": "lives in",
            "value": "Lisbon",
            "confidence": 0.9,
        },
        {"id": "s2", "text": "In Lisbon the user lives.", "attribute": "home", "value": "Lisbon", "confidence": 0.8},
    ]
    async with connect(personal, token()) as host:
        for fact in facts:
            added = {**fact, **said, "evidence": {**EVIDENCE, "conversation_id": f"c-{fact['id']}"}}
            await host.result("memory_remember", binding_id="personal", section="/facts", value=added)
        (shown,) = (await host.result("memory_consolidate", dry_run=True))["documents"]
        (done,) = (await host.result("memory_consolidate"))["documents"]
        (again,) = (await host.result("memory_consolidate"))["documents"]
        read = await host.result("memory_read", binding_id="personal")
        (found,) = (await host.result("memory_search", query="Where does the user live, in Lisbon?"))["citations"]
    assert (
        shown
        == done
        == {
            "binding_id": "personal",
            "namespace": "user",
            "path": "personal.json",
            "outcome": "changed",
            "problem": None,
            "statements": [{"section": "/facts", "action": "consolidated", "entry_id": "s2", "into": "s1"}],
            "groups": 0,
        }
    )
    assert (again["outcome"], again["statements"]) == ("untouched", [])
    kept, closed = read["content"]["facts"]
    assert (kept["id"], closed["replaced_by"]) == ("s1", "s1")
    cited = [kept["evidence"], *kept["evidence"]["also"]]
    assert {item["conversation_id"] for item in cited} == {"c-s1", "c-s2"}
    sources = [found, *found["also"]]
    assert [one["conversation_id"] for one in sources] == ["c-s1", "c-s2"]
    assert all(one["message_ids"] == EVIDENCE["message_ids"] for one in sources)
