"""Rebuilding from storage alone, which may be damaged in any way."""

import gc
import itertools
from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import orjson
import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import VaultUnavailable
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_record import Version, record_bytes
from memnet.domain.documents.audit_values import AuditRecordLocation, seal
from memnet.operations.documents.outbox import sweep_user
from memnet.operations.history import verify_history as module
from memnet.operations.history.verify_history import rebuild_documents
from memnet.paging import rows
from memnet.stores import KeyRing
from tests.memory_blobs import storage_of
from tests.operations.baseline_scenario import line_of, split
from tests.operations.rebuilt import rebuilt_histories
from tests.operations.service_scenario import ALPHA, SCOPE, Service, note
from tests.services import service_of

BETA, GAMMA = DocumentKey(SCOPE, "projects", "beta.json"), DocumentKey(SCOPE, "projects", "gamma.json")


async def rebuilt(service: Service, scope: Any = SCOPE) -> Any:
    return await rebuilt_histories(scope, documents=service.documents, audit=service.audit)


async def overwrite(service: Service, key: DocumentKey, data: bytes) -> None:
    """Put other bytes in a document's place, behind the service's back."""
    stored = await service.documents.get(key)
    summary = envelope.summarise(await service.head())
    await service.documents.put(key, data, summary, replaces=stored.storage_etag if stored else None)


@pytest.fixture
async def filled(service: Any) -> Any:
    """Alpha with five changes, beta with three, another user's document."""
    service.alpha = await service.count_up(5)
    service.beta = await service.count_up(3, BETA)
    await service.count_up(2, DocumentKey(UserScope("t1", "u2"), "projects", "alpha.json"))
    return service


async def test_every_version_of_every_document_of_the_user(filled: Any) -> None:
    alpha, beta = await rebuilt(filled)
    assert (alpha.key, alpha.fault, alpha.changes) == (ALPHA, None, 5)
    assert (beta.key, beta.fault, beta.changes) == (BETA, None, 3)
    assert [version.document["content"]["summary"] for version in beta.versions] == ["note 0", "note 1", "note 2"]
    assert canonical(alpha.versions[-1].document) == envelope.visible(await filled.head())


async def test_a_lost_document_is_rebuilt_from_its_records_alone(filled: Any) -> None:
    before = envelope.visible(await filled.head())
    storage_of(filled.documents).drop(ALPHA.blob_name)
    filled.documents._cache.forget(ALPHA)
    alpha, beta = await rebuilt(filled)
    assert (alpha.key, alpha.fault) == (ALPHA, "there is no document for these records")
    assert canonical(alpha.versions[-1].document) == before
    assert beta.fault is None


@pytest.mark.parametrize("number", range(1, 6))
@pytest.mark.parametrize("damage", [None, b"", b"{", b"[]", b"5", b"null", b"\xff\xfe", b"{}", b'{"change_id":5}'])
async def test_a_missing_or_unreadable_record_is_named(filled: Any, number: Any, damage: Any) -> None:
    change_id = filled.alpha[number - 1].change_id
    filled.audit.tamper(SCOPE, change_id, damage)
    alpha, beta = await rebuilt(filled)
    assert beta.fault is None
    assert alpha.fault.startswith(change_id)
    assert alpha.key == ALPHA


@pytest.mark.parametrize("number", range(1, 6))
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"svc-alice", b"svc-alicf"),
        (b'"values_hash":"', b'"values_hash":"0'),
        (b'"ciphertext":"', b'"ciphertext":"AAAA'),
        (b'"sealed":1', b'"sealed":2'),
        (b'"actor":"svc-alice"', b'"actor":"svc-mallory","actor":"svc-alice"'),
        (b'"actor":', b'"actor": '),
        (b"t1", b"t2"),
        (b"alpha.json", b"beta.json"),
    ],
)
async def test_a_flipped_byte_is_named(filled: Any, number: Any, old: Any, new: Any) -> None:
    change_id = filled.alpha[number - 1].change_id
    data = line_of(filled.audit, SCOPE, change_id)
    assert old in data
    filled.audit.tamper(SCOPE, change_id, data.replace(old, new, 1))
    alpha, beta = await rebuilt(filled)
    assert alpha.fault.startswith(change_id)
    assert beta.fault is None


@pytest.mark.parametrize("data", [b"", b"{", b"null", b"{}", b"\xff", b'{"commit":{"sequence":1,"outbox":[1]}}'])
async def test_an_unreadable_document_is_reported_and_its_records_are_rebuilt(filled: Any, data: Any) -> None:
    await overwrite(filled, ALPHA, data)
    found = await rebuilt(filled)
    assert [(one.key, one.fault, one.changes) for one in found] == [
        (ALPHA, "the document cannot be read", 0),
        (ALPHA, "there is no document for these records", 5),
        (BETA, None, 3),
    ]


async def test_a_document_copied_to_another_name_is_reported(filled: Any) -> None:
    stored = await filled.documents.get(ALPHA)
    copy = DocumentKey(SCOPE, "projects", "copy.json")
    await overwrite(filled, copy, stored.data)
    faults = {one.key: one.fault for one in await rebuilt(filled)}
    assert faults[ALPHA] is None
    assert faults[BETA] is None
    assert faults[copy].endswith("the record speaks of another document")


async def test_a_document_that_was_set_back_is_reported(filled: Any) -> None:
    old = await filled.documents.get(ALPHA)
    await filled.patch(note("newer"), over=filled.alpha[-1].etag)
    await filled.background.drain()
    await overwrite(filled, ALPHA, old.data)
    alpha, _ = await rebuilt(filled)
    assert alpha.fault.endswith("-000000000006: the document is older than this record")


async def test_altered_content_is_reported(filled: Any) -> None:
    members = orjson.loads((await filled.documents.get(ALPHA)).data)
    members["content"]["summary"] = "forged"
    await overwrite(filled, ALPHA, canonical(members))
    alpha, _ = await rebuilt(filled)
    assert alpha.fault.startswith(filled.alpha[-1].change_id)
    assert "forged" not in alpha.fault


async def test_an_altered_outbox_is_reported(filled: Any) -> None:
    members = orjson.loads((await filled.documents.get(ALPHA)).data)
    members["commit"]["outbox"][0]["actor"] = "svc-mallory"
    await overwrite(filled, ALPHA, canonical(members))
    alpha, _ = await rebuilt(filled)
    assert alpha.fault == f"{filled.alpha[-1].change_id}: the record in audit/ differs from the one in the document"


@pytest.mark.parametrize(
    "name",
    [
        "stray",
        "doc-9/000000000001.jsonl",
        "{alpha}/000000000006.jsonl",
        "{alpha}/000000000000.jsonl",
        "{alpha}/zzz.jsonl",
        "{alpha}/1.jsonl",
        "{alpha}/old/000000000001.jsonl",
        "not an id/000000000001.jsonl",
    ],
)
async def test_a_stray_blob_is_reported_and_hides_nothing(filled: Any, name: str) -> None:
    storage_of(filled.audit).overwrite(
        f"{SCOPE.prefix}audit/{name.format(alpha=filled.alpha[0].change_id[:-13])}", b'{"x":1}'
    )
    found = await rebuilt(filled)
    assert [one.fault is None for one in found].count(False) == 1
    assert [one.changes for one in found if one.key] == [5, 3]


async def test_more_than_one_page(filled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "rows", partial(rows, size=2))
    assert [(one.fault, one.changes) for one in await rebuilt(filled)] == [(None, 5), (None, 3)]


async def test_what_it_keeps_does_not_grow_with_the_number_of_changes(filled: Any) -> None:
    """One version at a time, and no more segments than are read at the same time."""
    await filled.count_up(100, key=GAMMA)
    for first in range(11, 100, 10):
        await split(filled, GAMMA, first)
    filled.audit.calls.clear()
    most: Counter[str] = Counter()

    def begin(doc_id: Any, key: Any) -> Any:
        before, taken = filled.audit.calls["read"], itertools.count()

        def visit(version: Any) -> None:
            number = next(taken)
            most["segments"] = max(most["segments"], filled.audit.calls["read"] - before - number // 10)
            if number % 45 == 0:
                # To look at every object takes long.
                alive = sum(type(one) is Version for one in gc.get_objects())
                most["versions"] = max(most["versions"], alive)

        return visit

    found = await rebuild_documents(SCOPE, service_of(documents=filled.documents, audit=filled.audit), begin=begin)
    assert [(one.changes, one.fault, one.marks) for one in found] == [(5, None, {}), (3, None, {}), (100, None, {})]
    assert most["segments"] == module.READ_AHEAD
    assert 1 <= most["versions"] <= 3


@pytest.mark.parametrize("changes", [1, 3])
@pytest.mark.parametrize("days", [0, 40])
async def test_changes_made_while_it_reads_are_no_fault(filled: Any, changes: Any, days: int) -> None:
    """Committed and flushed after a segment was read, and before the document is compared; also in later segments."""
    read, etag = filled.audit.read, filled.alpha[-1].etag

    async def read_then_change(*arguments: Any, **options: Any) -> Any:
        nonlocal etag, changes
        if changes:
            changes -= 1
            filled.audit.read = read
            filled.clock.advance(timedelta(days=days))
            etag = (await filled.patch(note(f"meanwhile {changes}"), over=etag)).etag
            await filled.background.drain()
            await sweep_user(SCOPE, service_of(documents=filled.documents, audit=filled.audit, clock=filled.clock))
            filled.audit.read = read_then_change
        return await read(*arguments, **options)

    filled.audit.read = read_then_change
    alpha, beta = await rebuilt(filled)
    assert (alpha.fault, beta.fault) == (None, None)
    # A segment that was created after the listing holds newer changes than the document that was read.
    assert days or (changes == 0 and alpha.changes > 5)


async def test_a_vault_that_is_down_is_no_fault(filled: Any) -> None:
    filled.vault.cache.forget(SCOPE)

    async def down(*arguments: Any) -> None:
        raise VaultUnavailable()

    filled.tenant_keys.version = down
    with pytest.raises(VaultUnavailable):
        await rebuilt(filled)


async def test_an_older_ciphertext_of_the_same_change_is_named(filled: Any) -> None:
    """A rival's attempt was sealed for the same place with the same key: it is another change all the same."""
    record = await filled.record(2)
    place = AuditRecordLocation(SCOPE, record["change_id"])
    data_key = await KeyRing(filled.vault).get_or_create(SCOPE)
    rival = seal({**record, "note": "a rival"}, place, data_key=data_key, nonce=bytes(12))
    filled.audit.tamper(SCOPE, record["change_id"], record_bytes(rival))
    alpha, _ = await rebuilt(filled)
    assert alpha.fault == f"{record['change_id']}: its values do not open"
