"""RFC 3339 in, one UTC form out whose text order is time order."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.timestamps import from_text, to_text

MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=st.integers(-1439, 1439).map(
        lambda minutes: timezone(timedelta(minutes=minutes))
    )
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-02-14T20:00:00Z", "2026-02-14T20:00:00.000000Z"),
        ("2026-02-14T20:00:00.5+02:00", "2026-02-14T18:00:00.500000Z"),
        ("2026-02-14T20:00:00.123456789-00:30", "2026-02-14T20:30:00.123456Z"),
        ("2024-02-29T00:00:00+00:00", "2024-02-29T00:00:00.000000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_read_and_written(text: Any, written: Any) -> None:
    assert to_text(from_text(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-02-14",
        "2026-02-14T20:00:00",
        "2026-02-14 20:00:00Z",
        "2026-02-14T20:00Z",
        "2026-02-30T20:00:00Z",
        "2026-02-14T24:00:00Z",
        "2026-02-14T20:00:60Z",
        "2026-02-14T20:00:00,5Z",
        "2026-02-14T20:00:00+24:00",
        "2026-02-14T20:00:00+01:00:30",
        "2026-02-14T20:00:00Z\n",
        "\uff12026-02-14T20:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
    ],
)
def test_refused(text: Any) -> None:
    with pytest.raises(MalformedRequest):
        from_text(text)


@given(MOMENTS, MOMENTS)
def test_text_order_is_time_order(one: Any, other: Any) -> None:
    assert (to_text(one) < to_text(other)) == (one < other)
    assert from_text(to_text(one)) == one.astimezone(UTC)
