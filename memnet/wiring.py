"""Choose the adapter of each port. Every entry point starts here; `clients` connects to the Azure services."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypedDict

from memnet import clients
from memnet.adapters.memory.blob_storage import MemoryBlobStorage
from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.event_index import MemoryEventIndex
from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.memory.keys import MemorySigningKeys, MemoryTenantKeys
from memnet.adapters.memory.queue import MemoryQueue
from memnet.adapters.process.background import BackgroundTasks
from memnet.adapters.process.data_key_cache import LIFETIME, ProcessDataKeyCache
from memnet.adapters.process.embedding_router import EmbeddingRouter
from memnet.adapters.process.measured_index import MeasuredIndex
from memnet.adapters.process.no_semantic_router import NoSemanticRouter
from memnet.adapters.process.no_telemetry import NoTelemetry
from memnet.adapters.process.once import Once
from memnet.adapters.process.quota import LimitsQuota, ProcessCounters
from memnet.adapters.process.zip_archive import create_zip, open_zip
from memnet.adapters.system import RandomIds, SystemClock
from memnet.catalog import Catalog, load_catalog
from memnet.domain.core.metric import SIZE_RATIO
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents.envelope import DocumentSummary
from memnet.domain.governance.tenant_erasure import look_every
from memnet.operations.catalog import register_catalog
from memnet.ports import (
    ArchiveReader,
    ArchiveWriter,
    Clock,
    DataKeyCache,
    Embedder,
    EventIndex,
    IdGenerator,
    SemanticRouter,
    Telemetry,
    TenantKeys,
)
from memnet.service import Service
from memnet.settings import Settings
from memnet.stores import (
    AuditLog,
    Blobs,
    CatalogTexts,
    DocumentStore,
    ErasureStore,
    EventStore,
    HoldStore,
    ItemStore,
    JobMarks,
    Search,
    SearchRegister,
    UserDirectory,
    UserStorage,
    Vault,
)

DRAIN_SECONDS = 10.0
"""How long a stopping process waits for its background work; a sweep completes the rest."""


@asynccontextmanager
async def open_telemetry(settings: Settings, part: str) -> AsyncIterator[Telemetry]:
    """Yield the telemetry of a process, a `part` of the service. Leaving the context delivers what is pending.

    Raises SettingsError: before any connection is opened.
    """
    async with AsyncExitStack() as stack:
        yield await clients.enter_telemetry(stack, settings, SystemClock(), RandomIds(), part)


@asynccontextmanager
async def connect(settings: Settings, telemetry: Telemetry | None = None) -> AsyncIterator[Service]:
    """Yield the service on Azure or its emulators; nothing is sent before the first call.

    Leaving the context drains the background work. Raises SettingsError, CatalogError: before any connection is opened.
    """
    catalog = load_catalog(
        settings.profiles_dir,
        settings.schemas_dir,
        settings.prompts_dir,
        settings.migrations_dir,
        settings.retention_file,
    )
    clock, ids, telemetry = SystemClock(), RandomIds(), telemetry or NoTelemetry()
    async with AsyncExitStack() as stack:
        quota = await clients.enter_quota(stack, settings, clock)
        container = await clients.enter_container(stack, settings, clock)
        blobs = Blobs(container, clock, look_every=look_every(timedelta(seconds=settings.erasure_quiescence_seconds)))
        embedder = await clients.enter_embedder(stack, settings)
        search = await clients.enter_search(stack, settings, blobs, embedder)
        tenant_keys, signing = await clients.enter_vault(stack, settings, clock, ids)
        queue = await clients.enter_queue(stack, settings, telemetry)
        models = await clients.enter_models(stack, settings, clock)
        background = BackgroundTasks()
        stack.push_async_callback(background.drain, DRAIN_SECONDS)
        registration = Once(partial(register_catalog, catalog, texts=CatalogTexts(blobs)))
        yield Service(
            **_stores(settings, catalog, telemetry, blobs, ids, tenant_keys, registration),
            registration=registration,
            search=_measured_search(search, telemetry),
            signing=signing,
            queue=queue,
            models=models,
            catalog=catalog,
            clock=clock,
            ids=ids,
            background=background,
            quota=quota,
            embedder=embedder,
            semantic_router=_semantic_router(embedder, settings),
            telemetry=telemetry,
            worker_principal=settings.worker_principal,
            erasure_quiescence=timedelta(seconds=settings.erasure_quiescence_seconds),
            settings=settings,
        )


def in_memory(
    settings: Settings, catalog: Catalog, embedder: Embedder | None = None, telemetry: Telemetry | None = None
) -> Service:
    """Build the service on memory adapters, with a fixed clock and sequential ids."""
    telemetry = telemetry or NoTelemetry()
    clock, ids = FrozenClock(), SequentialIds()
    blobs = Blobs(MemoryBlobStorage(clock), clock, look_every=timedelta(0))
    search = Search(MemoryEventIndex(), SearchRegister(blobs, fresh_seconds=0), ErasureStore(blobs), embedder)
    return Service(
        **_stores(settings, catalog, telemetry, blobs, ids, MemoryTenantKeys(ids), None),
        registration=Once(partial(register_catalog, catalog, texts=CatalogTexts(blobs))),
        search=_measured_search(search, telemetry),
        signing=MemorySigningKeys(ids),
        queue=MemoryQueue(clock),
        models=None,
        catalog=catalog,
        clock=clock,
        ids=ids,
        background=BackgroundTasks(),
        quota=LimitsQuota(
            ProcessCounters(clock),
            per_user=settings.quota_per_user,
            per_principal=settings.quota_per_principal,
            clock=clock,
        ),
        embedder=embedder,
        semantic_router=_semantic_router(embedder, settings),
        telemetry=telemetry,
        worker_principal=settings.worker_principal,
        erasure_quiescence=timedelta(seconds=settings.erasure_quiescence_seconds),
        settings=settings,
    )


class _Stores(TypedDict):
    documents: DocumentStore
    audit: AuditLog
    events: EventStore
    records: ItemStore
    vault: Vault
    marks: JobMarks
    users: UserDirectory
    holds: HoldStore
    erasures: ErasureStore
    user_storage: UserStorage


def _stores(
    settings: Settings,
    catalog: Catalog,
    telemetry: Telemetry,
    blobs: Blobs,
    ids: IdGenerator,
    keys: TenantKeys,
    registration: Callable[[], Awaitable[None]] | None,
) -> _Stores:
    """The stores of a process, all in `blobs`; no document is written before `registration` succeeds."""
    records, clock = ItemStore(blobs), blobs.clock
    vault = Vault(records, keys, ids, clock, _data_key_cache(settings, clock))
    documents = DocumentStore(
        blobs,
        cache_bytes=settings.document_cache_bytes,
        before_writing=registration,
        written=partial(_measure, telemetry, catalog) if telemetry.enabled else None,
    )
    return {
        "documents": documents,
        "audit": AuditLog(blobs, vault),
        "events": EventStore(blobs),
        "records": records,
        "vault": vault,
        "marks": JobMarks(blobs),
        "users": UserDirectory(blobs),
        "holds": HoldStore(blobs),
        "erasures": ErasureStore(blobs),
        "user_storage": UserStorage(blobs),
    }


def create_archive(path: Path) -> AbstractContextManager[ArchiveWriter]:
    """Create an archive, which is stored at `path` when the context ends without an error. Raises OSError."""
    return create_zip(path)


def open_archive(path: Path) -> AbstractContextManager[ArchiveReader]:
    """Open the archive at `path`. Raises ArchiveInvalid, OSError."""
    return open_zip(path)


def _data_key_cache(settings: Settings, clock: Clock) -> DataKeyCache:
    """Return a cache whose keys expire before the fence of an erasure that began meanwhile is lifted: see LIFETIME."""
    return ProcessDataKeyCache(
        clock, lifetime=min(LIFETIME, timedelta(seconds=settings.erasure_quiescence_seconds / 2))
    )


def _semantic_router(embedder: Embedder | None, settings: Settings) -> SemanticRouter:
    if embedder is None:
        return NoSemanticRouter()
    return EmbeddingRouter(embedder, timeout_seconds=settings.routing_timeout_seconds)


def _measure(telemetry: Telemetry, catalog: Catalog, key: DocumentKey, summary: DocumentSummary) -> None:
    """Record the size of a written document relative to the limit of each binding that covers it."""
    for rules in catalog.covering(key):
        binding = rules.binding
        telemetry.record(
            SIZE_RATIO,
            summary.size / binding.max_chars,
            profile_id=rules.profile.profile_id,
            binding_id=binding.binding_id,
        )


def _measured_search(search: Search, telemetry: Telemetry) -> Search:
    if not telemetry.enabled:
        return search
    index: EventIndex = MeasuredIndex(search.index, telemetry)
    return replace(search, index=index)
