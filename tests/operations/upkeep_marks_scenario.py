"""A service on memory adapters whose storage is counted, watched and ended at any call; and users that change."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from memnet.adapters.memory.blob_storage import MemoryBlobStorage
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument, ReplaceDocument, WriteResult
from memnet.domain.upkeep.marks import CHANGED, DUE, SHARDS, Work, shard_of
from memnet.operations.documents.write import patch_document, replace_document
from memnet.operations.service.run_shard import ShardReport, run_shard
from memnet.wiring import in_memory
from tests.domain.samples import CATALOG
from tests.memory_blobs import storage_of
from tests.sample_settings import sample_settings

LIVE = Actor("svc-live", frozenset())
READY = timedelta(hours=2)
"""A pause after which every changed mark is ready."""
DAY = timedelta(days=1)


class Killed(BaseException):
    """The process is gone."""


class CountedStorage:
    """Counts the calls; ends the process at one, by its number, once it was applied."""

    def __init__(self, inner: MemoryBlobStorage) -> None:
        self.inner = inner
        self.calls: Counter[str] = Counter()
        self.kill_at: int | None = None
        self.before: Callable[[str, str], Any] = lambda method, name: None

    def __getattr__(self, method: str) -> Any:
        call = getattr(self.inner, method)

        async def counted(*given: Any, **named: Any) -> Any:
            self.calls[method] += 1
            number = self.calls.total()
            if self.kill_at is not None and number > self.kill_at:
                raise Killed
            self.before(method, given[0] if given else "")
            found = await call(*given, **named)
            if number == self.kill_at:
                raise Killed
            return found

        return counted

    def count(self) -> int:
        """Return the number of calls since the last time."""
        total = self.calls.total()
        self.calls.clear()
        return total


class UpkeepWorld:
    """One process of a service."""

    def __init__(self, catalog: Catalog = CATALOG) -> None:
        self.service = in_memory(sample_settings(), catalog)
        self.blobs: Any = self.service.documents._blobs
        self.stored = storage_of(self.service.documents)
        self.storage = self.blobs.storage = CountedStorage(self.stored)
        self.clock: Any = self.service.clock
        self.keys = 0

    async def patch(
        self, scope: UserScope, text: str = "text", path: str = "alpha.json", ops: list[dict[str, Any]] | None = None
    ) -> WriteResult:
        """Change a project of the user, or create it."""
        self.keys += 1
        key = DocumentKey(scope, "projects", path)
        found = await self.service.documents.get(key)
        command = PatchDocument(
            key=key,
            actor=LIVE,
            precondition=IfMatch(found.view.etag) if found and found.view else IfAbsent(),
            idempotency_key=f"key-{self.keys}",
            profile_id="project-copilot-v1",
            binding_id="project_doc",
            ops=ops or [{"op": "replace", "path": "/content/summary", "value": text}],
            reason=Reason.LIVE_UPDATE,
        )
        made = await patch_document(command, self.service)
        await self.drain()
        return made

    async def facts(self, scope: UserScope, *facts: dict[str, Any]) -> None:
        """Create the user's own document with these facts."""
        self.keys += 1
        command = ReplaceDocument(
            key=DocumentKey(scope, "user", "user_dynamic.json"),
            actor=LIVE,
            precondition=IfAbsent(),
            idempotency_key=f"key-{self.keys}",
            profile_id="project-copilot-v1",
            binding_id="user_dynamic",
            schema_id="memory.user.dynamic",
            schema_version="1.0.0",
            content={"preferences": [], "durable_facts": list(facts), "pending_confirmations": []},
        )
        await replace_document(command, self.service)
        await self.drain()

    async def drain(self) -> None:
        background: Any = self.service.background
        await background.drain()

    async def run(self, work: Work) -> list[ShardReport]:
        """Run every shard once."""
        return [await run_shard(work, shard, self.service) for shard in SHARDS]

    async def users(self, work: Work) -> int:
        """Run every shard once; return how many users were served."""
        return sum(report.users for report in await self.run(work))

    def changed(self) -> list[str]:
        return list(self.stored.names(CHANGED))

    def due(self) -> list[str]:
        return list(self.stored.names(DUE))

    def with_catalog(self, catalog: Catalog) -> None:
        self.service = replace(self.service, catalog=catalog)


def of_one_shard(count: int) -> list[UserScope]:
    """Return users of the first shard that has so many, in name order."""
    found: dict[str, list[UserScope]] = {}
    for number in range(64 * count * 2):
        scope = UserScope("t1", f"u{number:04}")
        found.setdefault(shard_of(scope), []).append(scope)
        if len(found[shard_of(scope)]) == count:
            return found[shard_of(scope)]
    raise AssertionError("too few")
