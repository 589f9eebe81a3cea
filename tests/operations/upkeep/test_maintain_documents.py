"""Going through all documents: only those kept up, one after the other, and one that fails stops no other."""

from typing import Any

import pytest

from memnet.domain.core.errors import HistoryCorrupt, Unavailable, VaultUnavailable
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.upkeep.maintenance import EntryAction, MaintenancePlan, Step
from memnet.operations.upkeep.maintain_document import MaintenanceResult, Outcome
from memnet.operations.upkeep.maintain_documents import UpkeepReport, maintain_documents
from tests.domain.samples import CATALOG
from tests.operations.service_scenario import CountingDocuments, Service
from tests.services import service_of

KEYS = [DocumentKey(UserScope("t1", f"u{n}"), "projects", "alpha.json") for n in range(5)]
PLAN = MaintenancePlan([], (Step("/s", EntryAction.TRIMMED, "x"), Step("/s", EntryAction.MERGED, "y")), (), 3, {})


async def filled() -> Service:
    service = Service()
    for key in KEYS:
        await service.patch({"op": "add", "path": "/content/summary", "value": "s"}, key=key)
    return service


async def run(service: Service, tend: Any) -> UpkeepReport:
    return await maintain_documents(tend, service_of(documents=service.documents, catalog=CATALOG))


async def test_every_outcome_is_counted() -> None:
    outcomes = dict(zip(KEYS, [*Outcome, None], strict=True))

    async def tend(key: Any) -> Any:
        return [MaintenanceResult("p", "b", outcomes[key], PLAN)] if outcomes[key] else []

    report = await run(await filled(), tend)
    assert (report.listed, report.untouched, report.changed, report.postponed, report.refused) == (5, 1, 1, 1, 1)
    assert (report.entries, report.held) == ({"trimmed": 1, "merged": 1}, 12)


async def test_documents_that_nobody_keeps_up_or_that_are_deleted_are_passed_over() -> None:
    service = await filled()
    await service.replace(
        {"profile": {}, "projects_index": []}, key=DocumentKey(KEYS[0].scope, "user", "user_static.json"),
        binding_id="user_static", schema_id="memory.user.static",
    )  # fmt: skip
    await service.delete((await service.head(KEYS[1])).commit.etag, key=KEYS[1])
    seen = []

    async def tend(key: Any) -> Any:
        seen.append(key)
        return []

    assert (await run(service, tend)).listed == 6
    assert seen == [KEYS[0], *KEYS[2:]]


async def test_one_that_fails_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async def tend(key: Any) -> Any:
        if key in KEYS[:2]:
            raise Unavailable if key == KEYS[0] else VaultUnavailable
        if key == KEYS[2]:
            raise HistoryCorrupt
        return [MaintenanceResult("p", "b", Outcome.CHANGED)]

    report = await run(await filled(), tend)
    assert (report.postponed, report.broken, report.changed) == (2, 1, 2)
    assert "cannot be read" in caplog.text


async def test_a_listing_that_fails_is_unavailable() -> None:
    class Down(CountingDocuments):
        async def list_all(self, *, limit: Any, cursor: Any) -> None:
            raise Unavailable(dependency="documents")

    with pytest.raises(Unavailable):
        await run(Service(documents=Down()), None)


async def test_several_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    async def tend(key: Any) -> Any:
        seen.append(key)
        return []

    monkeypatch.setitem(maintain_documents.__globals__, "PAGE", 2)
    await run(await filled(), tend)
    assert seen == KEYS
