"""A sealed baseline in each store: what lies there says nothing, and runs at once put the same one in place."""

import asyncio
from typing import Any

import pytest

from memnet.adapters.memory.keys import MemoryTenantKeys
from memnet.adapters.system import RandomIds, SystemClock
from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.history.baseline import Baseline
from memnet.operations.sealing import rotate_keys
from memnet.stores import AuditLog, ItemStore, Vault, read_baseline, store_baseline

SCOPE = UserScope("t1", "u1")
SECRET = "My door code is 4711-quokka."


@pytest.fixture
def audit(audit: AuditLog, records: ItemStore) -> AuditLog:
    """An empty AuditLog with stored data keys and a tenant key in memory."""
    ids = RandomIds()
    audit.vault = Vault(records, MemoryTenantKeys(ids), ids, SystemClock())
    return audit


def a_baseline(content: object) -> Baseline:
    return Baseline(
        key=DocumentKey(SCOPE, "projects", "alpha.json"),
        doc_id="d",
        sequence=7,
        record_hash="a" * 64,
        etag=ETag('"7-0000000000000000"'),
        timestamp="2026-01-01T00:00:00.000000Z",
        actor="svc-a",
        schema_id="s",
        schema_version="1",
        schema_sha256=None,
        created_at="2026-01-01T00:00:00.000000Z",
        created_sequence=1,
        profile_id=None,
        deleted=False,
        content=content,
    )


async def test_a_baseline_is_stored_sealed_and_read_unchanged(audit: Any) -> None:
    baseline = a_baseline({"said": SECRET})
    await store_baseline(baseline, audit=audit)
    assert SECRET.encode() not in await audit.read_baseline(SCOPE, baseline.change_id)
    assert await read_baseline(SCOPE, "d", audit=audit) == baseline


async def test_runs_at_once_and_later_ones_put_the_same_one_in_place(audit: Any) -> None:
    baseline = a_baseline({"said": SECRET})
    await asyncio.gather(*(store_baseline(baseline, audit=audit) for _ in range(5)))
    first = await audit.read_baseline(SCOPE, baseline.change_id)
    await rotate_keys("t1", "u1", vault=audit.vault)
    await store_baseline(baseline, audit=audit)
    assert await audit.read_baseline(SCOPE, baseline.change_id) == first
    with pytest.raises(HistoryCorrupt):
        await store_baseline(a_baseline({"said": "something else"}), audit=audit)
    assert await audit.read_baseline(SCOPE, baseline.change_id) == first
