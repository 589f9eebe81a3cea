"""How often a creation waits for the storage, and what an erasure that begins meanwhile finds."""

from typing import Any

import pytest

from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.errors import DocumentExists, ErasureRunning, Unavailable
from memnet.domain.core.scope import DocumentKey
from memnet.domain.governance.erasure import fence_name
from memnet.domain.upkeep.marks import changed_mark
from memnet.stores import ErasureStore
from tests.operations.service_scenario import ALPHA, SCOPE, CountingDocuments, Service, note
from tests.waves import WaveStorage, wave_blobs

FENCE = f"get {fence_name(SCOPE)}"
KEYS = f"{SCOPE.prefix}keys/"
MARK = f"put {changed_mark(SCOPE, FrozenClock().now()).blob_name}"
BETA = DocumentKey(SCOPE, "projects", "beta.json")


async def watched() -> tuple[Service, WaveStorage]:
    blobs, storage = await wave_blobs(SCOPE.tenant_id)
    return Service(documents=CountingDocuments(blobs)), storage


def kinds(waves: list[list[str]]) -> list[list[str]]:
    """The waves in the order of their names, with the user's keys shortened."""
    return [sorted(KEYS if KEYS in call else call for call in wave) for wave in waves]


async def test_a_creation_takes_three_round_trips() -> None:
    service, storage = await watched()
    await service.patch(note("first"))
    await service.background.drain()
    storage.waves.clear()
    await service.patch(note("another"), key=BETA)
    assert kinds(storage.waves) == [[FENCE, f"get {BETA.blob_name}"], [f"put {BETA.blob_name}"], [FENCE]]
    await service.background.drain()


async def test_the_first_creation_of_a_user_takes_one_more_for_the_key() -> None:
    service, storage = await watched()
    await service.patch(note("first"))
    read, key, *rest = kinds(storage.waves)
    assert read == sorted([FENCE, KEYS, f"get {ALPHA.blob_name}", MARK])
    assert (key, rest) == ([KEYS], [[f"put {ALPHA.blob_name}"], [FENCE]])
    await service.background.drain()


async def test_a_warm_change_takes_one() -> None:
    service, storage = await watched()
    *_, last = await service.count_up(2)
    storage.waves.clear()
    await service.patch(note("third"), over=last.etag)
    assert storage.waves == [[f"put {ALPHA.blob_name}"]]
    await service.background.drain()


async def test_a_fence_that_is_seen_during_the_read_keeps_the_document_and_the_key_out() -> None:
    service, storage = await watched()
    await ErasureStore(service.documents._blobs).write(SCOPE, b"{}", replaces=None)
    with pytest.raises(ErasureRunning):
        await service.patch(note("late"))
    assert storage.storage.names(SCOPE.prefix) == []


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_fence_that_comes_between_the_read_and_the_write_refuses_the_creation(when: str) -> None:
    """The erasure may have listed the documents before this one was written, so it is never acknowledged."""
    service, storage = await watched()
    put: Any = service.documents.put

    async def fenced(*arguments: Any, **named: Any) -> None:
        if when == "after":
            await put(*arguments, **named)
        storage.storage.overwrite(fence_name(SCOPE), b"{}")
        if when == "before":
            await put(*arguments, **named)

    service.documents.put = fenced  # type: ignore[method-assign]
    with pytest.raises(ErasureRunning):
        await service.patch(note("late"))
    assert ALPHA.blob_name in storage.storage.names(SCOPE.prefix)


async def test_every_attempt_of_a_creation_looks_again() -> None:
    """An attempt whose outcome is unknown may have taken long: the next one may not rely on its look."""
    service, storage = await watched()
    put: Any = service.documents.put

    async def lost(*_: Any, **__: Any) -> None:
        service.documents.put = put  # type: ignore[method-assign]
        storage.storage.overwrite(fence_name(SCOPE), b"{}")
        raise Unavailable

    service.documents.put = lost  # type: ignore[method-assign]
    with pytest.raises(ErasureRunning):
        await service.patch(note("late"))
    assert ALPHA.blob_name not in storage.storage.names(SCOPE.prefix)


async def test_a_document_that_exists_is_answered_without_the_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    service, storage = await watched()
    first = await service.patch(note("first"), idempotency_key="k")

    async def down(_: Any) -> None:
        raise Unavailable

    monkeypatch.setattr(service.documents._blobs, "check_to_write", down)
    again = await service.patch(note("first"), idempotency_key="k")
    assert (again.replayed, again.etag) == (True, first.etag)
    with pytest.raises(DocumentExists):
        await service.patch(note("second"))
    with pytest.raises(Unavailable):
        await service.patch(note("new"), key=BETA)
    assert BETA.blob_name not in storage.storage.names(SCOPE.prefix)
    await service.background.drain()
