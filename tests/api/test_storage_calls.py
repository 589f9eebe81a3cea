"""How many storage calls a request makes, and how many of them in a row: what Azure bills and what a client waits for.

The storage answers in waves: all calls under way end together, once nothing else can run, as with a storage that always
takes the same time. So the waves until a response are its round trips.
"""

import asyncio
from collections import Counter
from dataclasses import replace
from itertools import count
from pathlib import Path

import httpx
import pytest

from local.bench import event_subject, subject
from local.bench.counted_storage import CountedStorage
from local.bench.scale.calls import ASSEMBLE_4, CHANGE, CREATE, EVENT, READ
from memnet.adapters.memory.blob_storage import MemoryBlobStorage
from memnet.adapters.process.background import BackgroundTasks
from memnet.catalog import Catalog, load_catalog
from memnet.domain.governance.tenant_erasure import LOOK_EVERY
from memnet.ports import BlobStorage, Clock
from memnet.service import Service
from memnet.settings import Settings
from memnet.stores import SearchRegister
from memnet.wiring import in_memory
from tests.api.conftest import Token, bearer, changing, creating
from tests.memory_blobs import storage_of

TURNS = 40
"""Turns of the event loop after which only calls of the storage are left."""
DOCUMENT = subject.document_url("u1", subject.BINDINGS[0])
CHARS = 2_000


class WaveStorage(CountedStorage):
    """Answers in waves, and counts them."""

    def __init__(self, inner: BlobStorage) -> None:
        super().__init__(inner)
        self.waves = 0
        self._wave: asyncio.Task[None] | None = None

    async def before(self, method: str, name: str) -> None:
        if self._wave is None:
            self._wave = asyncio.create_task(self._end_wave())
        await asyncio.shield(self._wave)

    async def _end_wave(self) -> None:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        self.waves += 1
        self._wave = None


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Four documents with fixed paths."""
    subject.write_catalog(tmp_path)
    return load_catalog(tmp_path / "profiles", tmp_path / "schemas", Path(__file__).parents[2] / "prompts")


@pytest.fixture
def storage() -> list[WaveStorage]:
    """The storage of `services`, once that exists."""
    return []


@pytest.fixture
def services(settings: Settings, catalog: Catalog, storage: list[WaveStorage]) -> Service:
    """The service as in Azure: it relies for a while on its last look at a tenant's end and at the index in use."""

    def count_calls(clock: Clock) -> BlobStorage:
        storage.append(WaveStorage(MemoryBlobStorage(clock)))
        return storage[0].as_storage()

    service = in_memory(settings, catalog, storage=count_calls, look_every=LOOK_EVERY)
    register = SearchRegister(service.documents._blobs)
    return replace(service, search=replace(service.search, register=register))


class Caller:
    """A client and the storage of the service that it calls."""

    def __init__(self, client: httpx.AsyncClient, services: Service, storage: WaveStorage) -> None:
        self._client = client
        self._services = services
        self._storage = storage
        self._numbers = count()
        self.etag = ""
        self.waves = 0
        """Round trips until the last response."""
        self.calls: Counter[str] = Counter()
        """Storage calls of the last request, those after its response included."""

    async def send(self, method: str, url: str, body: bytes = b"", **headers: str) -> httpx.Response:
        """Send a request, wait for the work after it, and note the calls."""
        self._storage.counts.clear()
        self._storage.waves = 0
        response = await self._client.request(method, url, content=body, headers=headers)
        self.waves = self._storage.waves
        assert response.status_code in (200, 201), response.text
        await self._drain()
        self.calls = self._storage.counts.copy()
        return response

    async def _drain(self) -> None:
        assert isinstance(self._services.background, BackgroundTasks)
        assert await self._services.background.drain(5)

    async def create(self, binding: str = subject.BINDINGS[0], user: str = "u1") -> None:
        """Create a document."""
        url, body = subject.document_url(user, binding), subject.creation(binding, CHARS)
        self.etag = (await self.send("PATCH", url, body, **creating(f"c{next(self._numbers)}"))).headers["ETag"]

    async def change(self) -> None:
        """Change the document that was created last, with its newest ETag."""
        number = next(self._numbers)
        body = subject.change(subject.BINDINGS[0], number)
        self.etag = (await self.send("PATCH", DOCUMENT, body, **changing(self.etag, f"k{number}"))).headers["ETag"]

    async def change_at_once(self, times: int) -> Counter[str]:
        """Change it again and again without a pause; return all storage calls."""
        self._storage.counts.clear()
        for _ in range(times):
            number = next(self._numbers)
            body = subject.change(subject.BINDINGS[0], number)
            response = await self._client.patch(DOCUMENT, content=body, headers=changing(self.etag, f"k{number}"))
            self.etag = response.headers["ETag"]
        await self._drain()
        return self._storage.counts.copy()


@pytest.fixture
async def caller(client: httpx.AsyncClient, services: Service, storage: list[WaveStorage], token: Token) -> Caller:
    client.headers.update(bearer(token(tid=subject.TENANT)))
    client.headers["Content-Type"] = "application/json"
    return Caller(client, services, storage[0])


@pytest.fixture
async def warm(caller: Caller) -> Caller:
    """A user whose key, segment and marks exist, and whose first document was changed once."""
    await caller.create()
    await caller.change()
    return caller


async def test_a_document_is_created_in_three_round_trips(warm: Caller) -> None:
    await warm.create(subject.BINDINGS[1])
    assert (warm.calls, warm.waves) == (CREATE, 3)


async def test_the_first_document_of_a_user_takes_one_round_trip_more_for_the_data_key(warm: Caller) -> None:
    await warm.create(user="u2")
    assert warm.waves == 4


async def test_a_change_writes_the_document_and_appends_its_record(warm: Caller) -> None:
    await warm.change()
    await warm.change()
    assert (warm.calls, warm.waves) == (CHANGE, 1)


async def test_changes_without_a_pause_make_no_more_calls_than_changes_with_one(warm: Caller) -> None:
    changes = 100
    assert (await warm.change_at_once(changes)).total() <= 2.2 * changes


async def test_a_remembered_document_is_read_with_one_call(warm: Caller) -> None:
    await warm.send("GET", DOCUMENT)
    assert (warm.calls, warm.waves) == (READ, 1)


async def test_four_documents_are_assembled_in_one_round_trip(warm: Caller) -> None:
    for binding in subject.BINDINGS[1:]:
        await warm.create(binding)
    await warm.send("POST", f"{subject.user_url('u1')}/context:assemble", subject.assembly())
    assert (warm.calls, warm.waves) == (ASSEMBLE_4, 1)


async def test_an_event_is_written_in_two_round_trips(warm: Caller) -> None:
    url = event_subject.events_url("u1")
    for number in range(3):
        await warm.send("POST", url, event_subject.dump(event_subject.event_body(f"e{number}", number)))
    assert (warm.calls, warm.waves) == (EVENT, 2)


async def test_a_thousand_changes_leave_four_segments_and_the_baselines_of_three(
    warm: Caller, services: Service
) -> None:
    await warm.change_at_once(998)
    names = storage_of(services.documents).names(f"{subject.user_prefix('u1')}audit/")
    assert Counter(name.rpartition(".")[2] for name in names) == {"jsonl": 4, "json": 3}
