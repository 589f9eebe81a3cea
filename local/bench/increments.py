"""Many clients add one to the same counter: no increment may be lost."""

from typing import Any

from local.bench import subject
from local.bench.plan import Plan
from local.bench.session import Session, progress
from local.bench.storage_log import per_call

CLIENTS = 16
USER = "counter"
CHARS = 2_000


def increment(session: Session, plan: Plan) -> dict[str, Any]:
    """Have 16 clients add one again and again; return how many were lost, the seconds, and the storage calls."""
    total = CLIENTS * plan.increments
    progress(f"{total} increments of one document by {CLIENTS} clients")
    session.service.ask("seed", users=[USER], bindings=subject.BINDINGS[:1], chars=CHARS, changes=0)
    before = session.storage.position()
    done = session.service.ask("increment", user=USER, clients=CLIENTS, each=plan.increments)
    session.storage.settle()
    return {
        "clients": CLIENTS,
        "increments": total,
        "lost": total - done["value"],
        "retries": done["retries"],
        "seconds": round(done["seconds"], 2),
        "storage_calls": per_call(session.storage.since(before), total),
    }
