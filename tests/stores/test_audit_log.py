"""The AuditLog."""

import asyncio
from functools import partial
from typing import Any

import pytest

from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.scope import UserScope
from memnet.paging import rows
from memnet.stores import AuditLog

SCOPE = UserScope("t1", "u1")
RECORD = '{"actor":"naïve 文档"}'.encode()


async def all_ids(audit: AuditLog, scope: UserScope, prefix: str, limit: int) -> list[str]:
    return [change_id async for change_id in rows(partial(audit.list, scope, prefix), limit)]


async def test_appending_the_same_bytes_again_is_success(audit: Any) -> None:
    await audit.append(SCOPE, "d-0001", RECORD)
    await audit.append(SCOPE, "d-0001", RECORD)
    assert await audit.read(SCOPE, "d-0001") == RECORD
    assert audit.is_flushed(SCOPE, "d-0001")


async def test_racing_forks_have_one_winner(audit: Any) -> None:
    outcomes = await asyncio.gather(
        *(audit.append(SCOPE, "d-0001", str(n).encode()) for n in range(10)), return_exceptions=True
    )
    winners = [n for n, outcome in enumerate(outcomes) if outcome is None]
    assert len(winners) == 1
    assert all(isinstance(outcome, HistoryCorrupt) for outcome in outcomes if outcome is not None)
    assert await audit.read(SCOPE, "d-0001") == str(winners[0]).encode()


async def test_list_is_in_name_order_and_by_prefix(audit: Any) -> None:
    for change_id in ("d-0002", "d-0001", "d-0010", "e-0001"):
        await audit.append(SCOPE, change_id, RECORD)
    for limit in (1, 3, 100):
        assert await all_ids(audit, SCOPE, "", limit) == ["d-0001", "d-0002", "d-0010", "e-0001"]
    assert await all_ids(audit, SCOPE, "d-", 2) == ["d-0001", "d-0002", "d-0010"]
    assert await all_ids(audit, SCOPE, "d-00", 2) == ["d-0001", "d-0002", "d-0010"]
    assert await all_ids(audit, SCOPE, "x", 2) == []


@pytest.mark.parametrize("neighbour", [UserScope("t1", "u10"), UserScope("t10", "u1"), UserScope("t1", "u")])
async def test_neighbours_do_not_meet(audit: Any, neighbour: Any) -> None:
    await audit.append(neighbour, "d-0001", RECORD)
    assert await audit.read(SCOPE, "d-0001") is None
    assert not audit.is_flushed(SCOPE, "d-0001")
    assert await all_ids(audit, SCOPE, "", 10) == []


@pytest.mark.parametrize("change_id", ["", "..", "../../u2/audit/d-0001", "a/b", "a?b", "a%2Fb", "a#b"])
async def test_a_change_id_cannot_lead_elsewhere(audit: Any, change_id: Any) -> None:
    await audit.append(UserScope("t1", "u2"), "d-0001", RECORD)
    with pytest.raises(InvalidIdentifier):
        await audit.read(SCOPE, change_id)
    with pytest.raises(InvalidIdentifier):
        await audit.append(SCOPE, change_id, RECORD)
    with pytest.raises(InvalidIdentifier):
        audit.is_flushed(SCOPE, change_id)


async def test_a_deleted_record_is_gone_and_can_be_written_again(audit: Any) -> None:
    for _ in range(2):
        await audit.append(SCOPE, "d-0001", RECORD)
        await audit.append(SCOPE, "d-0002", RECORD)
        await audit.delete(SCOPE, "d-0001")
        await audit.delete(SCOPE, "d-0001")
        assert await audit.read(SCOPE, "d-0001") is None
        assert not audit.is_flushed(SCOPE, "d-0001")
        assert await all_ids(audit, SCOPE, "", 10) == ["d-0002"]


async def test_baselines_stand_apart_from_records(audit: Any) -> None:
    await audit.append(SCOPE, "d-0001", RECORD)
    await audit.append_baseline(SCOPE, "d-0002", b"2")
    await audit.append_baseline(SCOPE, "d-0001", b"1")
    await audit.append_baseline(SCOPE, "d-0001", b"1")
    with pytest.raises(HistoryCorrupt):
        await audit.append_baseline(SCOPE, "d-0001", b"other")
    assert (await audit.read(SCOPE, "d-0001"), await audit.read_baseline(SCOPE, "d-0001")) == (RECORD, b"1")
    assert not audit.is_flushed(SCOPE, "d-0002")
    assert await all_ids(audit, SCOPE, "", 10) == ["d-0001"]
    page = await audit.list_baselines(SCOPE, "d-", limit=1, cursor=None)
    assert page.items == ["d-0001"]
    assert (await audit.list_baselines(SCOPE, "d-", limit=1, cursor=page.next_cursor)).items == ["d-0002"]
    assert (await audit.list_baselines(UserScope("t1", "u10"), "", limit=9, cursor=None)).items == []
    for _ in range(2):
        await audit.delete_baseline(SCOPE, "d-0001")
    assert await audit.read_baseline(SCOPE, "d-0001") is None
    assert await audit.read(SCOPE, "d-0001") == RECORD
    for call in (audit.delete, audit.delete_baseline, audit.read_baseline):
        with pytest.raises(InvalidIdentifier):
            await call(SCOPE, "../../u2/audit/d-0001")
