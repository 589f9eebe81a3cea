"""A dry run decides as the write that follows it, whatever is down, and stores nothing."""

from collections import Counter
from datetime import timedelta
from random import Random
from typing import Any

import orjson

from memnet.adapters.memory.ids import SequentialIds
from memnet.domain.core.access import Reason
from memnet.domain.core.errors import MemnetError
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents import commit
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument, WriteResult
from memnet.operations.documents.write import patch_document
from memnet.stores import ErasureStore, Vault
from tests.memory_blobs import storage_of
from tests.operations.service_scenario import PROFILE, Service
from tests.operations.vault_scenario import TroubledKeys
from tests.services import service_of

ROUNDS, ROUNDS_OF_A_USER = 400, 40
PLACES = ["preferences/-", "preferences/0", "preferences/7", "durable_facts/-", "durable_facts/0", "other", "profile"]
PREFERENCE = {"op": "add", "path": "/content/preferences/-", "value": "Be brief."}
VALUES: list[Any] = ["short", "x" * 20_000, 7, {"password": "p"}, {"id": "f1", "text": "Has a dog.", "confidence": 0.9}]


class World:
    """One service whose vault and audit can be down, and whose users can be fenced."""

    def __init__(self) -> None:
        self.service = Service()
        self.fences = ErasureStore(self.service.documents._blobs)
        self.keys, vault = TroubledKeys(SequentialIds()), self.service.vault
        self.service.audit.vault = Vault(vault.records, self.keys, vault.ids, vault.clock, vault.cache)

    def stored(self) -> Any:
        """Everything that a write could change."""
        service = self.service
        storage = storage_of(service.documents)
        return {name: storage.data(name) for name in storage.names()}, repr(self.keys._versions)

    async def outcome(self, command: PatchDocument) -> tuple[str, Any, WriteResult | None]:
        """The code and details of a refusal, or the content that a success leaves."""
        try:
            result = await patch_document(command, service_of(**self.service.ports()))
        except MemnetError as error:
            return error.code.value, error.details, None
        if command.dry_run:
            assert result.document is not None
            return "ok", _content(orjson.loads(result.document)["content"]), result
        await self.service.background.drain()
        return "ok", _content((await self.service.head(command.key)).content), result


def _content(content: Any) -> Any:
    """Without the ids of pending items, which are made for each run."""
    return [content.get("preferences"), content.get("durable_facts"), len(content["pending_confirmations"])]


def some_ops(random: Random) -> list[dict[str, Any]]:
    ops: list[dict[str, Any]] = []
    for _ in range(random.choice([1, 1, 2, 3])):
        verb = random.choice(["add", "add", "add", "replace", "remove", "test", "copy", "nonsense"])
        op = {"op": verb, "path": f"/content/{random.choice(PLACES)}"}
        if verb in ("add", "replace", "test"):
            op["value"] = random.choice(VALUES)
        if verb == "copy":
            op["from"] = f"/content/{random.choice(PLACES)}"
        ops.append(op)
    return ops


async def test_a_dry_run_and_the_write_after_it_decide_alike() -> None:
    random, world, seen = Random(38), World(), Counter[str]()
    for number in range(ROUNDS):
        if number % ROUNDS_OF_A_USER == 0:
            scope, etag = UserScope("t1", f"u{number}"), None
            key = DocumentKey(scope, "user", "user_dynamic.json")
        world.keys.down = random.random() < 0.15
        world.service.audit.down = number % ROUNDS_OF_A_USER < 34
        fenced = random.random() < 0.1
        if fenced:
            tag = await world.fences.write(scope, b"{}", replaces=None)
        if random.random() < 0.3:
            world.service.clock.advance(timedelta(minutes=2))
        is_simple = random.random() < 0.5
        given: dict[str, Any] = {
            "key": key,
            "actor": Actor("svc-a", frozenset()),
            "precondition": IfAbsent() if etag is None else IfMatch(etag),
            "idempotency_key": f"k{number}",
            "profile_id": PROFILE,
            "binding_id": "user_dynamic",
            "ops": [{"op": "add", "path": "/content/preferences", "value": [f"{number}"]}]
            if is_simple
            else some_ops(random),
            "reason": Reason.LIVE_UPDATE if is_simple else random.choice([Reason.LIVE_UPDATE, Reason.REPLAY_UPDATE]),
            "evidence": random.choice([None, {"conversation_id": "c1"}]),
            "confidence": random.choice([None, 0.5, 0.75, 0.9]),
        }
        full = etag is not None and commit.outbox_is_full((await world.service.head(key)).commit.outbox)
        before = world.stored()
        dry = await world.outcome(PatchDocument(**given, dry_run=True))
        assert world.stored() == before, number
        written = await world.outcome(PatchDocument(**given))
        assert dry[:2] == written[:2], (number, given)
        if written[2] is not None:
            etag = written[2].etag
        seen[written[0]] += 1
        seen["outbox full"] += full
        if fenced:
            await world.fences.lift(scope, tag=tag)
    expected = {"ok", "ERASURE_RUNNING", "VAULT_UNAVAILABLE", "UNAVAILABLE", "SCHEMA_VIOLATION", "outbox full"}
    assert expected <= set(+seen), seen


async def test_the_end_of_the_tenant_refuses_both() -> None:
    world = World()
    key = DocumentKey(UserScope("t1", "u1"), "user", "user_dynamic.json")
    first = await world.service.patch(PREFERENCE, key=key)
    # The first change after a creation looks for the fence anyway.
    newest = await world.service.patch({**PREFERENCE, "value": "Be dry."}, key=key, over=first.etag)
    await world.fences.write_end("t1", b"{}", replaces=None, runs=True)
    for dry_run in (True, False):
        command = world.service.patch_command(PREFERENCE, key=key, over=newest.etag, dry_run=dry_run)
        assert (await world.outcome(command))[0] == "TENANT_ENDED"
