"""What a replay is going to do, settled once: the event, and each patch with its base and the request under way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from memnet.domain.catalog.rules import SectionUpkeep
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import DecryptionFailed, InvalidIdentifier
from memnet.domain.core.evidence import MAX_EVIDENCE_BYTES, EvidenceMembers
from memnet.domain.core.scope import RESERVED, Json, UserScope
from memnet.domain.documents.rebase import Rebased, rebase
from memnet.domain.events.event import MAX_DIGEST, MAX_WORDS
from memnet.domain.replay.extraction import Digest, Extraction, ProposedPatch, SourceDocument
from memnet.domain.replay.prompt_input import strip_messages
from memnet.domain.replay.proposal import ALREADY_THERE, ConflictDetails, Proposal, Request, load_proposal
from memnet.domain.replay.replay import PatchResult, PatchStatus
from memnet.domain.replay.snapshot import Snapshot

MAX_WORD = 128
SOURCE_TYPE = "chat"


@dataclass(frozen=True, slots=True)
class PlannedPatch:
    """One patch; `request` None: what is sent depends on the patches of the same document before it."""

    proposal: Proposal
    request: Request | None
    dispute: ConflictDetails | None = None
    """Why it is in conflict, once it is."""

    def fate(self, status: PatchStatus, **known: Any) -> PatchResult:
        """Its fate, as the replay's record tells it."""
        proposal = self.proposal
        return PatchResult(
            number=proposal.number,
            binding_id=proposal.binding_id,
            namespace=proposal.key.namespace,
            path=proposal.key.path,
            status=status,
            message_ids=tuple(proposal.message_ids),
            confidence=proposal.confidence,
            rebased=self.request is not None and self.request.number > 0,
            **known,
        )


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """The plain form of a replay's sealed part."""

    event: Json
    """The members of the event; None if there is nothing to tell."""
    patches: Sequence[PlannedPatch]

    def patch(self, number: int) -> PlannedPatch:
        """The patch of that number."""
        return self.patches[number - 1]

    def changed(self, number: int, **changes: Any) -> "ReplayPlan":
        """The plan with something of one patch replaced."""
        patches = list(self.patches)
        patches[number - 1] = replace(patches[number - 1], **changes)
        return replace(self, patches=tuple(patches))

    def dump(self) -> bytes:
        """Write it; a document that several patches were proposed on stands in it once."""
        bases = {_place(patch.proposal): patch.proposal.base for patch in self.patches}
        rows = [
            {
                "proposal": patch.proposal.members(),
                "request": None if patch.request is None else patch.request.members(),
                "dispute": None if patch.dispute is None else patch.dispute.members(),
            }
            for patch in self.patches
        ]
        return canonical({"event": self.event, "bases": bases, "patches": rows})


def load(scope: UserScope, data: bytes) -> ReplayPlan:
    """Read what `Plan.dump` wrote. Raises DecryptionFailed."""
    try:
        members = orjson.loads(data)
        return ReplayPlan(members["event"], tuple(_patch(scope, row, members["bases"]) for row in members["patches"]))
    except (ValueError, KeyError, TypeError, InvalidIdentifier) as error:
        raise DecryptionFailed() from error


def make_plan(
    snapshot: Snapshot,
    shown: Sequence[SourceDocument],
    extraction: Extraction,
    rules: Mapping[str, Sequence[SectionUpkeep]],
) -> ReplayPlan:
    """Settle what is done with an extraction from `snapshot` on the documents that were shown.

    The first patch of a document is sent on the version it was proposed on: as it is, but that the evidence of what the
    document says already joins it there. `rules` are the profile's upkeep rules, by binding.
    """
    contents = {(document.key, document.etag): document.content for document in shown}
    seen = set()
    patches = []
    for number, proposed in enumerate(extraction.patches, start=1):
        proposal = _proposal(snapshot, extraction, number, proposed, contents[proposed.key, proposed.base_etag])
        rebased = rebase(proposal.ops, proposal.base, proposal.base, rules.get(proposal.binding_id, ()))
        request = None
        if proposed.key not in seen and isinstance(rebased, Rebased) and rebased.ops:
            request = Request(0, proposed.base_etag, rebased.ops)
        seen.add(proposed.key)
        patches.append(PlannedPatch(proposal, request))
    return ReplayPlan(None if extraction.digest is None else _event(snapshot, extraction.digest), tuple(patches))


def settled_fates(extraction: Extraction, namespaces: dict[str, str]) -> list[PatchResult]:
    """The fates of what was settled before it came to a document, numbered behind the patches: known, then rejected.

    What is known counts as applied, without a change; its fate says what it supports. `namespaces` says which namespace
    a binding is in; a proposal may name a binding that there is not.
    """
    first = len(extraction.patches) + 1
    known = [
        PatchResult(
            number=number,
            binding_id=found.binding_id,
            namespace=found.key.namespace,
            path=found.key.path,
            status=PatchStatus.APPLIED,
            reason=ALREADY_THERE,
            message_ids=tuple(found.message_ids),
            confidence=found.confidence,
            supports=tuple(found.supports),
            etag=found.etag,
        )
        for number, found in enumerate(extraction.known, start=first)
    ]
    rejected = [
        PatchResult(
            number=number,
            binding_id=refused.binding_id,
            namespace=namespaces.get(refused.binding_id, ""),
            path=refused.path,
            status=PatchStatus.REJECTED,
            reason=f"{refused.code}: {refused.reason}",
        )
        for number, refused in enumerate(extraction.rejected, start=first + len(known))
    ]
    return known + rejected


def _proposal(snapshot: Snapshot, extraction: Extraction, number: int, proposed: ProposedPatch, base: Json) -> Proposal:
    spoken = [message.timestamp for message in snapshot.messages if message.message_id in set(proposed.message_ids)]
    return Proposal(
        replay_id=snapshot.replay_id,
        number=number,
        profile_id=snapshot.profile_id,
        binding_id=proposed.binding_id,
        key=proposed.key,
        base_etag=proposed.base_etag,
        base=base,
        ops=list(proposed.ops),
        confidence=proposed.confidence,
        evidence=_bounded(
            {
                "conversation_id": snapshot.conversation_id,
                "snapshot_uri": snapshot.uri,
                "replay_id": snapshot.replay_id,
                "extraction": extraction.provenance.members(),
            },
            proposed.message_ids,
        ),
        on_behalf_of=snapshot.service_id,
        source_time=max(spoken, default=None),
    )


def _event(snapshot: Snapshot, digest: Digest) -> Json:
    """Everything in it follows from the snapshot and the digest, so that it is the same event however often written."""
    ids = [message.message_id for message in strip_messages(snapshot.messages) if message.content]
    return {
        "event_id": f"{RESERVED}{snapshot.replay_id}",
        "service_id": snapshot.service_id[:MAX_WORD],
        "timestamp": snapshot.messages[-1].timestamp,
        "source_type": SOURCE_TYPE,
        "digest": digest.text[:MAX_DIGEST],
        "keywords": list(digest.keywords)[:MAX_WORDS],
        "entities": list(digest.entities)[:MAX_WORDS],
        "project_ids": list(digest.project_ids)[:MAX_WORDS],
        "snapshot_uri": snapshot.uri,
        "evidence": _bounded(
            {
                "conversation_id": snapshot.conversation_id,
                # By whose rule the event is kept.
                "profile_id": snapshot.profile_id,
                "span": {"start": 0, "end": len(snapshot.messages) - 1},
            },
            ids,
        ),
    }


def _bounded(evidence: EvidenceMembers, message_ids: Sequence[str]) -> EvidenceMembers:
    """The evidence with as many of the messages' ids, from the first one on, as it may be long."""
    left = MAX_EVIDENCE_BYTES - len(canonical({**evidence, "message_ids": []}))
    kept: list[str] = []
    for message_id in message_ids:
        left -= len(canonical(message_id)) + 1
        if left < 0:
            break
        kept.append(message_id)
    return {**evidence, "message_ids": kept}


def _place(proposal: Proposal) -> str:
    return f"{proposal.key.namespace}/{proposal.key.path}"


def _patch(scope: UserScope, row: dict[str, Any], bases: dict[str, Json]) -> PlannedPatch:
    proposal = row["proposal"]
    return PlannedPatch(
        load_proposal(scope, proposal, bases[f"{proposal['namespace']}/{proposal['path']}"]),
        None if row["request"] is None else Request(**row["request"]),
        None if row["dispute"] is None else ConflictDetails(**row["dispute"]),
    )
