"""The metrics for operators and their labels.

Labels and their values are closed lists: operations, statuses, outcomes, and the ids of profiles and bindings in the
catalog. None of them identifies a tenant, a user, a document or its content.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LABELS: Final = ("operation", "status", "outcome", "profile_id", "binding_id", "direction", "stage")
"""All labels. A new one needs a decision, because all readers of the telemetry see its values."""
UNKNOWN: Final = "unknown"
"""Replaces a profile or binding that is not in the catalog, so that telemetry holds no text from a client."""


class MetricKind(StrEnum):
    """How the values of a metric are combined."""

    COUNTER = "counter"
    HISTOGRAM = "histogram"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. Every value has exactly its labels."""

    name: str
    kind: MetricKind
    unit: str
    """As in UCUM: s, 1, {something}."""
    meaning: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()


_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0)
"""With those of the objectives: 0.15 for reads, 0.3 for patches."""

REQUEST_DURATION: Final = Metric(
    "memnet.request.duration",
    MetricKind.HISTOGRAM,
    "s",
    "How long requests took, by operation and status.",
    ("operation", "status"),
    _SECONDS,
)
WRITES: Final = Metric(
    "memnet.write.count",
    MetricKind.COUNTER,
    "{write}",
    "Writes requested by clients, by outcome.",
    ("operation", "outcome", "profile_id", "binding_id"),
)
SIZE_RATIO: Final = Metric(
    "memnet.document.size_ratio",
    MetricKind.HISTOGRAM,
    "1",
    "Size of written documents as a share of their binding's `max_chars`.",
    ("profile_id", "binding_id"),
    (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0),
)
UNREADABLE_DOCUMENTS: Final = Metric(
    "memnet.documents.unreadable",
    MetricKind.COUNTER,
    "{document}",
    "Documents missing from a context because their stored bytes cannot be read.",
    ("profile_id", "binding_id"),
)
REPLAYS: Final = Metric("memnet.replays", MetricKind.COUNTER, "{replay}", "Finished replays by outcome.", ("outcome",))
REPLAY_DURATION: Final = Metric(
    "memnet.replay.duration",
    MetricKind.HISTOGRAM,
    "s",
    "How long replays took from the acceptance of the snapshot to their end.",
    ("outcome",),
    (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 14400.0),
)
"""With the bound of the objective: 300."""
REPLAY_PATCHES: Final = Metric(
    "memnet.replay.patches",
    MetricKind.COUNTER,
    "{patch}",
    "Patches of finished replays by outcome.",
    ("outcome",),
)
REPLAY_OLDEST_AGE: Final = Metric(
    "memnet.replay.oldest_age", MetricKind.GAUGE, "s", "Age of the oldest unfinished replay; 0: there is none."
)
EXTRACTIONS: Final = Metric(
    "memnet.extractions",
    MetricKind.COUNTER,
    "{extraction}",
    "Planned replays by what extracted: model, rules, or the gate that skipped the extraction.",
    ("outcome",),
)
MODEL_TOKENS: Final = Metric(
    "memnet.models.tokens",
    MetricKind.COUNTER,
    "{token}",
    "Tokens of the model calls of replays, as the providers count them; direction: in or out.",
    ("profile_id", "direction"),
)
CONSOLIDATED: Final = Metric(
    "memnet.consolidation.count",
    MetricKind.COUNTER,
    "{statement}",
    "Consolidation: statements that were closed because another one says the same (consolidated), and the texts of a "
    "model that were written (reworded), wait for a confirmation (proposed) or say something else (refused).",
    ("outcome",),
)
SEARCH_DURATION: Final = Metric(
    "memnet.search.duration",
    MetricKind.HISTOGRAM,
    "s",
    "How long the index took for a search.",
    ("outcome",),
    _SECONDS,
)
SEARCH_RESULTS: Final = Metric(
    "memnet.search.results",
    MetricKind.HISTOGRAM,
    "{event}",
    "Events found by a search, up to its limit.",
    ("outcome",),
    (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
)
RECALL_DURATION: Final = Metric(
    "memnet.recall.duration",
    MetricKind.HISTOGRAM,
    "s",
    "How long the stages of recalls took: gather, rank and write.",
    ("stage",),
    _SECONDS,
)
RECALL_RESULTS: Final = Metric(
    "memnet.recall.results",
    MetricKind.HISTOGRAM,
    "{result}",
    "Results in the answers of recalls.",
    ("outcome",),
    (0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0),
)
INDEX_LAG: Final = Metric(
    "memnet.index.lag", MetricKind.GAUGE, "s", "Age of the oldest event that is not indexed; 0: there is none."
)
DEAD_LETTERS: Final = Metric(
    "memnet.jobs.dead_lettered",
    MetricKind.COUNTER,
    "{job}",
    "Jobs that the workers moved to the dead letters, by error code.",
    ("operation", "outcome"),
)
RETRACTIONS: Final = Metric(
    "memnet.retractions",
    MetricKind.COUNTER,
    "{retraction}",
    "Retractions that ended, by status: applied, partial, undone or failed.",
    ("outcome",),
)
RETRACTED_VALUES: Final = Metric(
    "memnet.retraction.values",
    MetricKind.COUNTER,
    "{value}",
    "Values of documents in applied retractions, by what happened to them.",
    ("outcome",),
)
ERASURE_OLDEST_AGE: Final = Metric(
    "memnet.erasure.oldest_age", MetricKind.GAUGE, "s", "Age of the oldest unfinished erasure; 0: there is none."
)
USES: Final = Metric(
    "memnet.usage.counted",
    MetricKind.COUNTER,
    "{use}",
    "Uses of entries by recalls, written or lost; a process that is killed loses some more.",
    ("outcome",),
)
UPKEEP_OVERDUE: Final = Metric(
    "memnet.upkeep.overdue",
    MetricKind.GAUGE,
    "s",
    "How long ago the day of the oldest due mark ended; 0: no user waits from an earlier day.",
)
UPKEEP_OLDEST_RUN_AGE: Final = Metric(
    "memnet.upkeep.oldest_run_age",
    MetricKind.GAUGE,
    "s",
    "Age of the oldest unfinished run of upkeep over a shard; 0: there is none.",
)

METRICS: Final = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
