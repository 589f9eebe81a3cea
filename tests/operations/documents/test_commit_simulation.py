"""Nothing lost, nothing doubled, nothing unaudited, under schedules that no one would think of; and the proof that the
simulation would notice: each mutant of the protocol is caught."""

import importlib
import inspect
import types
from typing import Any

import pytest

from tests.operations.commit_simulation import Simulation

CHUNKS = 8
SCHEDULES = 60
MUTANT_SCHEDULES = 400


@pytest.fixture(autouse=True)
def _small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short ring and outbox, so that schedules of a few dozen changes run past both."""
    commit = importlib.import_module("memnet.domain.documents.commit")
    monkeypatch.setattr(commit, "MAX_RECEIPTS", 4)
    monkeypatch.setattr(commit, "OUTBOX_RECORDS", 3)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_schedule_loses_doubles_or_hides_a_change(chunk: Any) -> None:
    for seed in range(chunk * SCHEDULES, (chunk + 1) * SCHEDULES):
        assert not Simulation(seed).run(), f"seed {seed}"


def test_the_schedules_reach_crashes_replays_and_lookups_beyond_the_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    write = importlib.import_module("memnet.operations.documents.write")
    reached = set()
    inner = write._applied_before

    async def watched(head: Any, *others: Any) -> Any:
        settled = await inner(head, *others)
        if settled is not None:
            reached.add("audit" if settled.sequence <= head.commit.sequence - 4 else "ring")
        return settled

    monkeypatch.setattr(write, "_applied_before", watched)
    crashes = 0
    for seed in range(200):
        simulation = Simulation(seed)
        simulation.run()
        crashes += simulation.crashes
        if crashes > 20 and reached == {"ring", "audit"}:
            return
    pytest.fail(f"{crashes} crashes, {reached} reached")


MUTANTS = {
    "the precondition is tested before the receipts": (
        "memnet.domain.documents.commit",
        "for receipt in current.commit.receipts if current else ():",
        "for receipt in current.commit.receipts if current and _refusal(current, command) is None else ():",
    ),
    "a stale request beyond the ring is refused unseen": (
        "memnet.domain.documents.commit",
        "    return OlderThanReceipts(current.change_id(sequence), refusal)",
        "    raise refusal",
    ),
    "the outbox is not carried on": (
        "memnet.domain.documents.commit",
        "outbox=(*carried, stored),",
        "outbox=(stored,),",
    ),
    "a key is everybody's": (
        "memnet.domain.documents.commit",
        "canonical([key.blob_name, principal, idempotency_key])",
        "canonical([key.blob_name, idempotency_key])",
    ),
    "receipts are forgotten": ("memnet.domain.documents.commit", "receipt)[-MAX_RECEIPTS:]", "receipt)[-1:]"),
    "an unknown outcome is answered as a conflict": (
        "memnet.operations.documents.write",
        "only the current version shows which.\n            continue\n",
        "only the current version shows which.\n            raise commit.ETagMismatch()\n",
    ),
    "the write is unconditional": (
        "memnet.operations.documents.write",
        "replaces=stored.storage_etag if stored else None",
        'replaces="*"',
    ),
    "records are flushed before the commit": (
        "memnet.operations.documents.write",
        "        try:\n            await service.documents.put(",
        "        try:\n            await flush_outbox(scope, version.commit.outbox, audit=service.audit)\n"
        "            await service.documents.put(",
    ),
    "a lost race is written again without a look at the winner": (
        "memnet.operations.documents.write",
        "await key.fetched_during(_current(command, service.documents, remembered))",
        "(await _current(command, service.documents, remembered)) if attempt == 0 "
        "else ((await service.documents.get(command.key)), current, None)",
    ),
    "the sweeper trims before it flushes": (
        "memnet.operations.documents.outbox",
        "        await flush_outbox(key.scope, current.commit.outbox, audit=service.audit)\n",
        "",
    ),
    "the sweeper trims a version it has not seen": (
        "memnet.operations.documents.outbox",
        "replaces=stored.storage_etag",
        'replaces="*"',
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module_name, old, new = MUTANTS[name]
    module = importlib.import_module(module_name)
    source = inspect.getsource(module)
    assert source.count(old) == 1, "the mutant no longer fits the code"
    mutant = types.ModuleType(module_name)
    # Dataclasses look their module up by name while they are made.
    with monkeypatch.context() as patched:
        patched.setitem(__import__("sys").modules, module_name, mutant)
        exec(compile(source.replace(old, new), module_name, "exec"), mutant.__dict__)
    if module_name == "memnet.domain.documents.commit":
        vars(mutant).update(MAX_RECEIPTS=4, OUTBOX_RECORDS=3)
        monkeypatch.setattr(importlib.import_module("memnet.operations.documents.write"), "commit", mutant)
        monkeypatch.setattr(importlib.import_module("memnet.operations.documents.outbox"), "commit", mutant)
    else:
        for verb in {"commit_change", "sweep_outboxes"} & vars(module).keys():
            monkeypatch.setattr(module, verb, getattr(mutant, verb))
    assert any(Simulation(seed).run() for seed in range(MUTANT_SCHEDULES))
