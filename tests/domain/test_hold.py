"""Where holds lie and what is read of them."""

import pytest

from memnet.domain import hold
from memnet.domain.document import UserScope
from memnet.domain.errors import HistoryBroken, InvalidIdentifier
from memnet.domain.hold import HoldAction, HoldChange, HoldKey, HoldPlace, key_of, places_over

KEY = HoldKey(HoldPlace("t1", "u1"), 3)
CHANGE = HoldChange(KEY, HoldAction.PLACED, 'case "1", naïve', "svc-legal", "2026-01-01T00:00:00.000000Z")


@pytest.mark.parametrize("key", [KEY, HoldKey(HoldPlace("t1"), 1), HoldKey(HoldPlace("t1", "tenant"), 12)])
def test_a_key_and_its_name(key):
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
def test_other_names_are_none(name):
    assert key_of(name) is None


def test_what_covers_a_user():
    assert places_over(UserScope("t1", "u1")) == (HoldPlace("t1", "u1"), HoldPlace("t1"))
    with pytest.raises(InvalidIdentifier):
        HoldPlace("t1", "a/b")


def test_what_is_written_is_read_and_nothing_else():
    data = hold.dump(CHANGE)
    assert hold.load(KEY, data) == CHANGE
    for other in (b"", b"{}", b"[]", b"\xff", data + b" ", data.replace(b"placed", b"removed"), data[:-1]):
        with pytest.raises(HistoryBroken):
            hold.load(KEY, other)
    for moved in (HoldKey(HoldPlace("t1", "u2"), 3), HoldKey(HoldPlace("t1"), 3), HoldKey(KEY.place, 4)):
        with pytest.raises(HistoryBroken):
            hold.load(moved, data)
