"""Random schedules of clients, server processes and a faulty store, driving the real commit protocol.

Nothing here decides anything: the coroutines of memnet.operations run as they are, and every await of theirs is a call
to a store whose order and fate the schedule chooses. Faults: a request lost, an answer lost, a write applied but
reported as a conflict (a client library's own retry), a write applied late, a process killed with calls in flight.
"""

import collections
import importlib
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.access import Reason
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import HistoryCorrupt, MemnetError, Unavailable
from memnet.domain.core.json_types import Record
from memnet.domain.core.scope import Actor, DocumentKey, StorageETag, UserScope
from memnet.domain.documents import audit_segments, audit_values, envelope
from memnet.domain.documents.audit_values import AuditRecordLocation
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument
from memnet.domain.documents.write_decision import decide_patch
from memnet.domain.history import baseline as baselines
from memnet.domain.history import baseline_values
from memnet.domain.history.baseline_values import BaselineLocation
from memnet.domain.sealing.sealing import KEY_BYTES, DataKey
from memnet.operations.documents.outbox import SweepReport
from memnet.ports import Page, StoreConflict, StoredBlob
from memnet.stores import ListedDocument, Vault
from tests.domain.rebuilding import baseline_after, rebuild
from tests.operations.simulated_storage import REQUESTS, WRITES, Call, State, Stored, simulated_log
from tests.services import service_of

KEY = DocumentKey(UserScope("t", "u"), "n", "d.json")
CONTENT = {
    "$id": "memnet:s:1",
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"n": {"type": "integer"}, "log": {"type": "array"}},
    "required": ["n", "log"],
}
PROFILE = Profile.model_validate_json(
    orjson.dumps(
        {
            "profile_id": "p",
            "document_bindings": [
                {
                    "binding_id": "b",
                    "namespace": "n",
                    "path": "d.json",
                    "schema_id": "s",
                    "schema_version": "1",
                    "max_chars": 100000,
                    "read_priority": 1,
                    "initial_content": {"n": 0, "log": []},
                }
            ],
            "writable_path_rules": {"b": ["/n", "/log"]},
        }
    )
)
DATA_KEY = DataKey("key-1", bytes(range(KEY_BYTES)))
KEYS = {DATA_KEY.key_id: DATA_KEY}
STEPS = 5_000
HOURS_OF_A_STEP = timedelta(hours=6)
"""Schedules of some hundred steps cross many months."""


class Killed(Exception):
    """The process that served the request is gone."""


@dataclass(eq=False)
class Task:
    coroutine: Coroutine[Call, Any, Any]
    process: "Process | None"
    outcome: list[Any] = field(default_factory=list)
    call: Call | None = None


class Process:
    """One server process: the ports as it sees them, and the memory it loses with its life."""

    def __init__(self, simulation: "Simulation", name: str) -> None:
        self.simulation, self.name = simulation, name
        self.cache: dict[str, StoredBlob] = {}
        ports: Any = self
        # The key is cached: reading it next to the document needs an event loop, which would choose the order itself.
        self.audit = simulated_log(ports, Vault(ports, ports, ports, ports, ports))

    # DocumentStore
    async def get(self, key: DocumentKey) -> StoredBlob | None:
        found = await Call("get", key.blob_name)
        if found is None:
            return None
        self.cache[key.blob_name] = StoredBlob(found.data, found.tag)
        return self.cache[key.blob_name]

    async def get_or_check(self, key: DocumentKey, *, dry_run: bool) -> tuple[StoredBlob | None, None]:
        """No user is being erased."""
        return await self.get(key), None

    async def get_to_change(self, key: DocumentKey) -> StoredBlob | None:
        return await self.get(key)

    def recall(self, key: DocumentKey) -> StoredBlob | None:
        return self.cache.get(key.blob_name)

    async def put(
        self, key: DocumentKey, data: bytes, summary: Any, *, replaces: StorageETag | None, checked: None = None
    ) -> None:
        self.cache.pop(key.blob_name, None)
        tag = await Call("put", key.blob_name, data, replaces, summary)
        self.cache[key.blob_name] = StoredBlob(data, tag)

    async def check(self, scope: UserScope) -> None:
        """No user is being erased."""

    async def list(self, scope: UserScope, prefix: str, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        found = await Call("get", KEY.blob_name)
        return Page([ListedDocument(KEY, found.about)] if found else [], None)

    # Clock, IdGenerator, Background
    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + HOURS_OF_A_STEP * self.simulation.step_number

    def new(self) -> str:
        return f"id{self.simulation.random.getrandbits(64):016x}"

    def secret(self, size: int) -> bytes:
        return self.simulation.random.randbytes(size)

    # DataKeyCache
    def current(self, scope: UserScope) -> DataKey:
        return DATA_KEY

    def find(self, scope: UserScope, key_id: str) -> DataKey:
        return DATA_KEY

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self.simulation.tasks.append(Task(work, self))


def expected_segments(records: Sequence[Record], lines: Sequence[bytes]) -> dict[str, tuple[Any, bytes]]:
    """The rule of memnet.domain.documents.audit_segments, written out again: months, and so many records."""
    found: dict[str, tuple[Any, bytes]] = {}
    name, started = "", ""
    for record, line in zip(records, lines, strict=True):
        is_full = name and found[name][1].count(b"\n") == audit_segments.MAX_RECORDS
        if is_full or started[:7] != record["timestamp"][:7]:
            name, started = f"{record['sequence']:012d}.jsonl", record["timestamp"]
        found[name] = {"started": started}, found.get(name, ({}, b""))[1] + line
    return found


class Simulation:
    """One schedule, chosen by its seed."""

    def __init__(self, seed: int, *, clients: int = 4, increments: int = 4, processes: int = 2) -> None:
        self.random = random.Random(seed)
        self.baselines = 0
        self.store, self.late = State(), list[Call]()
        self.step_number, self.crashes = 0, 0
        self.keys: collections.Counter[int] = collections.Counter()
        self.faulty = True
        self.tasks: list[Task] = []
        self.faults: collections.Counter[str] = collections.Counter()
        self.reads: list[tuple[int, int, int]] = []
        self.answers: list[tuple[str, str, int, int, int | None]] = []
        self.rules = WriteRules(PROFILE, PROFILE.document_bindings[0], Schema.compile("s", "1", CONTENT))
        # Imported by module so that a mutant can replace it.
        self.commit_change = importlib.import_module("memnet.operations.documents.write").commit_change
        self.sweep = importlib.import_module("memnet.operations.documents.outbox").sweep_user
        self.processes = [Process(self, f"p{n}") for n in range(processes)]
        self.clients = [Task(self.client(n, increments), None) for n in range(clients)]
        self.tasks += self.clients

    # What a client does: read, change, and insist until the answer is definite.

    async def client(self, number: int, increments: int) -> None:
        for _ in range(increments):
            while not await self.increment(number):
                pass

    async def increment(self, number: int) -> bool:
        begun = self.step_number
        answer = await self.ask(lambda process: process.get(KEY))
        if isinstance(answer, Exception):
            return False
        head = envelope.load(answer.data) if answer else None
        self.reads.append((begun, self.step_number, head.commit.sequence if head else 0))
        # All clients use the same keys; what each has logged is its own.
        self.keys[number] += 1
        key, count = f"k{self.keys[number]}", head.content["n"] if head else 0
        logged = f"{number}.{key}"
        command = PatchDocument(
            key=KEY,
            actor=Actor(f"client{number}", frozenset()),
            precondition=IfMatch(head.commit.etag) if head else IfAbsent(),
            idempotency_key=key,
            profile_id="p",
            binding_id="b",
            ops=[
                {"op": "replace", "path": "/content/n", "value": count + 1},
                {"op": "add", "path": "/content/log/-", "value": logged},
            ],
            reason=Reason.LIVE_UPDATE,
        )
        begun = self.step_number
        while isinstance(result := await self.ask(lambda process: self.serve(process, command)), (Killed, Unavailable)):
            if self.random.random() < 0.3:
                await Call("pause", self.step_number + self.random.randrange(40, 400))
        refused = isinstance(result, MemnetError)
        sequence = None if refused else result.sequence
        self.answers.append((logged, result.code if refused else "applied", begun, self.step_number, sequence))
        return not refused

    def serve(self, process: Process, command: PatchDocument) -> Coroutine[Any, Any, Any]:
        def decide(head: Any) -> Any:
            return decide_patch(command, self.rules, head, proposed_at="2026-02-14T20:00:00Z", proposal_id="")

        ports: Any = process
        change: Coroutine[Any, Any, Any] = self.commit_change(
            command, decide, service_of(documents=ports, audit=process.audit, clock=ports, ids=ports, background=ports)
        )
        return change

    async def ask(self, request: Callable[[Process], Coroutine[Any, Any, Any]]) -> Any:
        process = self.random.choice(self.processes)
        task = Task(request(process), process)
        self.tasks.append(task)
        return await Call("wait", task)

    # The schedule.

    def run(self) -> collections.Counter[str]:
        """Play the schedule to its end, lose every process, sweep once, and return the violations found.

        The schedule ends with the first violation: what follows can be slow, and says nothing more.
        """
        while not self.faults and any(client in self.tasks for client in self.clients):
            if self.step_number > STEPS or not self.step():
                self.faults["stuck"] += 1
                break
        self.faulty = False
        while self.late:
            self.store.apply(self.late.pop())
        for task in self.tasks:
            task.coroutine.close()
        self.step_number += 1000
        self.tasks = []
        self.start_sweeper(Process(self, "sweeper"))
        while self.step():
            pass
        self.check()
        return self.faults

    def step(self) -> bool:
        self.step_number += 1
        if self.late and self.random.random() < 0.15:
            self.store.apply(self.late.pop(self.random.randrange(len(self.late))))
        if self.faulty and self.crashes < 6 and self.random.random() < 0.01:
            self.kill(self.random.randrange(len(self.processes)))
        if self.faulty and self.random.random() < 0.01:
            self.start_sweeper(self.random.choice(self.processes))
        ready = [task for task in self.tasks if self.can_run(task)]
        if not ready:
            return any(task.call and task.call.verb == "pause" for task in self.tasks)
        task = self.random.choice(ready)
        self.resume(task, self.answer(task.call) if task.call else None)
        return True

    def start_sweeper(self, process: Process) -> None:
        ports: Any = process
        work = self.sweep(KEY.scope, service_of(documents=ports, audit=process.audit, clock=ports))
        self.tasks.append(Task(work, process))

    def can_run(self, task: Task) -> bool:
        if task.call is None or task.call.verb in REQUESTS:
            return True
        if task.call.verb == "lock":
            return not task.call.arguments[0].is_held
        if task.call.verb == "pause":
            return bool(self.step_number >= task.call.arguments[0])
        return bool(task.call.arguments[0].outcome)

    def answer(self, call: Call) -> Any:
        if call.verb in ("pause", "lock"):
            return None
        if call.verb == "wait":
            return call.arguments[0].outcome[0]
        chance = self.random.random() if self.faulty else 1.0
        if call.verb not in WRITES:
            return Unavailable() if chance < 0.02 else self.store.apply(call)
        if chance < 0.04:
            return Unavailable()
        if chance < 0.08:
            self.store.apply(call)
            return Unavailable()
        if chance < 0.11:
            self.store.apply(call)
            return StoreConflict()
        if chance < 0.15:
            self.late.append(call)
            return Unavailable()
        return self.store.apply(call)

    def resume(self, task: Task, value: Any) -> None:
        raised = isinstance(value, Exception) and task.call is not None and task.call.verb != "wait"
        try:
            task.call = task.coroutine.throw(value) if raised else task.coroutine.send(value)
        except StopIteration as stop:
            self.finish(task, stop.value)
        except (MemnetError, StoreConflict) as error:
            self.finish(task, error)

    def finish(self, task: Task, outcome: Any) -> None:
        self.tasks.remove(task)
        task.outcome.append(outcome)
        if isinstance(outcome, HistoryCorrupt) or (isinstance(outcome, SweepReport) and outcome.broken):
            self.faults["reported as corrupt"] += 1

    def kill(self, index: int) -> None:
        process, self.crashes = self.processes[index], self.crashes + 1
        for task in [task for task in self.tasks if task.process is process]:
            if task.call is not None and task.call.verb in WRITES and self.random.random() < 0.5:
                self.late.append(task.call)
            task.coroutine.close()
            self.finish(task, Killed())
        self.processes[index] = Process(self, process.name)

    # What must hold.

    def check(self) -> None:
        head = envelope.load(self.store.blobs[KEY.blob_name].data)
        self.check_log(head)
        applied = collections.Counter(head.content["log"])
        if max(applied.values()) > 1:
            self.faults["applied twice"] += 1
        if head.content["n"] != len(head.content["log"]):
            self.faults["lost update"] += 1
        for key, outcome, _, _, _ in self.answers:
            if outcome == "applied" and key not in applied:
                self.faults["acknowledged and lost"] += 1
            if outcome != "applied" and key in applied:
                self.faults["refused and applied"] += 1
            if outcome == ErrorCode.IDEMPOTENCY_KEY_REUSED:
                self.faults["key used up by another principal"] += 1
        self.check_order()

    def check_log(self, head: envelope.Envelope) -> None:
        """Every committed record lies in its one place, and the chain of all verifies."""
        folder = f"{KEY.scope.prefix}audit/{head.doc_id}/"
        audit = {name: blob for name, blob in sorted(self.store.blobs.items()) if "/audit/" in name}
        stored = {name.removeprefix(folder): blob for name, blob in audit.items()}
        segments = {name: blob for name, blob in stored.items() if name.endswith(".jsonl")}
        lines = [line for blob in segments.values() for line in blob.data.splitlines(keepends=True)]
        records = [orjson.loads(line) for line in lines]
        if [record["sequence"] for record in records] != list(range(1, head.commit.sequence + 1)):
            self.faults["lost or doubled record"] += 1
        if {name: (blob.about, blob.data) for name, blob in segments.items()} != expected_segments(records, lines):
            self.faults["record in another place"] += 1
        opened = [audit_values.opened(one, AuditRecordLocation(KEY.scope, one["change_id"]), KEYS) for one in records]
        found = rebuild(head.doc_id, KEY, opened, head)
        if found.fault:
            self.faults["unaudited or forked"] += 1
        else:
            self.check_baselines(stored, opened)

    def check_baselines(self, stored: dict[str, Stored], records: list[Record]) -> None:
        """Every segment but the first has the baseline that the records before it give."""
        firsts = [name.removesuffix("l") for name in stored if name.endswith(".jsonl")]
        if sorted(firsts)[1:] != sorted(name for name in stored if name.endswith(".json")):
            self.faults["missing baseline"] += 1
        self.baselines = len(firsts) - 1
        for name in stored.keys() & set(firsts):
            sealed = baselines.load(stored[name].data)
            assert sealed is not None
            opened = baseline_values.opened(sealed, BaselineLocation(KEY.scope, sealed.change_id), KEYS)
            if opened != baseline_after(records, int(name[:12]) - 1, "p", key=KEY):
                self.faults["wrong baseline"] += 1

    def check_order(self) -> None:
        """What began after something ended saw at least what that one saw or made (linearisability of a register)."""
        writes = [(begun, ended, n, True) for _, _, begun, ended, n in self.answers if n is not None]
        seen = writes + [(begun, ended, n, False) for begun, ended, n in self.reads]
        for _, ended, earlier, _ in seen:
            for begun, _, later, wrote in seen:
                if ended < begun and (later < earlier or (wrote and later == earlier)):
                    self.faults["out of order"] += 1
                    return
