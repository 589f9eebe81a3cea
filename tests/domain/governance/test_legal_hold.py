"""The names, the parsing and the chain of the changes of legal holds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from memnet.domain.core.canonical_json import sha256_hex
from memnet.domain.core.errors import HistoryCorrupt, InvalidIdentifier
from memnet.domain.core.scope import UserScope
from memnet.domain.governance import legal_hold
from memnet.domain.governance.legal_hold import (
    FIRST_HASH,
    HoldAction,
    HoldChange,
    HoldKey,
    HoldTarget,
    check_row,
    key_of,
    targets_over,
)

KEY = HoldKey(HoldTarget("t1", "u1"), 3)
AT = "2026-01-01T00:00:00.000000Z"
CHANGE = HoldChange(KEY, HoldAction.PLACED, 'case "1", naïve', "svc-legal", AT, "a" * 64)
TENANT = HoldTarget("t1")


@pytest.mark.parametrize("key", [KEY, HoldKey(HoldTarget("t1"), 1), HoldKey(HoldTarget("t1", "tenant"), 12)])
def test_a_key_and_its_name(key: HoldKey) -> None:
    assert key_of(key.blob_name) == key
    # Outside of every user's prefix.
    assert not key.blob_name.startswith("tenants/")


@pytest.mark.parametrize(
    "name",
    [
        "holds/t1/tenant/1.json",
        "holds/t1/tenant/00000000000x.json",
        "holds/t1/others/u1/000000000001.json",
        "holds/t1/users/u1/more/000000000001.json",
        "holds/t1/users/../000000000001.json",
        "holds/t1",
        "tenants/t1/users/u1/documents/a/b",
    ],
)
def test_other_names_are_not_keys(name: str) -> None:
    assert key_of(name) is None


def test_the_targets_over_a_user() -> None:
    assert targets_over(UserScope("t1", "u1")) == (HoldTarget("t1", "u1"), HoldTarget("t1"))
    with pytest.raises(InvalidIdentifier):
        HoldTarget("t1", "a/b")


def test_a_change_reads_back_and_other_bytes_are_refused() -> None:
    data = legal_hold.dump(CHANGE)
    assert legal_hold.load(KEY, data) == CHANGE
    for other in (b"", b"{}", b"[]", b"\xff", data + b" ", data.replace(b"placed", b"removed"), data[:-1]):
        with pytest.raises(HistoryCorrupt):
            legal_hold.load(KEY, other)
    for moved in (HoldKey(HoldTarget("t1", "u2"), 3), HoldKey(HoldTarget("t1"), 3), HoldKey(KEY.target, 4)):
        with pytest.raises(HistoryCorrupt):
            legal_hold.load(moved, data)


def row(*actions: HoldAction, target: HoldTarget = KEY.target) -> list[HoldChange]:
    """Return consecutive changes of one hold."""
    found: list[HoldChange] = []
    for number, action in enumerate(actions):
        key, previous = legal_hold.following(found[-1] if found else None, target)
        found.append(HoldChange(key, action, f"case {number}", "svc-legal", AT, previous))
    return found


PLACED, RELEASED = HoldAction.PLACED, HoldAction.RELEASED
FOUR = (PLACED, RELEASED, PLACED, RELEASED)


@pytest.mark.parametrize("target", [KEY.target, TENANT])
def test_consecutive_changes_are_valid(target: HoldTarget) -> None:
    changes = row(*FOUR, target=target)
    assert [change.key.number for change in changes] == [1, 2, 3, 4]
    for length in range(5):
        check_row(changes[:length])
    assert row(*FOUR)[0].previous == FIRST_HASH
    assert row(*FOUR)[1].previous == sha256_hex(legal_hold.dump(row(*FOUR)[0]))


def test_the_oldest_changes_may_be_missing() -> None:
    for target in (KEY.target, TENANT):
        for gone in range(4):
            check_row(row(*FOUR, target=target)[gone:])


def _altered(number: int, **members: str) -> Callable[[list[HoldChange]], Sequence[HoldChange]]:
    return lambda changes: [*changes[:number], replace(changes[number], **members), *changes[number + 1 :]]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        lambda changes: [changes[0], *changes[2:]],
        lambda changes: [*changes[:2], changes[3]],
        lambda changes: [changes[0], changes[2], changes[1], changes[3]],
        lambda changes: [changes[0], changes[0], *changes[1:]],
        lambda changes: [*changes[:2], replace(changes[2], key=HoldKey(TENANT, 3)), changes[3]],
        lambda changes: [*changes[:2], replace(changes[3], key=changes[2].key)],
        _altered(0, reason="another case"),
        _altered(1, actor="somebody else"),
        _altered(2, action=RELEASED),
        _altered(0, previous="b" * 64),
        _altered(2, previous="b" * 64),
        _altered(2, previous=FIRST_HASH),
    ],
)
def test_a_missing_moved_or_altered_change_is_detected(change: Any) -> None:
    with pytest.raises(HistoryCorrupt):
        check_row(change(row(*FOUR)))


def test_a_later_change_cannot_name_the_first_hash() -> None:
    with pytest.raises(HistoryCorrupt):
        check_row([replace(CHANGE, previous=FIRST_HASH)])
