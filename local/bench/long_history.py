"""One document with a long history: earlier versions, another client meanwhile, verification, and blobs."""

import os
import subprocess
import sys
import time
from typing import Any

from local.bench import subject
from local.bench.figures import figures, ratio
from local.bench.plan import TYPICAL_CHARS, Plan
from local.bench.session import Session, progress
from local.bench.worker import WorkerFailed
from memnet.domain.documents.audit_segments import MAX_RECORDS

USER, BYSTANDER = "long-history", "bystander"
COUNT_BLOBS_AT = 1_000


def remember(session: Session, plan: Plan) -> dict[str, Any]:
    """Change one document many times and measure what depends on its history. Raises WorkerFailed."""
    progress(f"changing one document {plan.history:,} times")
    session.service.ask("seed", users=[USER, BYSTANDER], bindings=subject.BINDINGS[:1], chars=TYPICAL_CHARS, changes=0)
    changes: list[dict[str, str]] = []
    blobs = {}
    started = time.perf_counter()
    for count in (min(COUNT_BLOBS_AT, plan.history), plan.history):
        changes += session.service.ask("change", user=USER, count=count - len(changes))
        session.storage.settle()
        blobs[count] = session.stock.ask("count_blobs", prefix=f"{subject.user_prefix(USER)}audit/")
    seconds = time.perf_counter() - started
    progress("getting earlier versions")
    places = {"early": len(changes) // 100, "middle": len(changes) // 2, "late": len(changes) - 10}
    # A version near the end of a segment is read from almost all of its records.
    full = {"slowest": len(changes) // MAX_RECORDS * MAX_RECORDS - 8}
    moments = {
        f"{place} by {kind}": changes[number][kind]
        for place, number in places.items()
        for kind in ("change_id", "time")
    }
    blamed = {f"blame {place}": changes[number]["change_id"] for place, number in (places | full).items()}
    asked = {"moments": moments, "blamed": blamed, "rounds": plan.as_of_rounds, "bystander": BYSTANDER}
    found = session.service.ask("as_of", user=USER, **asked)
    growth = {call: figures(session.measure(call, [USER], 1, 100)[0]) for call in ("get", "patch")}
    return {
        "changes": plan.history,
        "changes_per_second": round(plan.history / seconds, 1),
        "audit_blobs": blobs,
        "ms": {name: figures(seconds) for name, seconds in found.items()},
        "growth": growth,
        "blame_to_get": {name: ratio(figures(found[name]), growth["get"]) for name in blamed},
        "verify": _verify(session),
    }


def _verify(session: Session) -> dict[str, Any]:
    """Run `memnet audit verify` and count its storage calls. Raises WorkerFailed."""
    progress("memnet audit verify")
    before = session.storage.position()
    command = [sys.executable, "-m", "cli.main", "audit", "verify", "--tenant", subject.TENANT, "--user", USER]
    started = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, **session.settings}, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise WorkerFailed(f"memnet audit verify: {done.stdout}{done.stderr}")
    session.storage.settle()
    return {"seconds": round(seconds, 2), "storage_calls": dict(session.storage.since(before))}
