"""Which values rest on a source, by where they come from."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from memnet.domain.core.access import Reason
from memnet.domain.core.evidence import POINTERS
from memnet.domain.core.scope import UserScope
from memnet.domain.governance.source import Source, SourceKind
from memnet.domain.history.origin import Origin, Traced
from memnet.domain.replay.snapshot import snapshot_key, uri_of

RESTORES = "restores"
"""The member of the evidence of an undo that names the source whose values it has brought back."""
_CITING = frozenset({*POINTERS, "replay_id", "extraction"})
"""The members of evidence that can name a source."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A source, the replays that read it, and the sources that other retractions have closed."""

    source: Source
    replay_ids: frozenset[str] = frozenset()
    """The replays of the conversations that an actor submitted; other sources are named by the evidence itself."""
    closed: tuple["Reach", ...] = ()
    """What rests on this source and on one of these alone rests on nothing that is left."""

    def withdraws(self, origin: Origin) -> bool:
        """Whether a change rests on the source."""
        evidence = origin.evidence or {}
        if origin.reason == Reason.RETRACTION and evidence.get(RESTORES) == self.source.members():
            return True
        replay_id = evidence.get("replay_id")
        if self.source.kind is SourceKind.ACTOR and isinstance(replay_id, str) and replay_id in self.replay_ids:
            return True
        return self.source.cites(dict(evidence)) or self.source.acted(origin.actor or "", origin.timestamp)

    def is_void(self, origin: Origin) -> bool:
        """Whether a change rests on the source, or on a closed one."""
        return self.withdraws(origin) or any(other.withdraws(origin) for other in self.closed)

    def takes_all(self, node: Traced) -> bool:
        """Whether the value rests on the source and no other change has stated it, but for those of closed sources."""
        return any(map(self.withdraws, node.sources())) and self.voids(node)

    def voids(self, node: Traced) -> bool:
        """Whether the value rests on the source, or on a closed one, and no other change has stated it."""
        left = [origin for origin in node.sources() if not self.is_void(origin)]
        return len(left) < len(node.sources()) and not any(one.states for one in left)

    def is_stated(self, node: Traced, kept: Collection[str] = ()) -> bool:
        """Whether the value, or one within it, was stated by a change that does not rest on the source.

        What the service only arranges (a time of verification, an expiry) is no statement, and goes with its entry. So
        do the members `kept`, which the service writes into an entry when another one follows it.
        """
        return any(
            origin.states and not self.is_void(origin)
            for place, one in node.nodes()
            if not one.children() and not (place and place[0] in kept)
            for origin in one.sources()
        )

    def touches(self, node: Traced) -> bool:
        """Whether a value in the tree, or evidence that it holds, rests on the source."""
        seen: dict[tuple[int, int], bool] = {}
        for _, one in node.nodes():
            for origin in one.sources():
                if origin.key not in seen:
                    seen[origin.key] = self.withdraws(origin)
                if seen[origin.key]:
                    return True
            if isinstance(one.value, dict) and _CITING & one.value.keys() and self.source.cites(one.plain()):
                return True
        return False


def citation(scope: UserScope, source: Source) -> dict[str, Any]:
    """Return evidence that cites a source, as far as evidence can: an actor is not cited."""
    match source.kind:
        case SourceKind.SNAPSHOT:
            key = snapshot_key(scope, source.conversation_id or "", source.snapshot_id or "")
            return {"conversation_id": source.conversation_id, "snapshot_uri": uri_of(key)}
        case SourceKind.MODEL:
            made = {"model": source.model, "prompt_sha256": source.prompt_sha256}
            return {"extraction": {name: value for name, value in made.items() if value is not None}}
    return source.members()
