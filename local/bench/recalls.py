"""A recall from a large memory against one plain search of the same turns."""

import os
import subprocess
import sys
from typing import Any

from local.bench import recall_subject
from local.bench.comparison import Comparison, Samples, row
from local.bench.plan import CLIENTS, Plan
from local.bench.session import Session, progress
from local.bench.worker import WorkerFailed

RECALL = Comparison("recall", "recall", "stock", "search_turns", "stock search of the turns", (2.0, None))


def remember_turns(session: Session, plan: Plan) -> None:
    """Store the entries and the turns, and index them. Raises WorkerFailed."""
    progress(f"storing {recall_subject.ENTRIES} entries and {plan.turns:,} turns of one user")
    session.service.ask("seed_memory", turns=plan.turns)
    _reconcile(session)


def compare_recalls(session: Session, plan: Plan) -> list[dict[str, Any]]:
    """Measure both sides in turn for each number of clients, without a pause; return the rows. Raises WorkerFailed."""
    # The marks of turns that the index shows by now are removed.
    _reconcile(session)
    samples, users = Samples(), [recall_subject.USER]
    cases = {(RECALL.call, clients, 0.0): plan.recalls[clients] for clients in CLIENTS}
    for number in range(plan.recall_rounds):
        progress(f"comparing recalls, round {number + 1} of {plan.recall_rounds}")
        for case, count in cases.items():
            _, clients, pause = case
            seconds, storage, requests = session.measure(RECALL.call, users, clients, count)
            samples.service[case] += seconds
            samples.storage[case] += storage
            samples.requests[case] += requests
            samples.baseline[RECALL.side, (RECALL.against, clients, pause)] += session.stock.ask(
                "measure", name=RECALL.against, users=users, clients=clients, count=count, pause=pause
            )
    degraded = session.service.ask("degraded")
    return [{**row(RECALL, clients, pause, samples), "degraded": degraded} for _, clients, pause in cases]


def _reconcile(session: Session) -> None:
    command = [sys.executable, "-m", "cli.main", "search", "reconcile"]
    done = subprocess.run(command, env={**os.environ, **session.settings}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WorkerFailed(f"memnet search reconcile: {done.stdout}{done.stderr}")
