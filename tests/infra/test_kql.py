"""The evaluator answers as Kusto does, and refuses what it does not know."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.infra.kql import KqlError, metrics_of, properties_of, run

T = datetime(2026, 2, 14, 20, 3, tzinfo=UTC)
ROWS = [
    {"TimeGenerated": T, "Name": "a", "Sum": 3.0, "ItemCount": 2, "Properties": {"status": "200", "who": "x"}},
    {"TimeGenerated": T, "Name": "a", "Sum": 5.0, "ItemCount": 1, "Properties": {"status": "500", "who": "y"}},
    {"TimeGenerated": T.replace(minute=7), "Name": "b", "Sum": 1.0, "ItemCount": 4, "Properties": {"status": "gone"}},
]


def found(query: str) -> list[dict[str, Any]]:
    return run(query, {"T": ROWS})


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ('T // said\n| where Name == "a" and Sum > 4 | project Sum', [{"Sum": 5.0}]),
        ("T | where Name in ('b', 'c') or Sum >= 5 | project Name", [{"Name": "a"}, {"Name": "b"}]),
        ("T | extend S = toint(Properties.status) | where S >= 500 | project S", [{"S": 500}]),
        ("T | where toint(Properties.status) < 500 | project Name", [{"Name": "a"}]),
        ("T | summarize N = count()", [{"N": 3}]),
        ("T | where Sum > 99 | summarize N = count()", [{"N": 0}]),
        ("T | where Sum > 99 | summarize N = count() by Name", []),
        ("T | summarize V = 100.0 * sumif(Sum, Name == 'a') / sum(Sum)", [{"V": 800 / 9}]),
        ("T | summarize V = max(Sum / ItemCount) by Name", [{"Name": "a", "V": 5.0}, {"Name": "b", "V": 0.25}]),
        ("T | summarize V = sum(ItemCount) / 2", [{"V": 3}]),
        ("T | summarize V = avg(Sum), L = min(Sum), C = countif(Sum > 2)", [{"V": 3.0, "L": 1.0, "C": 2}]),
        ("T | where Sum > 99 | summarize V = max(Sum)", [{"V": None}]),
        (
            "T | summarize N = count(), percentiles(Sum, 50, 95)",
            [{"N": 3, "percentile_Sum_50": 3.0, "percentile_Sum_95": 5.0}],
        ),
        (
            "T | where Sum > 1 | summarize percentiles(Sum, 50) by Name",
            [{"Name": "a", "percentile_Sum_50": 3.0}],
        ),
        ("T | project V = Sum * (ItemCount - 2) + 1 | where V > 0", [{"V": 1.0}, {"V": 3.0}]),
        ("T | where Name == 'b' | project W = strcat(Name, '/', tostring(Properties.who))", [{"W": "b/"}]),
    ],
)
def test_it_answers(query: str, values: list[dict[str, Any]]) -> None:
    assert found(query) == values


def test_times_fall_into_bins() -> None:
    rows = found("T | summarize V = sum(Sum) by bin(TimeGenerated, 5m)")
    assert rows == [
        {"TimeGenerated": T.replace(minute=0), "V": 8.0},
        {"TimeGenerated": T.replace(minute=5), "V": 1.0},
    ]


@pytest.mark.parametrize(
    "query",
    [
        "U",
        "T | take 5",
        "T | where Unknown == 1",
        "T | where percentile(Sum, 95) > 1",
        "T | where sum(Sum) > 1",
        "T | summarize V = sum()",
        "T | summarize percentiles(Unknown, 50)",
        "T | project percentiles(Sum, 50)",
        "T | where Name == 'a' Sum",
        "T | where Name contains 'a'",
        "T | where Name == 'a",
        "T | where",
        "T | where Sum > 1;",
        "T | project V = Sum / (ItemCount - 1)",
    ],
)
def test_unsupported_queries_are_refused(query: str) -> None:
    with pytest.raises(KqlError):
        found(query)


def test_the_metrics_and_labels_of_a_query() -> None:
    query = 'T | where Name in ("memnet.a", "memnet.b") | extend X = tostring(Properties.x), Y = Properties.y'
    assert metrics_of(query) == {"memnet.a", "memnet.b"}
    assert properties_of(query) == {"x", "y"}
