"""The entries of a user: read with their whole history, page by page, at a known cost."""

from dataclasses import replace
from datetime import timedelta
from math import exp
from typing import Any

import pytest

from memnet.domain.core.errors import HistoryCorrupt, InvalidCursor, ProfileForbidden, ProfileNotFound, Unavailable
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.documents.audit_record import record_bytes
from memnet.domain.documents.commands import ConfirmPending, IfExists
from memnet.operations.documents.pending import confirm_pending
from memnet.operations.history.entry_filter import EntryFilter
from memnet.operations.history.list_entries import list_entries
from tests.domain.samples import CATALOG
from tests.operations.baseline_scenario import retain, retain_newest, split
from tests.operations.service_scenario import ALICE, ALPHA, BOB, DYNAMIC, PROFILE, SCOPE, Service, note
from tests.operations.storage_calls import StorageCalls
from tests.services import service_of

BETA = DocumentKey(SCOPE, "projects", "beta.json")
SAID = {"conversation_id": "c1", "message_ids": ["m1"]}
FACT = {"id": "f1", "text": "Lives in Bern.", "confidence": 0.5, "evidence": SAID}
FACT |= {"last_verified_at": "2025-01-01T00:00:00Z"}


async def page_of(service: Service, scope: UserScope = SCOPE, **members: Any) -> Any:
    chosen = {"limit": 100, "cursor": None, "catalog": CATALOG} | members
    ports = service.ports() | {"catalog": chosen.pop("catalog")}
    paged = {name: chosen.pop(name) for name in ("limit", "cursor")}
    return await list_entries(scope, ALICE, service_of(**ports), only=EntryFilter(**chosen), **paged)


async def entries(service: Service, **members: Any) -> list[Any]:
    return [entry.said for entry in (await page_of(service, **members)).items]


async def test_an_entry_is_pending_then_confirmed_and_names_both_principals(service: Any) -> None:
    add = {"op": "add", "path": "/content/durable_facts/-", "value": FACT}
    made = await service.patch(add, key=DYNAMIC, confidence=0.5, evidence=SAID)
    (waits,) = await entries(service)
    assert (waits.is_pending, waits.text, waits.origin.actor) == (True, "Lives in Bern.", ALICE.principal)
    command = ConfirmPending(
        key=DYNAMIC,
        actor=BOB,
        precondition=IfExists(),
        idempotency_key="confirm",
        pending_id=made.redirected[0]["pending_id"],
        confidence=0.9,
        evidence={"event_id": "e1"},
    )
    done = await confirm_pending(command, service_of(**service.ports()))
    (fact,) = await entries(service)
    assert (fact.is_pending, fact.section, fact.confidence) == (False, "Durable facts", 0.9)
    origin = fact.origin
    assert (origin.is_confirmed, origin.actor, origin.proposed_by) == (True, BOB.principal, ALICE.principal)
    assert origin.change_id == done.change_id
    assert fact.evidence == {"event_id": "e1", "also": [SAID]}


async def test_pages_end_after_some_documents_and_leave_out_deleted_ones(service: Any) -> None:
    await service.count_up(2)
    gone = await service.count_up(1, BETA)
    await service.delete(gone[-1].etag, key=BETA)
    await service.patch({"op": "add", "path": "/content/preferences/-", "value": "Brief."}, key=DYNAMIC)
    first = await page_of(service, limit=1)
    assert [entry.said.text for entry in first.items] == ["note 1"]
    second = await page_of(service, limit=1, cursor=first.next_cursor)
    assert (second.items, second.next_cursor is None) == ([], False)
    third = await page_of(service, cursor=second.next_cursor)
    assert ([entry.said.text for entry in third.items], third.next_cursor) == (["Brief."], None)
    assert {(entry.key, entry.etag) for entry in first.items} == {(ALPHA, (await service.head()).commit.etag)}
    assert (await page_of(service, UserScope("t1", "u2"))).items == []
    with pytest.raises(InvalidCursor):
        await page_of(service, cursor="x")


async def test_a_profile_limits_the_documents(service: Any) -> None:
    await service.count_up(1)
    assert [one.text for one in await entries(service, profile_id=PROFILE)] == ["note 0"]
    assert await entries(service, profile_id="support-desk-v1") == []
    with pytest.raises(ProfileNotFound):
        await entries(service, profile_id="unknown")
    closed = CATALOG.profile(PROFILE).model_copy(update={"allowed_principals": ("svc-bob",)})
    catalog = replace(CATALOG, profiles={**CATALOG.profiles, PROFILE: closed})
    with pytest.raises(ProfileForbidden):
        await entries(service, profile_id=PROFILE, catalog=catalog)


async def test_the_history_begins_with_a_baseline_after_retention(service: Any) -> None:
    await service.count_up(3)
    later = {"op": "add", "path": "/content/facets/stack", "value": "Python"}
    await service.patch(later, over=(await service.head()).commit.etag)
    await service.background.drain()
    await retain(service, ALPHA, 3)
    stack, summary = await entries(service)
    assert (stack.text, stack.origin.is_known, stack.origin.sequence) == ("Stack: Python", True, 4)
    assert (summary.text, summary.origin.sequence, summary.origin.actor) == ("note 2", 3, "svc-alice")


async def test_the_baseline_of_the_newest_change_is_enough(service: Any) -> None:
    await service.count_up(3)
    await retain_newest(service, ALPHA)
    assert [(one.text, one.origin.sequence) for one in await entries(service)] == [("note 2", 3)]


async def test_a_page_lists_once_and_reads_each_document_with_one_baseline_and_one_segment(service: Any) -> None:
    for key in (ALPHA, BETA):
        await service.count_up(6, key)
        await split(service, key, 3)
    calls = StorageCalls(service)
    assert len(await entries(service)) == 2
    assert calls.count("get", ".jsonl") == 2
    assert calls.count("get", "alpha.json") + calls.count("get", "beta.json") == 2
    assert [name for method, name in calls.made if method == "list"] == [
        f"{SCOPE.prefix}documents/",
        f"{SCOPE.prefix}audit/",
    ]
    assert calls.total() <= 9


async def test_a_user_without_documents_costs_one_listing(service: Any) -> None:
    calls = StorageCalls(service)
    assert await entries(service) == []
    assert calls.total() == 1


async def test_an_altered_record_is_no_origin(service: Any) -> None:
    await service.count_up(2)
    change_id = (await service.head()).change_id(1)
    line = (await service.audit.read(SCOPE, change_id[:-13], 1))[0]
    for data in (record_bytes({**line, "actor": "svc-mallory"}), None):
        service.audit.tamper(SCOPE, change_id, data)
        with pytest.raises(HistoryCorrupt):
            await entries(service)


async def test_a_segment_that_retention_removes_meanwhile_is_a_temporary_failure(service: Any) -> None:
    await service.count_up(3)
    await split(service, ALPHA, 3)
    await service.patch(note("last"), over=(await service.head()).commit.etag)
    await service.background.drain()
    listed = service.audit.histories

    async def removed_after(*arguments: Any) -> Any:
        found = await listed(*arguments)
        service.audit.histories = listed
        await retain(service, ALPHA, 3)
        return found

    service.audit.histories = removed_after
    with pytest.raises(Unavailable):
        await entries(service)
    assert [one.text for one in await entries(service)] == ["last"]


async def test_an_entry_shows_its_uses_and_its_importance_now(service: Any) -> None:
    made = await service.count_up(1)
    used = {"id": "n-1", "text": "Used.", "importance": "high", "noted_at": "2025-12-01T00:00:00Z"}
    notes = [used, {**used, "id": "n-2"}, {"text": "Not counted."}]
    await service.patch({"op": "replace", "path": "/content/recent_notes", "value": notes}, over=made[-1].etag)
    usage = service_of(**service.ports()).usage
    usage.note(ALPHA, ["n-1", "gone"])
    usage.note(DYNAMIC, ["n-2"])
    await usage.flush()
    listed = (await page_of(service, section="/recent_notes")).items
    one, other, uncounted = listed
    assert (one.uses, one.last_used_at, one.said.importance) == (1, to_text(service.clock.now()), 1.0)
    assert one.live_importance == 1.0
    assert (other.uses, other.last_used_at) == (0, None)
    days = (service.clock.now() - from_text("2025-12-01T00:00:00Z")) / timedelta(days=1)
    assert other.live_importance == round(exp(-0.02 * days), 4)
    assert (uncounted.uses, uncounted.said.importance, uncounted.live_importance) == (None, None, None)
