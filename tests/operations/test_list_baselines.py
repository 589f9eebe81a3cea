"""Which documents begin with a baseline."""

from memnet.operations.list_baselines import list_baselines
from tests.operations.service import SCOPE


async def test_by_document_the_newest_last_over_pages(service, monkeypatch):
    monkeypatch.setitem(list_baselines.__globals__, "PAGE", 2)
    for change in ("d-000000000002", "d-000000000010", "d-1-000000000001", "e-000000000001"):
        await service.audit.append_baseline(SCOPE, change, b"x")
    assert await list_baselines(SCOPE, audit=service.audit) == {
        "d": ["d-000000000002", "d-000000000010"],
        "d-1": ["d-1-000000000001"],
        "e": ["e-000000000001"],
    }
    # Another document's id may begin alike.
    assert await list_baselines(SCOPE, "d", audit=service.audit) == {"d": ["d-000000000002", "d-000000000010"]}
    assert await list_baselines(SCOPE, "x", audit=service.audit) == {}
