"""Settle what a replay will do: open the snapshot, show the documents, extract."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memnet.domain.core.errors import DecryptionFailed, SnapshotNotFound
from memnet.domain.core.scope import Actor
from memnet.domain.replay import snapshot as snapshots
from memnet.domain.replay.replay import PatchResult, Replay
from memnet.domain.replay.replay_plan import ReplayPlan, make_plan, settled_fates
from memnet.domain.replay.snapshot import Snapshot, snapshot_key
from memnet.operations.context.load_source_documents import load_source_documents
from memnet.operations.replay.extract_memory import extract_memory
from memnet.service import Service
from memnet.stores import KeyRing, Vault


@dataclass(frozen=True, slots=True)
class PlannedReplay:
    """The plan, and what the record tells of how it was made."""

    plan: ReplayPlan
    extraction: dict[str, Any]
    settled: Sequence[PatchResult]
    """The fates of what comes to no document."""


async def plan_replay(replay: Replay, service: Service, *, actor: Actor) -> PlannedReplay:
    """Make a plan of the replay's snapshot as the documents stand now. Nothing is stored.

    Raises SnapshotNotFound, DecryptionFailed, VaultUnavailable, ProfileNotFound, ProfileForbidden, Unavailable.
    """
    profile = service.catalog.profile(replay.profile_id)
    snapshot = await _open(replay, service.vault)
    shown = await load_source_documents(snapshot, service, actor=actor)
    extraction = await extract_memory(snapshot, shown, profile, service)
    namespaces = {binding.binding_id: binding.namespace for binding in profile.document_bindings}
    return PlannedReplay(
        make_plan(snapshot, shown, extraction, profile.upkeep_rules),
        extraction.provenance.members(),
        settled_fates(extraction, namespaces),
    )


async def _open(replay: Replay, vault: Vault) -> Snapshot:
    key = snapshot_key(replay.scope, replay.conversation_id, replay.snapshot_id)
    stored = await vault.records.read(key)
    if stored is None:
        raise SnapshotNotFound()
    snapshot = snapshots.load(replay.scope, await KeyRing(vault).unseal(key, stored.data))
    if snapshot.replay_id != replay.replay_id or snapshot.profile_id != replay.profile_id:
        raise DecryptionFailed("The snapshot is not the one that the replay's record tells of.")
    return snapshot
