"""Which adapter plays which port. Every entry point starts here; nothing else composes."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from memnet.adapters.azure.blob_audit import BlobAuditLog
from memnet.adapters.azure.blob_container import BlobContainer, open_container
from memnet.adapters.azure.blob_documents import BlobDocumentStore
from memnet.adapters.memory.audit import MemoryAuditLog
from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.documents import MemoryDocumentStore
from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.process.background import BackgroundTasks
from memnet.adapters.process.document_cache import DocumentCache
from memnet.adapters.process.no_semantic_router import NoSemanticRouter
from memnet.adapters.process.quota import LimitsQuota, ProcessCounters, open_quota
from memnet.adapters.system import RandomIds, SystemClock
from memnet.catalog import Catalog, load_catalog
from memnet.ports import AuditLog, Background, Clock, DocumentStore, IdGenerator, Quota, SemanticRouter
from memnet.settings import Settings, SettingsError

DRAIN_SECONDS = 10.0
"""How long a stopping process waits for its background work; what is left, a sweep finishes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything an entry point hands to the operations."""

    documents: DocumentStore
    audit: AuditLog
    catalog: Catalog
    clock: Clock
    ids: IdGenerator
    background: Background
    quota: Quota
    semantic_router: SemanticRouter
    settings: Settings


@asynccontextmanager
async def connect(settings: Settings) -> AsyncIterator[Services]:
    """Yield the services on Azure (or its local stand-ins); nothing is sent before the first call.

    Raises SettingsError and CatalogError before anything is opened to the outside. Leaving drains the background work.
    """
    catalog = load_catalog(settings.profiles_dir, settings.schemas_dir)
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        quota = await _enter_quota(stack, settings, clock)
        container = await _enter_container(stack, settings, clock)
        background = BackgroundTasks()
        stack.push_async_callback(background.drain, DRAIN_SECONDS)
        yield Services(
            documents=BlobDocumentStore(container, DocumentCache(settings.cache_bytes)),
            audit=BlobAuditLog(container),
            catalog=catalog,
            clock=clock,
            ids=RandomIds(),
            background=background,
            quota=quota,
            semantic_router=NoSemanticRouter(),
            settings=settings,
        )


def in_memory(settings: Settings, catalog: Catalog) -> Services:
    """Build the services on memory adapters: a clock that stands still, ids in order, nothing outlives the process."""
    clock = FrozenClock()
    return Services(
        documents=MemoryDocumentStore(),
        audit=MemoryAuditLog(),
        catalog=catalog,
        clock=clock,
        ids=SequentialIds(),
        background=BackgroundTasks(),
        quota=LimitsQuota(
            ProcessCounters(clock),
            per_user=settings.quota_per_user,
            per_principal=settings.quota_per_principal,
            clock=clock,
        ),
        semantic_router=NoSemanticRouter(),
        settings=settings,
    )


async def _enter_quota(stack: AsyncExitStack, settings: Settings, clock: Clock) -> LimitsQuota:
    quota = open_quota(
        settings.quota_url,
        per_user=settings.quota_per_user,
        per_principal=settings.quota_per_principal,
        clock=clock,
    )
    try:
        return await stack.enter_async_context(quota)
    except ValueError as error:
        raise SettingsError(f"MEMNET_QUOTA_URL, MEMNET_QUOTA_PER_USER, MEMNET_QUOTA_PER_PRINCIPAL: {error}") from error


async def _enter_container(stack: AsyncExitStack, settings: Settings, clock: Clock) -> BlobContainer:
    container = open_container(
        settings.storage_url,
        account_key=settings.storage_key,
        timeout_seconds=settings.storage_timeout_seconds,
        clock=clock,
    )
    try:
        return await stack.enter_async_context(container)
    except ValueError as error:
        # Not the error's text: it may quote the key.
        raise SettingsError("MEMNET_STORAGE_URL, MEMNET_STORAGE_KEY: are not a container's URL and key") from error
