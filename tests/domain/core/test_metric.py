"""The metrics: named once, with labels of the closed list alone."""

import re

from memnet.domain.core.metric import LABELS, METRICS, MetricKind

NOBODY = re.compile(r"tenant|user|principal|path|namespace|document_id|content|text")


def test_names_are_the_service_s_own_and_each_its_own() -> None:
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"memnet(\.[a-z_]+)+", name) for name in names)


def test_labels_are_in_the_closed_list() -> None:
    assert {label for metric in METRICS for label in metric.labels} <= set(LABELS)
    assert [label for label in LABELS if NOBODY.search(label)] == []


def test_histograms_have_rising_bounds_and_gauges_no_labels() -> None:
    for metric in METRICS:
        assert list(metric.bounds) == sorted(set(metric.bounds))
        assert bool(metric.bounds) == (metric.kind is MetricKind.HISTOGRAM)
        assert metric.kind is not MetricKind.GAUGE or metric.labels == ()


def test_what_operators_have_to_know_is_there() -> None:
    """What alerts, the workbook and the console of operators are made from, by these very names."""
    assert {metric.name: metric.labels for metric in METRICS} == {
        "memnet.request.duration": ("operation", "status"),
        "memnet.write.count": ("operation", "outcome", "profile_id", "binding_id"),
        "memnet.document.size_ratio": ("profile_id", "binding_id"),
        "memnet.documents.unreadable": ("profile_id", "binding_id"),
        "memnet.replays": ("outcome",),
        "memnet.extractions": ("outcome",),
        "memnet.models.tokens": ("profile_id", "direction"),
        "memnet.replay.duration": ("outcome",),
        "memnet.replay.patches": ("outcome",),
        "memnet.replay.oldest_age": (),
        "memnet.search.duration": ("outcome",),
        "memnet.search.results": ("outcome",),
        "memnet.recall.duration": ("stage",),
        "memnet.recall.results": ("outcome",),
        "memnet.index.lag": (),
        "memnet.jobs.dead_lettered": ("operation", "outcome"),
        "memnet.retractions": ("outcome",),
        "memnet.retraction.values": ("outcome",),
        "memnet.erasure.oldest_age": (),
        "memnet.usage.counted": ("outcome",),
        "memnet.consolidation.count": ("outcome",),
        "memnet.upkeep.overdue": (),
        "memnet.upkeep.oldest_run_age": (),
    }
