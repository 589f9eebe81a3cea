"""A simulated storage: the rules of the real one, and calls whose order and fate a schedule chooses."""

import collections
import importlib
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memnet.domain.core.scope import StorageETag, UserScope
from memnet.ports import Clock, ListedBlob, Page, StoreConflict, StoredBlob
from memnet.stores import AuditLog, Blobs, FenceCheck, Vault

UNCONDITIONAL = StorageETag("*")
WRITES = ("put", "create_log", "append")
REQUESTS = (*WRITES, "get", "list")


class Call:
    """One request to the storage, one wait for another task or a lock, or one pause until a step."""

    def __init__(self, verb: str, *arguments: Any) -> None:
        self.verb, self.arguments = verb, arguments

    def __await__(self) -> Generator["Call", Any, Any]:
        return (yield self)


@dataclass(frozen=True)
class Stored:
    data: bytes
    tag: StorageETag
    about: Any
    """The metadata of a blob, or the summary of a document."""


class State:
    """The true state of the storage."""

    def __init__(self) -> None:
        self.blobs: dict[str, Stored] = {}
        self.writes = 0

    def apply(self, call: Call) -> Any:
        """Apply a request and return its answer."""
        if call.verb == "get":
            return self.blobs.get(call.arguments[0])
        if call.verb == "list":
            return [(name, blob) for name, blob in sorted(self.blobs.items()) if name.startswith(call.arguments[0])]
        if call.verb == "append":
            return self._append(*call.arguments)
        name, data, replaces, about = call.arguments
        current = self.blobs.get(name)
        if replaces != UNCONDITIONAL and replaces != (current.tag if current else None):
            return StoreConflict()
        return self._write(name, data, about)

    def _append(self, name: str, data: bytes, offset: int | None) -> Any:
        current = self.blobs.get(name)
        if current is None:
            return False
        if offset not in (None, len(current.data)):
            return StoreConflict()
        self._write(name, current.data + data, current.about)
        return True

    def _write(self, name: str, data: bytes, about: Any) -> StorageETag:
        self.writes += 1
        tag = StorageETag(str(self.writes))
        self.blobs[name] = Stored(data, tag, about)
        return tag


class SimulatedStorage:
    """The calls of the BlobStorage port that the audit log makes, each a step of the schedule."""

    async def get(self, name: str, known: StoredBlob | None = None) -> StoredBlob | None:
        found = await Call("get", name)
        return None if found is None else StoredBlob(found.data, found.tag)

    async def put(
        self, name: str, data: bytes, *, replaces: StorageETag | None, metadata: Any = None, known_at: Any = None
    ) -> StorageETag:
        tag: StorageETag = await Call("put", name, data, replaces, metadata or {})
        return tag

    async def create_log(
        self, name: str, *, metadata: Mapping[str, str] | None = None, known_at: datetime | None = None
    ) -> None:
        await Call("create_log", name, b"", None, metadata or {})

    async def append(self, name: str, data: bytes, *, offset: int, known_at: datetime | None = None) -> bool:
        is_applied: bool = await Call("append", name, data, offset)
        return is_applied

    async def list(
        self, prefix: str, *, limit: int, cursor: str | None, metadata: bool = False, copies: bool = False
    ) -> Page[ListedBlob]:
        found = await Call("list", prefix)
        return Page([ListedBlob(name, blob.tag, datetime.min, blob.about) for name, blob in found], None)


class SimulatedBlobs(Blobs):
    """The storage as the audit log uses it, of a user who is not being erased."""

    def __init__(self, clock: Clock) -> None:
        storage: Any = SimulatedStorage()
        super().__init__(storage, clock)

    async def check(self, scope: UserScope) -> FenceCheck:
        """No user is being erased."""
        return FenceCheck(scope, self.clock.now(), 0.0)


class SimulatedLock:
    """A lock whose next holder the schedule chooses."""

    def __init__(self) -> None:
        self.is_held = False

    async def __aenter__(self) -> None:
        while self.is_held:
            await Call("lock", self)
        self.is_held = True

    async def __aexit__(self, *_: object) -> None:
        self.is_held = False


def simulated_log(clock: Clock, vault: Vault) -> AuditLog:
    """The real AuditLog over simulated calls, with locks whose next holder the schedule chooses."""
    # Imported by module so that a mutant can replace it.
    real: Any = importlib.import_module("memnet.stores.audit_log").AuditLog
    locks = collections.defaultdict[str, SimulatedLock](SimulatedLock)
    kind = type("SimulatedLog", (real,), {"_lock": lambda log, folder: locks[folder]})
    log: AuditLog = kind(SimulatedBlobs(clock), vault)
    return log
