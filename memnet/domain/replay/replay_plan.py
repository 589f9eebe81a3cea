"""The plan of a replay, made once: the event, and each patch with its base and its current request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from memnet.domain.catalog.rules import SectionUpkeep, takes_claimants
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import DecryptionFailed
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES, EvidenceMembers
from memnet.domain.core.json_types import members_of, present
from memnet.domain.core.scope import RESERVED, Json, UserScope
from memnet.domain.core.stored_form import Reading
from memnet.domain.documents.rebase import Rebased, rebase
from memnet.domain.events.event import MAX_DIGEST, MAX_WORDS
from memnet.domain.replay.extraction import Digest, Extraction, ProposedPatch, SourceDocument
from memnet.domain.replay.injected_memory import strip_messages
from memnet.domain.replay.material import Material
from memnet.domain.replay.proposal import ConflictDetails, Proposal, Request, load_proposal
from memnet.domain.replay.replay import PatchResult, PatchStatus

MAX_WORD = 128
SOURCE_TYPE = "chat"


@dataclass(frozen=True, slots=True)
class PlannedPatch:
    """One patch. `request` None: the request depends on earlier patches of the same document."""

    proposal: Proposal
    request: Request | None
    conflict: ConflictDetails | None = None

    def result(self, status: PatchStatus, **known: Any) -> PatchResult:
        """Return its result for the replay's record."""
        proposal = self.proposal
        return PatchResult(
            index=proposal.index,
            binding_id=proposal.binding_id,
            namespace=proposal.key.namespace,
            path=proposal.key.path,
            status=status,
            **_cited(proposal.evidence),
            confidence=proposal.confidence,
            rebased=self.request is not None and self.request.number > 0,
            **known,
        )


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """The plain form of a replay's sealed part."""

    event: Json
    """The members of the event; None if there is no digest."""
    patches: Sequence[PlannedPatch]
    said: Sequence[str] = ()
    """The hashes of what the user said in turns (`turn_gates.fingerprints`), until they are counted."""

    def change(self, index: int, **changes: Any) -> "ReplayPlan":
        """Return the plan with members of one patch replaced."""
        patches = list(self.patches)
        patches[index - 1] = replace(patches[index - 1], **changes)
        return replace(self, patches=tuple(patches))

    def dump(self) -> bytes:
        """Return the plaintext to be sealed. Each document's base is in it once."""
        bases = {f"{one.proposal.key.namespace}/{one.proposal.key.path}": one.proposal.base for one in self.patches}
        rows = [
            {
                "proposal": patch.proposal.members(),
                "request": patch.request and members_of(patch.request),
                "conflict": patch.conflict and members_of(patch.conflict),
            }
            for patch in self.patches
        ]
        return canonical({"event": self.event, "bases": bases, "patches": rows, "said": list(self.said)})


def load(scope: UserScope, data: bytes) -> ReplayPlan:
    """Read what `ReplayPlan.dump` wrote. Raises DecryptionFailed."""
    with Reading(DecryptionFailed()):
        members = orjson.loads(data)
        patches = tuple(_patch(scope, row, members["bases"]) for row in members["patches"])
        return ReplayPlan(members["event"], patches, tuple(members["said"]))


def make_plan(
    material: Material,
    sources: Sequence[SourceDocument],
    extraction: Extraction,
    rules: Mapping[str, Sequence[SectionUpkeep]],
    *,
    said: Sequence[str] = (),
) -> ReplayPlan:
    """Plan the patches and the event of an extraction.

    The first patch of a document is sent for the version it was proposed on; its evidence joins equal content there.
    `rules` are the profile's upkeep rules, by binding.
    """
    contents = {(document.key, document.etag): document.content for document in sources}
    seen = set()
    patches = []
    for index, proposed in enumerate(extraction.patches, start=1):
        proposal = _proposal(material, extraction, index, proposed, contents[proposed.key, proposed.base_etag])
        if not takes_claimants(rules.get(proposal.binding_id, ())):
            proposal = replace(proposal, claimed_by=None)
        rebased = rebase(proposal.ops, proposal.base, proposal.base, rules.get(proposal.binding_id, ()))
        request = None
        if proposed.key not in seen and isinstance(rebased, Rebased) and rebased.ops:
            request = Request(0, proposed.base_etag, rebased.ops)
        seen.add(proposed.key)
        patches.append(PlannedPatch(proposal, request))
    event = None if extraction.digest is None else _event(material, extraction.digest)
    return ReplayPlan(event, tuple(patches), tuple(said))


def settled_results(material: Material, extraction: Extraction, namespaces: dict[str, str]) -> list[PatchResult]:
    """Return the results known at once, after the patches by index: known content (unchanged), then rejections."""
    first = len(extraction.patches) + 1
    known = [
        PatchResult(
            index=index,
            binding_id=found.binding_id,
            namespace=found.key.namespace,
            path=found.key.path,
            status=PatchStatus.UNCHANGED,
            **_cited(material.evidence(found.message_ids)),
            confidence=found.confidence,
            supports=tuple(found.supports),
            etag=found.etag,
        )
        for index, found in enumerate(extraction.known, start=first)
    ]
    rejected = [
        PatchResult(
            index=index,
            binding_id=refused.binding_id,
            namespace=namespaces.get(refused.binding_id, ""),
            path=refused.path,
            status=PatchStatus.REJECTED,
            reason=f"{refused.code}: {refused.reason}",
        )
        for index, refused in enumerate(extraction.rejected, start=first + len(known))
    ]
    return known + rejected


def _cited(evidence: EvidenceMembers) -> dict[str, Any]:
    """Return what the result of a patch says of its messages."""
    return {"message_ids": tuple(evidence.get("message_ids", ())), "snapshot_uri": evidence.get("snapshot_uri")}


def _proposal(material: Material, extraction: Extraction, index: int, proposed: ProposedPatch, base: Json) -> Proposal:
    snapshot = material.snapshot
    spoken = [message.timestamp for message in snapshot.messages if message.message_id in set(proposed.message_ids)]
    return Proposal(
        replay_id=snapshot.replay_id,
        index=index,
        profile_id=snapshot.profile_id,
        binding_id=proposed.binding_id,
        key=proposed.key,
        base_etag=proposed.base_etag,
        base=base,
        ops=list(proposed.ops),
        confidence=proposed.confidence,
        evidence=_bounded(
            material.evidence(proposed.message_ids),
            replay_id=snapshot.replay_id,
            extraction=extraction.provenance_of(proposed.binding_id).members()
            | present(judged=list(proposed.judged) or None),
        ),
        on_behalf_of=snapshot.service_id,
        source_time=max(spoken, default=None),
        stated_at=proposed.stated_at,
        asks_about=proposed.asks_about,
        claimed_by=snapshot.claimed_by,
    )


def event_id_of(replay_id: str) -> str:
    """Return the id of the event that a replay writes."""
    return f"{RESERVED}{replay_id}"


def _event(material: Material, digest: Digest) -> Json:
    """Return the event; it depends on the messages and the digest alone, so that a repeated write is the same event."""
    snapshot = material.snapshot
    taken = material.taken(strip_messages(snapshot.messages))
    ids = [message.message_id for message in taken if message.content]
    # Its retention rule applies to the event.
    about: dict[str, Any] = {"profile_id": snapshot.profile_id}
    if not material.origins:
        about["span"] = {"start": 0, "end": len(snapshot.messages) - 1}
    evidence = _bounded(material.evidence(ids), **about)
    return {
        "event_id": event_id_of(snapshot.replay_id),
        "service_id": snapshot.service_id[:MAX_WORD],
        "timestamp": snapshot.messages[-1].timestamp,
        "source_type": SOURCE_TYPE,
        "digest": digest.text[:MAX_DIGEST],
        "keywords": list(digest.keywords)[:MAX_WORDS],
        "entities": list(digest.entities)[:MAX_WORDS],
        "project_ids": list(digest.project_ids)[:MAX_WORDS],
        "snapshot_uri": evidence.pop("snapshot_uri"),
        "evidence": evidence,
    }


def _bounded(evidence: EvidenceMembers, **more: Any) -> EvidenceMembers:
    """Return the evidence with more members and its first message ids, as many as its size limit allows."""
    left = MAX_EVIDENCE_BYTES - len(canonical({**evidence, **more, "message_ids": []}))
    kept: list[str] = []
    for message_id in evidence["message_ids"]:
        left -= len(canonical(message_id)) + 1
        if left < 0:
            break
        kept.append(message_id)
    return {**evidence, **more, "message_ids": kept}


def _patch(scope: UserScope, row: dict[str, Any], bases: dict[str, Json]) -> PlannedPatch:
    proposal = row["proposal"]
    return PlannedPatch(
        load_proposal(scope, proposal, bases[f"{proposal['namespace']}/{proposal['path']}"]),
        None if row["request"] is None else Request(**row["request"]),
        None if row["conflict"] is None else ConflictDetails(**row["conflict"]),
    )
