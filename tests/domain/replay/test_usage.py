"""The usage record: counted once by replay, by day, for two days."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import ArchiveInvalid, HistoryCorrupt
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.archive import EntryKind
from memnet.domain.governance.archive_entry import StoredItem, is_same, read_entry, usage_line
from memnet.domain.replay import usage as usages
from memnet.domain.replay.usage import MAX_RECENT, Recent, Spent, new_usage, remember
from tests.domain.samples import SCOPE

NEW = new_usage(SCOPE, datetime(2026, 1, 1, tzinfo=UTC))
ONE, TWO, THREE = "2026-01-01", "2026-01-02", "2026-01-03"


def test_a_replay_is_counted_once_whatever_the_day() -> None:
    usage = NEW.count(ONE, "rpl-1", 700).count(ONE, "rpl-2", 30).count(TWO, "rpl-1", 700).count(ONE, "rpl-2", 30)
    assert usage.spent(ONE) == Spent(2, 730)
    assert usage.spent(TWO) == Spent(0, 0)
    assert usage.spent(ONE, without="rpl-1") == Spent(1, 30)


def test_two_days_are_kept() -> None:
    usage = NEW.count(ONE, "rpl-1", 1).count(TWO, "rpl-2", 2).count(THREE, "rpl-3", 3)
    assert sorted(usage.days) == [TWO, THREE]
    assert usage.count(ONE, "rpl-4", 4).days.keys() == {TWO, THREE}, "a late one does not matter any more"


def test_the_newest_texts_are_remembered() -> None:
    assert remember(["a", "b", "c"], ["b", "d"]) == ["a", "c", "b", "d"]
    assert len(remember([str(number) for number in range(MAX_RECENT)], ["new"])) == MAX_RECENT
    assert usages.load_recent(usages.dump_recent(Recent(["a", "b"], ["c"]))) == Recent(["a", "b"], ["c"])


def test_reading_returns_what_was_written() -> None:
    usage = NEW.count(ONE, "rpl-1", 700)
    assert usages.load(usages.dump(usage)) == usage


def test_an_archive_has_it_without_its_sealed_part() -> None:
    line = usage_line(usages.dump(replace(NEW.count(ONE, "rpl-1", 700), sealed={"data": "…"})))
    assert b"sealed" not in line
    entry = read_entry(EntryKind.USAGE, SCOPE, line)
    assert isinstance(entry, StoredItem)
    assert usages.load(entry.data) == NEW.count(ONE, "rpl-1", 700)
    assert is_same(entry, usages.dump(replace(NEW.count(ONE, "rpl-1", 700), sealed={"data": "…"})))
    with pytest.raises(ArchiveInvalid):
        read_entry(EntryKind.USAGE, UserScope("t1", "other"), line)


@pytest.mark.parametrize(
    "members", [{"days": {"today": {}}}, {"days": {ONE: {"r": "x"}}}, {"user_id": "a/b"}, {"days": []}]
)
def test_a_corrupt_record_is_refused(members: dict[str, Any]) -> None:
    stored = {**orjson.loads(usages.dump(NEW)), **members}
    with pytest.raises(HistoryCorrupt):
        usages.load(orjson.dumps(stored))
    with pytest.raises(HistoryCorrupt):
        usages.load_recent(b"{}")
