"""Random schedules of clients, server processes and a faulty store, driving the real commit protocol.

Nothing here decides anything: the coroutines of memnet.operations run as they are, and every await of theirs is a call
to a store whose order and fate the schedule chooses. Faults: a request lost, an answer lost, a write applied but
reported as a conflict (a client library's own retry), a write applied late, a process killed with calls in flight.
"""

import collections
import importlib
import random
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from memnet.domain.catalog.catalog import WriteRules
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.access import Reason
from memnet.domain.core.error_code import ErrorCode
from memnet.domain.core.errors import MemnetError, Unavailable
from memnet.domain.core.scope import Actor, DocumentKey, StorageETag, UserScope
from memnet.domain.documents import audit_values, envelope
from memnet.domain.documents.audit_values import AuditRecordLocation
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument
from memnet.domain.documents.write_decision import decide_patch
from memnet.domain.sealing.sealing import KEY_BYTES, DataKey
from memnet.ports import Page, StoreConflict, StoredBlob
from memnet.stores import ListedDocument, Vault
from tests.domain.rebuilding import rebuild
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
UNCONDITIONAL = StorageETag("*")
STEPS = 40_000


class Call:
    """One request to the store, one wait for another task, or one pause until a step."""

    def __init__(self, verb: str, *arguments: Any) -> None:
        self.verb, self.arguments = verb, arguments

    def __await__(self) -> Generator["Call", Any, Any]:
        return (yield self)


class Killed(Exception):
    """The process that served the request is gone."""


@dataclass(eq=False)
class Task:
    coroutine: Coroutine[Call, Any, Any]
    process: "Process | None"
    outcome: list[Any] = field(default_factory=list)
    call: Call | None = None


class Blobs:
    """The store's true state."""

    def __init__(self) -> None:
        self.blobs: dict[str, tuple[bytes, str, Any]] = {}
        self.writes = 0

    def apply(self, call: Call) -> Any:
        if call.verb == "get":
            return self.blobs.get(call.arguments[0])
        name, data, replaces, summary = call.arguments
        current = self.blobs.get(name)
        if replaces != UNCONDITIONAL and replaces != (current[1] if current else None):
            return StoreConflict()
        self.writes += 1
        self.blobs[name] = (data, str(self.writes), summary)
        return str(self.writes)


class Process:
    """One server process: the ports as it sees them, and the memory it loses with its life."""

    def __init__(self, simulation: "Simulation", name: str) -> None:
        self.simulation, self.name = simulation, name
        self.cache: dict[str, StoredBlob] = {}
        self.known: set[str] = set()
        ports: Any = self
        # The key is cached: reading it next to the document needs an event loop, which would choose the order itself.
        self.vault = Vault(ports, ports, ports, ports, ports)

    # DocumentStore
    async def get(self, key: DocumentKey) -> StoredBlob | None:
        found = await Call("get", key.blob_name)
        if found is None:
            return None
        self.cache[key.blob_name] = StoredBlob(found[0], found[1])
        return self.cache[key.blob_name]

    async def get_or_check(self, key: DocumentKey) -> tuple[StoredBlob | None, None]:
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

    async def list_all(self, *, limit: int, cursor: str | None) -> Page[ListedDocument]:
        found = await Call("get", KEY.blob_name)
        return Page([ListedDocument(KEY, found[2])] if found else [], None)

    # AuditLog
    async def append(self, scope: UserScope, change_id: str, data: bytes) -> None:
        try:
            await Call("put", f"audit/{change_id}", data, None, None)
        except StoreConflict:
            found = await Call("get", f"audit/{change_id}")
            if found[0] != data:
                self.simulation.faults["forked audit"] += 1
        self.known.add(change_id)

    def is_flushed(self, scope: UserScope, change_id: str) -> bool:
        return change_id in self.known

    async def read(self, scope: UserScope, change_id: str) -> bytes | None:
        found = await Call("get", f"audit/{change_id}")
        return found[0] if found else None

    # Clock, IdGenerator, Background
    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=self.simulation.step_number)

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


class Simulation:
    """One schedule, chosen by its seed."""

    def __init__(self, seed: int, *, clients: int = 4, increments: int = 4, processes: int = 2) -> None:
        self.random = random.Random(seed)
        self.store, self.late = Blobs(), list[Call]()
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
        self.sweep = importlib.import_module("memnet.operations.documents.outbox").sweep_outboxes
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
            command, decide, service_of(documents=ports, audit=ports, clock=ports, ids=ports, background=ports)
        )
        return change

    async def ask(self, request: Callable[[Process], Coroutine[Any, Any, Any]]) -> Any:
        process = self.random.choice(self.processes)
        task = Task(request(process), process)
        self.tasks.append(task)
        return await Call("wait", task)

    # The schedule.

    def run(self) -> collections.Counter[str]:
        """Play the schedule to its end, lose every process, sweep once, and return the violations found."""
        while any(client in self.tasks for client in self.clients):
            if self.step_number > STEPS or not self.step():
                self.faults["stuck"] += 1
                break
        self.faulty = False
        while self.late:
            self.store.apply(self.late.pop())
        for task in self.tasks:
            task.coroutine.close()
        self.step_number += 3_600_000
        self.tasks = []
        self.start_sweeper(Process(self, "sweeper"), timedelta(minutes=1))
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
            self.start_sweeper(self.random.choice(self.processes), timedelta(0))
        ready = [task for task in self.tasks if self.can_run(task)]
        if not ready:
            return any(task.call and task.call.verb == "pause" for task in self.tasks)
        task = self.random.choice(ready)
        self.resume(task, self.answer(task.call) if task.call else None)
        return True

    def start_sweeper(self, process: Process, quiet: timedelta) -> None:
        ports: Any = process
        work = self.sweep(service_of(documents=ports, audit=ports, clock=ports), quiet=quiet)
        self.tasks.append(Task(work, process))

    def can_run(self, task: Task) -> bool:
        if task.call is None or task.call.verb in ("get", "put"):
            return True
        if task.call.verb == "pause":
            return bool(self.step_number >= task.call.arguments[0])
        return bool(task.call.arguments[0].outcome)

    def answer(self, call: Call) -> Any:
        if call.verb == "pause":
            return None
        if call.verb == "wait":
            return call.arguments[0].outcome[0]
        chance = self.random.random() if self.faulty else 1.0
        if call.verb == "get":
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

    def kill(self, index: int) -> None:
        process, self.crashes = self.processes[index], self.crashes + 1
        for task in [task for task in self.tasks if task.process is process]:
            if task.call is not None and task.call.verb == "put" and self.random.random() < 0.5:
                self.late.append(task.call)
            task.coroutine.close()
            self.finish(task, Killed())
        self.processes[index] = Process(self, process.name)

    # What must hold.

    def check(self) -> None:
        head = envelope.load(self.store.blobs[KEY.blob_name][0])
        stored = {name: blob[0] for name, blob in sorted(self.store.blobs.items()) if name.startswith("audit/")}
        records = [
            audit_values.opened(
                orjson.loads(data),
                AuditRecordLocation(KEY.scope, name.removeprefix("audit/")),
                {DATA_KEY.key_id: DATA_KEY},
            )
            for name, data in stored.items()
        ]
        if head.commit.outbox:
            self.faults["sweeper left an outbox"] += 1
        if rebuild(head.doc_id, KEY, records, head).fault:
            self.faults["unaudited or forked"] += 1
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

    def check_order(self) -> None:
        """What began after something ended saw at least what that one saw or made (linearisability of a register)."""
        writes = [(begun, ended, n, True) for _, _, begun, ended, n in self.answers if n is not None]
        seen = writes + [(begun, ended, n, False) for begun, ended, n in self.reads]
        for _, ended, earlier, _ in seen:
            for begun, _, later, wrote in seen:
                if ended < begun and (later < earlier or (wrote and later == earlier)):
                    self.faults["out of order"] += 1
                    return
