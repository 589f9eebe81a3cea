"""Read and write the record of a retraction, with its sealed plan."""

from dataclasses import dataclass, replace

from memnet.domain.core.errors import RetractionNotFound
from memnet.domain.core.job import Job
from memnet.domain.core.scope import StorageETag
from memnet.domain.governance import retraction as retractions
from memnet.domain.governance.retraction import Retraction, RetractionPlan, load_plan, retraction_key
from memnet.service import Service
from memnet.stores import KeyRing


@dataclass(frozen=True, slots=True)
class LoadedRetraction:
    """The record and its plan as read; every write of the record is conditional on `tag`."""

    retraction: Retraction
    plan: RetractionPlan
    tag: StorageETag


async def load_retraction(job: Job, service: Service) -> LoadedRetraction:
    """Read a retraction and unseal its plan; that of one that has expired is empty.

    Raises RetractionNotFound, HistoryCorrupt, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    stored = await service.records.read(retraction_key(job.scope, job.job_id))
    if stored is None:
        raise RetractionNotFound()
    found = retractions.load(stored.data)
    if found.is_expired:
        return LoadedRetraction(found, RetractionPlan(), stored.storage_etag)
    plaintext = await KeyRing(service.vault).unseal_member(found.key, found.sealed)
    return LoadedRetraction(found, load_plan(plaintext), stored.storage_etag)


async def write_retraction(loaded: LoadedRetraction, service: Service) -> LoadedRetraction:
    """Write the record on the condition that it is unchanged. Raises StoreConflict, Unavailable."""
    tag = await service.records.write(loaded.retraction.key, retractions.dump(loaded.retraction), replaces=loaded.tag)
    return replace(loaded, tag=tag)


async def write_plan(loaded: LoadedRetraction, plan: RetractionPlan, service: Service) -> LoadedRetraction:
    """Seal the plan and write the record with it. Raises StoreConflict, VaultUnavailable, Unavailable."""
    sealed = await KeyRing(service.vault).seal_member(loaded.retraction.key, plan.dump())
    changed = loaded.retraction.with_plan(sealed, plan.counts(), service.clock.now())
    return await write_retraction(replace(loaded, retraction=changed, plan=plan), service)
