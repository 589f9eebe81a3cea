"""A run of one work over the users of one shard: where it continues after a pause or a crash."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import MalformedRequest
from memnet.domain.core.json_types import members_of
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.upkeep.marks import SHARDS, Work

RUNS = "upkeep/"
BUDGET = timedelta(minutes=4)
"""How long one job works on a shard before it sends the next one."""
MAX_USERS = 5000
"""How many users one job works on, at most a page more."""
STALLED = timedelta(minutes=10)
"""A run without progress for this long has lost its job: longer than BUDGET, a page and the way through the queue."""


@dataclass(frozen=True, slots=True)
class ShardRun:
    """An unfinished run, or the last finished run of Work.ALL."""

    work: Work
    shard: str
    rules: str
    """The hash of the rules when it started."""
    started_at: str
    touched_at: str
    cursor: str | None = None
    finished: bool = False

    @property
    def blob_name(self) -> str:
        """The name of its blob."""
        return run_name(self.work, self.shard)

    def moved(self, cursor: str | None, now: datetime) -> "ShardRun":
        """Return the run, continuing at `cursor`; None: it has finished."""
        return replace(self, cursor=cursor, touched_at=to_text(now), finished=cursor is None)

    def is_active(self, now: datetime) -> bool:
        """Return whether a job of it is waiting or running."""
        return not self.finished and now - from_text(self.touched_at) < STALLED

    def age(self, now: datetime) -> float:
        """Return how long it has been unfinished, in seconds; 0 if it has finished."""
        return 0.0 if self.finished else max(0.0, (now - from_text(self.started_at)).total_seconds())


def new_run(work: Work, shard: str, rules: str, now: datetime) -> ShardRun:
    """Return a run that starts now."""
    return ShardRun(work, shard, rules, to_text(now), to_text(now))


def run_name(work: Work, shard: str) -> str:
    """Return the name of the blob of a shard's run."""
    return f"{RUNS}{work}/{shard}.json"


def labels(run: ShardRun) -> Mapping[str, str]:
    """Return the metadata of its blob, so that one listing shows every run."""
    return {
        "rules": run.rules,
        "started_at": run.started_at,
        "touched_at": run.touched_at,
        "finished": str(run.finished).lower(),
    }


def labelled(name: str, metadata: Mapping[str, str]) -> ShardRun | None:
    """Return the run of a listed blob, without its cursor; None if it is no run."""
    match name.removesuffix(".json").split("/"):
        case ["upkeep", work, shard] if shard in SHARDS and metadata.keys() >= {"rules", "started_at", "touched_at"}:
            members = {**metadata, "work": work, "shard": shard, "cursor": None}
            return _checked({**members, "finished": metadata.get("finished") == "true"})
    return None


def dump(run: ShardRun) -> bytes:
    """Serialize a run."""
    return canonical(members_of(run))


def load(data: bytes) -> ShardRun | None:
    """Parse what `dump` returned; None if it was damaged: then the shard starts again."""
    try:
        return _checked(orjson.loads(data))
    except ValueError:
        return None


def _checked(members: Any) -> ShardRun | None:
    try:
        run = ShardRun(**{**members, "work": Work(members["work"])})
        times = [to_text(from_text(text)) == text for text in (run.started_at, run.touched_at)]
        return run if run.shard in SHARDS and all(times) else None
    except (ValueError, KeyError, TypeError, AttributeError, MalformedRequest):
        return None
