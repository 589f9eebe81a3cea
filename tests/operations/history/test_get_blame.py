"""The blame of a document: who wrote what, through confirmations, pages and retention, at a known cost."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import (
    DocumentNotFound,
    HistoryCorrupt,
    InvalidCursor,
    MalformedRequest,
    ValueNotFound,
    VersionNotFound,
)
from memnet.domain.core.json_patch import pointer, pointer_text
from memnet.domain.documents import audit_segments
from memnet.domain.documents.commands import ConfirmPending, IfExists
from memnet.operations.documents.pending import confirm_pending
from memnet.operations.history.get_blame import BlamePage, get_blame
from memnet.operations.history.verify_history import rebuild_documents
from memnet.stores import read_baseline, store_baseline
from tests.operations.baseline_scenario import retain, retain_newest, split
from tests.operations.service_scenario import ALICE, ALPHA, BOB, DYNAMIC, SCOPE, Service, note
from tests.operations.storage_calls import StorageCalls
from tests.services import service_of

SAID = {"conversation_id": "c1", "message_ids": ["m1"]}
MORE = {"conversation_id": "c2", "message_ids": ["m5"]}
FACT = {"id": "f1", "text": "Lives in Bern.", "confidence": 0.5, "evidence": SAID}
FACT |= {"last_verified_at": "2025-01-01T00:00:00Z"}


async def page(service: Service, at: str = "", key: Any = ALPHA, **options: Any) -> BlamePage:
    chosen: Any = {"as_of": None, "limit": 1000, "cursor": None} | options
    return await get_blame(key, pointer(at), service_of(**service.ports()), **chosen)


async def rows(service: Service, at: str = "", key: Any = ALPHA, **options: Any) -> dict[str, Any]:
    return {pointer_text(row.place): row for row in (await page(service, at, key, **options)).rows}


async def summary(service: Service, *values: str) -> list[Any]:
    """Write the summary of a project several times."""
    made: list[Any] = []
    for value in values:
        over = made[-1].etag if made else None
        op = {"op": "replace", "path": "/content/summary", "value": value}
        made.append(await service.patch(op, over=over, evidence=SAID))
    await service.background.drain()
    return made


async def test_a_value_names_its_change_and_operation_and_the_values_before(service: Any) -> None:
    first, second, third = await summary(service, "One.", "Two.", "Three.")
    (row,) = (await page(service, "/summary")).rows
    assert (row.node.value, row.is_whole, row.knows_before) == ("Three.", True, True)
    origin = row.node.origin
    assert (origin.change_id, origin.op_index, origin.verb, origin.actor) == (
        third.change_id,
        0,
        "replace",
        ALICE.principal,
    )
    assert (origin.evidence, origin.profile_id, origin.binding_id) == (SAID, "project-copilot-v1", "project_doc")
    before = [(one.value, one.origin.change_id) for one in row.before]
    assert before == [("Two.", second.change_id), ("One.", first.change_id), ("", first.change_id)]
    then = (await page(service, "/summary", as_of=second.change_id)).rows[0]
    assert (then.node.value, then.node.origin.change_id) == ("Two.", second.change_id)


async def test_a_confirmation_names_the_proposal_and_the_confirmer(service: Any) -> None:
    add = {"op": "add", "path": "/content/durable_facts/-", "value": FACT}
    made = await service.patch(add, key=DYNAMIC, confidence=0.5, evidence=SAID)
    waits = (await rows(service, "/pending_confirmations/0/target/value/text", DYNAMIC)).popitem()[1]
    assert (waits.node.value, waits.node.origin.change_id) == ("Lives in Bern.", made.change_id)
    command = ConfirmPending(
        key=DYNAMIC,
        actor=BOB,
        precondition=IfExists(),
        idempotency_key="confirm",
        pending_id=made.redirected[0]["pending_id"],
        confidence=0.9,
        evidence=MORE,
    )
    done = await confirm_pending(command, service_of(**service.ports()))
    (row,) = (await page(service, "/durable_facts/0/text", DYNAMIC)).rows
    origin = row.node.origin
    assert (origin.change_id, origin.actor, origin.proposed_by) == (done.change_id, BOB.principal, ALICE.principal)
    assert [(one.kind.value, one.origin.change_id) for one in row.node.further] == [("proposed", made.change_id)]
    # The confirmation cites a source of its own.
    assert [one.change_id for one in row.node.sources()] == [done.change_id, made.change_id]


async def test_a_rewrite_with_a_source_of_its_own_is_a_further_source_and_one_without_is_none(service: Any) -> None:
    made = await summary(service, "One.")
    same = {"op": "replace", "path": "/content/summary", "value": "One."}
    carried = await service.patch(same, over=made[0].etag)
    (row,) = (await page(service, "/summary")).rows
    assert (row.node.origin.change_id, row.node.further) == (made[0].change_id, ())
    restated = await service.patch(same, over=carried.etag, evidence=MORE)
    (row,) = (await page(service, "/summary")).rows
    assert row.node.origin.change_id == made[0].change_id
    assert [one.change_id for one in row.node.sources()] == [made[0].change_id, restated.change_id]


async def test_pages_continue_with_the_version_of_the_first_page(service: Any) -> None:
    made = await summary(service, "One.")
    tags = [{"op": "add", "path": f"/content/facets/t{n}", "value": f"v{n}"} for n in range(5)]
    over = (await service.patch(*tags, over=made[0].etag)).etag
    whole = (await page(service)).rows
    first = await page(service, limit=3)
    await service.patch(note("later"), over=over)
    rest = await page(service, limit=100, cursor=first.next_cursor)
    assert [row.place for row in [*first.rows, *rest.rows]] == [row.place for row in whole]
    assert (first.version.etag, rest.version.etag, rest.next_cursor) == (over, over, None)
    with pytest.raises(InvalidCursor):
        await page(service, "/summary", cursor=first.next_cursor)


async def test_pages_continue_in_the_same_order_once_a_new_segment_has_begun(service: Any) -> None:
    made = await summary(service, "One.")
    tags = [{"op": "add", "path": f"/content/facets/{name}", "value": name} for name in "zbay"]
    over = (await service.patch(*tags, over=made[0].etag)).etag
    first = await page(service, limit=3)
    await service.patch(note("later"), over=over)
    await service.background.drain()
    # The next page reads the same version from the baseline of the new segment.
    await split(service, ALPHA, 3)
    rest = await page(service, limit=100, cursor=first.next_cursor)
    names = [row.place[1] for row in [*first.rows, *rest.rows] if row.place[:1] == ("facets",)]
    assert names == ["a", "b", "y", "z"]


async def test_a_copied_value_has_the_values_before_neither_before_nor_after_a_new_segment(service: Any) -> None:
    made = await summary(service, "One.", "Two.")
    copied = {"op": "copy", "from": "/content/summary", "path": "/content/facets/x"}
    over = (await service.patch(copied, over=made[-1].etag)).etag
    await service.patch(note("later"), over=over)
    await service.background.drain()
    for _ in range(2):
        (row,) = (await page(service, "/facets/x")).rows
        assert (row.node.origin.change_id, row.before, row.knows_before) == (made[-1].change_id, [], False)
        await split(service, ALPHA, 4)


async def test_blame_is_the_same_before_and_after_retention(service: Any) -> None:
    await summary(service, "One.", "Two.", "Three.")
    head = await service.head()
    await service.patch({"op": "add", "path": "/content/facets/x", "value": "y"}, over=head.commit.etag)
    await service.background.drain()
    before = {at: row.node.origin for at, row in (await rows(service)).items()}
    await retain(service, ALPHA, 3)
    assert {at: row.node.origin for at, row in (await rows(service)).items()} == before
    (row,) = (await page(service, "/summary")).rows
    assert (row.knows_before, row.before, row.node.origin.sequence) == (False, [], 3)


async def test_blame_is_the_same_when_only_the_newest_record_is_left(service: Any) -> None:
    await summary(service, "One.", "Two.", "Three.")
    before = {at: row.node.origin for at, row in (await rows(service)).items()}
    await retain_newest(service, ALPHA)
    assert {at: row.node.origin for at, row in (await rows(service)).items()} == before


async def test_one_baseline_and_one_segment_are_read_and_two_of_each_for_older_values_before(service: Any) -> None:
    await summary(service, "One.", "Two.", "Three.")
    for first in (3, 4):
        await service.patch(
            {"op": "add", "path": "/content/facets/x", "value": str(first)}, over=(await service.head()).commit.etag
        )
        await service.background.drain()
    await split(service, ALPHA, 3)
    await split(service, ALPHA, 5)
    calls = StorageCalls(service)
    await page(service)
    assert calls.count("get", "05.json") == 1
    assert calls.total() <= 4
    calls.clear()
    (row,) = (await page(service, "/summary")).rows
    assert [one.value for one in row.before] == ["Two."]
    assert row.knows_before
    assert calls.total() <= 8


async def test_a_long_history_takes_no_more_calls_than_a_short_one(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", 4)
    await summary(service, *map(str, range(30)))
    calls = StorageCalls(service)
    assert (await page(service)).version.sequence == 30
    assert (calls.count("list", ""), calls.count("get", ".json")) == (1, 2)
    assert calls.total() <= 4


async def test_the_values_before_are_known_wherever_a_segment_ends(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", 4)
    made = await summary(service, *map(str, range(12)))
    over = made[-1].etag
    for number, change in enumerate(made[1:], start=1):
        (row,) = (await page(service, "/summary", as_of=change.change_id)).rows
        assert (row.knows_before, row.before[0].value) == (True, str(number - 1))
    for number in range(8):
        added = {"op": "add", "path": "/content/facets/x", "value": str(number)}
        over = (await service.patch(added, over=over)).etag
    await service.background.drain()
    calls = StorageCalls(service)
    (row,) = (await page(service, "/summary")).rows
    # The change of the value ends a segment: the next one has the record that confirms it.
    assert (row.node.origin.sequence % 4, row.knows_before, row.before[0].value) == (0, True, "10")
    assert (calls.count("get", "alpha.json"), calls.count("list", "")) == (1, 1)
    assert calls.total() <= 7


async def test_what_is_not_there_is_refused(service: Any) -> None:
    (made,) = await summary(service, "One.")
    for at in ("/unknown", "/summary/0", "/recent_notes/0", "/recent_notes/-"):
        with pytest.raises(ValueNotFound) as refusal:
            await page(service, at)
        assert refusal.value.details["pointer"] == f"/content{at}"
    with pytest.raises(DocumentNotFound):
        await page(service, key=DYNAMIC)
    with pytest.raises(VersionNotFound):
        await page(service, as_of="2020-01-01T00:00:00Z")
    with pytest.raises(MalformedRequest):
        await page(service, as_of="x")
    await service.delete(made.etag)
    with pytest.raises(DocumentNotFound):
        await page(service)
    assert (await page(service, "/summary", as_of=made.change_id)).rows[0].node.value == "One."


async def test_a_baseline_with_other_origins_is_named_and_one_that_does_not_fit_is_not_served(service: Any) -> None:
    await summary(service, "One.", "Two.", "Three.", "Four.")
    await split(service, ALPHA, 3)
    doc_id = (await service.head()).doc_id
    stored = await read_baseline(SCOPE, doc_id, 3, audit=service.audit)
    assert stored is not None
    ports = service_of(documents=service.documents, audit=service.audit)
    assert [one.fault for one in await rebuild_documents(SCOPE, ports)] == [None]
    forged = orjson.loads(orjson.dumps(stored.origins))
    forged["changes"][0]["actor"] = "svc-mallory"
    for origins, reads in ((forged, True), ({**forged, "tree": 99}, False)):
        await service.audit.delete(SCOPE, doc_id, 3, baseline=True)
        await store_baseline(replace(stored, origins=origins), audit=service.audit)
        (found,) = await rebuild_documents(SCOPE, ports)
        assert found.fault == f"{stored.change_id}: the baseline is not what its records give"
        if not reads:
            with pytest.raises(HistoryCorrupt):
                await page(service)
