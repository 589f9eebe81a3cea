"""Blame beside live writers, replays, retention, legal holds, key rotation and an erasure, in random orders.

The oracle knows nothing of trees: each text that a writer writes is a token that occurs once, so the change that wrote
it, and the token that it replaced, are known by construction.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import orjson
import pytest

from memnet.domain.core import json_patch
from memnet.domain.core.access import Reason
from memnet.domain.core.errors import (
    DocumentNotFound,
    ErasureRunning,
    ETagMismatch,
    Unavailable,
    VersionNotFound,
)
from memnet.domain.core.scope import DocumentKey, ETag
from memnet.domain.documents import audit_segments
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument, Precondition
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import patch_document
from memnet.operations.governance.erase_user import Erased
from memnet.operations.governance.retention import apply_retention
from memnet.operations.history.get_blame import BlamePage, get_blame
from memnet.operations.history.verify_history import rebuild_documents
from memnet.operations.sealing import rotate_keys
from memnet.wiring import in_memory
from tests.domain.samples import CATALOG
from tests.operations.erasure_scenario import LIVE, SETTINGS, SETTLE, U1, ErasureWorld
from tests.operations.retention_scenario import CEILINGS

KEY = DocumentKey(U1, "user", "user_dynamic.json")
WORKERS, STEPS, CHECKS = 4, 14, 10
KEPT = timedelta(days=CEILINGS.audit_min_days or 0)


class Walk:
    """Several clients of one user, each step chosen at random."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = ErasureWorld(in_memory(SETTINGS, replace(CATALOG, ceilings=CEILINGS)))
        self.service = self.world.services
        self.count = self.requests = 0
        self.versions: dict[str, Any] = {}
        """The content that each change left, and when it was made."""
        self.writers: dict[str, str] = {}
        self.replaced: dict[str, str] = {}
        self.is_shortened = False
        self.sent: list[PatchDocument] = []

    def token(self) -> str:
        self.count += 1
        return f"token {self.count}"

    async def run(self) -> None:
        await self.write()
        await asyncio.gather(*(self._work() for _ in range(WORKERS)))
        await self.world.drain()

    async def _work(self) -> None:
        steps: list[Callable[[], Awaitable[Any]]] = [self.write] * 6
        steps += [self.repeat, self.blame, self.blame, self.retain, self.hold, self.rotate, self.wait]
        for _ in range(STEPS):
            await self.random.choice(steps)()
            await asyncio.sleep(0)

    async def write(self) -> None:
        """One change by a client that has read the document; another writer can be faster."""
        over: Precondition = IfAbsent()
        content: Any = {"preferences": []}
        try:
            view = await get_document(KEY, self.service)
            over, content = IfMatch(ETag(view.etag)), orjson.loads(view.document)["content"]
        except DocumentNotFound:
            pass
        before = list(content["preferences"])
        op = self.edit(before)
        self.requests += 1
        command = PatchDocument(
            key=KEY,
            actor=LIVE,
            precondition=over,
            idempotency_key=f"key-{self.requests}",
            profile_id="project-copilot-v1",
            binding_id="user_dynamic",
            ops=[op],
            reason=Reason.LIVE_UPDATE,
            evidence={"conversation_id": f"c{self.count}"},
            confidence=0.9,
        )
        try:
            done = await patch_document(command, self.service)
        except ETagMismatch:
            return
        self.sent.append(command)
        left = json_patch.apply({"content": content}, [orjson.loads(orjson.dumps(op))])["content"]["preferences"]
        self.versions[done.change_id] = left, self.service.clock.now()
        for text in left:
            self.writers.setdefault(text, done.change_id)
        if op["op"] == "replace" and isinstance(op["value"], str):
            self.replaced[op["value"]] = before[int(op["path"].rpartition("/")[2])]

    def edit(self, texts: list[str]) -> dict[str, Any]:
        path, size = "/content/preferences", len(texts)
        at, other = (self.random.randrange(size), self.random.randrange(size)) if size else (0, 0)
        adds = {"op": "add", "path": f"{path}/{self.random.choice(['-', '0'])}", "value": self.token()}
        if size < 3:
            return adds
        mixed = self.random.sample(texts, size - 1)
        choices: list[dict[str, Any]] = [
            adds,
            {"op": "replace", "path": f"{path}/{at}", "value": self.token()},
            {"op": "remove", "path": f"{path}/{at}"},
            {"op": "move", "from": f"{path}/{at}", "path": f"{path}/{other}"},
            {"op": "replace", "path": path, "value": [*mixed, self.token()]},
        ]
        return self.random.choice([*choices, choices[1]])

    async def repeat(self) -> None:
        """A client that had no answer sends its request again."""
        known = len(self.versions)
        if self.sent[-5:]:
            again = await patch_document(self.random.choice(self.sent[-5:]), self.service)
            assert again.replayed
        assert len(self.versions) >= known

    async def retain(self) -> None:
        self.is_shortened = True
        await apply_retention(U1, self.service, as_of=None, dry_run=False)

    async def hold(self) -> None:
        if await self.world.is_held():
            await self.world.release()
        else:
            await self.world.hold()

    async def rotate(self) -> None:
        user = self.random.choice([None, U1.user_id])
        await rotate_keys(U1.tenant_id, user, vault=self.service.vault)

    async def wait(self) -> None:
        """Time passes: the records of another month are in another segment."""
        self.world.advance(timedelta(days=self.random.choice([1, 20, 90])))

    async def blame(self, change_id: str | None = None) -> None:
        """Ask for a version, the newest or an earlier one, and compare every value."""
        chosen = change_id or self.random.choice([None, *self.versions])
        try:
            page = await self.asked((), chosen)
        except VersionNotFound:
            assert chosen is not None
            assert self.is_shortened
            assert self.versions[chosen][1] + KEPT <= self.service.clock.now()
            return
        found = page.rows[0].node.plain()["preferences"]
        if chosen is not None:
            assert found == self.versions[chosen][0]
        for row in page.rows:
            for place, node in row.node.nodes(row.place):
                if place[:1] == ("preferences",) and isinstance(node.value, str):
                    assert node.origin.change_id == self.writers.get(node.value, node.origin.change_id)
        if found:
            await self.blame_of(self.random.randrange(len(found)), page)

    async def blame_of(self, index: int, page: BlamePage) -> None:
        """Ask for one value of the same version: the values before it are those that were replaced by it."""
        try:
            (row,) = (await self.asked(("preferences", str(index)), page.version.change_id)).rows
        except VersionNotFound:
            return
        expected, value = [], row.node.value
        while value in self.replaced and len(expected) < 8:
            value = self.replaced[value]
            expected.append(value)
        before = [one.value for one in row.before]
        assert row.knows_before or self.is_shortened
        assert before == (expected[: len(before)] if row.knows_before else [])
        if row.knows_before:
            assert bool(before) == bool(expected)

    async def asked(self, place: tuple[str, ...], as_of: str | None) -> BlamePage:
        while True:
            try:
                return await get_blame(KEY, place, self.service, as_of=as_of, limit=1000, cursor=None)
            except Unavailable:
                # Retention removed records while they were read.
                await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(6))
async def test_every_version_is_blamed_on_those_who_wrote_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_segments, "MAX_RECORDS", 5)
    walk = Walk(seed)
    await walk.run()
    for change_id in walk.random.sample(list(walk.versions), min(CHECKS, len(walk.versions))):
        await walk.blame(change_id)
    await walk.blame()
    assert [one.fault for one in await rebuild_documents(U1, walk.service)] == [None]


@pytest.mark.parametrize("seed", range(3))
async def test_blame_beside_an_erasure_answers_as_other_reads_do(seed: int) -> None:
    walk = Walk(seed)
    await walk.run()
    newest = list(walk.versions)[-1]
    if await walk.world.is_held():
        await walk.world.release()
    await walk.world.request()
    while True:
        for as_of in (None, newest):
            refused = [await refusal(call) for call in (reading(walk, as_of), blaming(walk, as_of))]
            assert refused[0] == refused[1]
        if await walk.world.run() is Erased.FINISHED:
            break
        walk.world.advance(SETTLE)
    for as_of in (None, newest):
        assert await refusal(blaming(walk, as_of)) == DocumentNotFound.code


def reading(walk: Walk, as_of: str | None) -> Awaitable[Any]:
    return get_document(KEY, walk.service, as_of=as_of)


def blaming(walk: Walk, as_of: str | None) -> Awaitable[Any]:
    return get_blame(KEY, (), walk.service, as_of=as_of, limit=10, cursor=None)


async def refusal(call: Awaitable[Any]) -> str | None:
    try:
        await call
    except (DocumentNotFound, ErasureRunning, VersionNotFound) as error:
        return str(error.code)
    return None
