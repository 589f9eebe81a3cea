"""Nothing lost, nothing doubled, nothing unaudited, under schedules that no one would think of; and the proof that the
simulation would notice: each mutant of the protocol is caught."""

import importlib
import inspect
import types

import pytest

from tests.operations.commit_simulation import Simulation

CHUNKS = 8
SCHEDULES = 60
MUTANT_SCHEDULES = 400


@pytest.fixture(autouse=True)
def _small_bounds(monkeypatch):
    """A short ring and outbox, so that schedules of a few dozen changes run past both."""
    commit = importlib.import_module("memnet.domain.documents.commit")
    monkeypatch.setattr(commit, "MAX_RECEIPTS", 4)
    monkeypatch.setattr(commit, "OUTBOX_RECORDS", 3)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_schedule_loses_doubles_or_hides_a_change(chunk):
    for seed in range(chunk * SCHEDULES, (chunk + 1) * SCHEDULES):
        assert not Simulation(seed).run(), f"seed {seed}"


def test_the_schedules_reach_crashes_replays_and_lookups_beyond_the_ring(monkeypatch):
    commit_change = importlib.import_module("memnet.operations.documents.commit_change")
    reached = set()
    inner = commit_change._earlier_receipt

    async def watched(head, *others):
        settled = await inner(head, *others)
        if settled is not None:
            reached.add("audit" if settled.sequence <= head.commit.sequence - 4 else "ring")
        return settled

    monkeypatch.setattr(commit_change, "_earlier_receipt", watched)
    crashes = 0
    for seed in range(200):
        simulation = Simulation(seed)
        simulation.run()
        crashes += simulation.crashes
    assert reached == {"ring", "audit"}
    assert crashes > 50


MUTANTS = {
    "the precondition is tested before the receipts": (
        "memnet.domain.documents.commit",
        "    if head is not None:\n        hashed",
        "    if _refusal(head, command) is None and head is not None:\n        hashed",
    ),
    "a stale request beyond the ring is refused unseen": (
        "memnet.domain.documents.commit",
        "    return OlderThanReceipts(head.change_id(sequence), refusal)",
        "    raise refusal",
    ),
    "the outbox is not carried on": (
        "memnet.domain.documents.commit",
        "outbox=(*carried, _as_stored(record, command.key.scope, sealing)),",
        "outbox=(_as_stored(record, command.key.scope, sealing),),",
    ),
    "a key is everybody's": (
        "memnet.domain.documents.commit",
        "canonical([key.blob_name, principal, idempotency_key])",
        "canonical([key.blob_name, idempotency_key])",
    ),
    "receipts are forgotten": ("memnet.domain.documents.commit", "receipt)[-MAX_RECEIPTS:]", "receipt)[-1:]"),
    "an unknown outcome is answered as a conflict": (
        "memnet.operations.documents.commit_change",
        "only the newest version can tell.\n            continue\n",
        "only the newest version can tell.\n            raise commit.ETagMismatch()\n",
    ),
    "the write is unconditional": (
        "memnet.operations.documents.commit_change",
        "replaces=stored.storage_etag if stored else None",
        'replaces="*"',
    ),
    "records are flushed before the commit": (
        "memnet.operations.documents.commit_change",
        "        try:\n            await service.documents.put(",
        "        try:\n            await flush_outbox(scope, version.commit.outbox, audit=service.audit)\n"
        "            await service.documents.put(",
    ),
    "a lost race is written again without a look at the winner": (
        "memnet.operations.documents.commit_change",
        "await key.beside(_newest(command, service.documents, remembered))",
        "(await _newest(command, service.documents, remembered)) if attempt == 0 "
        "else ((await service.documents.get(command.key)), head)",
    ),
    "the sweeper trims before it flushes": (
        "memnet.operations.documents.sweep_outboxes",
        "        await flush_outbox(key.scope, head.commit.outbox, audit=service.audit)\n",
        "",
    ),
    "the sweeper trims a version it has not seen": (
        "memnet.operations.documents.sweep_outboxes",
        "replaces=stored.storage_etag",
        'replaces="*"',
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_is_caught(name, monkeypatch):
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
        mutant.MAX_RECEIPTS, mutant.OUTBOX_RECORDS = 4, 3
        monkeypatch.setattr(importlib.import_module("memnet.operations.documents.commit_change"), "commit", mutant)
        monkeypatch.setattr(importlib.import_module("memnet.operations.documents.sweep_outboxes"), "commit", mutant)
    else:
        verb = module_name.rpartition(".")[2]
        monkeypatch.setattr(module, verb, getattr(mutant, verb))
    assert any(Simulation(seed).run() for seed in range(MUTANT_SCHEDULES))
