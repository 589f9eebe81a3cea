"""The end of a session: submit its snapshot, let a worker replay it, and show the outcome."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from local.demo.client import MemoryClient, Unexpected, hold
from local.demo.conversation import Session
from local.demo.screen import Screen, clip
from local.demo.subject import PROFILE
from memnet.domain.replay.prompt_input import wrap

PATIENCE: Final = 120.0
"""Seconds that a replay may take; a model behind it may be slow."""
BETWEEN_LOOKS: Final = 0.1
KNOWN: Final = "already_there"
"""The reason of a proposal that changed nothing."""
ENDED: Final = ("succeeded", "partial", "failed")


@dataclass(slots=True)
class Learning:
    """Hands sessions in and waits for their replays; `changes` and `events` are what the workers wrote."""

    screen: Screen
    changes: int = 0
    redirected: int = 0
    rejected: int = 0
    seconds: float = 0.0
    events: list[dict[str, Any]] = field(default_factory=list)
    """In the order of the sessions, as they are stored."""

    async def learn(self, client: MemoryClient, session: Session, context: Sequence[Mapping[str, Any]]) -> None:
        """Hand the session in, with the context the agent was given, and wait until it is replayed.

        Raises Unexpected if that takes too long or fails.
        """
        since = time.monotonic()
        answer = (await client.snapshot(session.conversation_id, _snapshot(session, context))).expect(202)
        self.screen.request(
            f"POST conversations/{session.conversation_id}/snapshots",
            answer.status,
            f"{answer.body['snapshot_id']}, stored encrypted; a worker replays it",
        )
        replay = await self._wait(client, answer.body["replay_id"], since)
        self.seconds += time.monotonic() - since
        self._count(replay)
        self._show(replay)
        if replay["event_id"] is None:
            self.screen.say("nothing was said that fits a digest: no event is recorded", indent=10, style="dim")
            return
        event = await self._event(client, replay["event_id"])
        self.events.append(event)
        self.screen.event(event)

    async def _wait(self, client: MemoryClient, replay_id: str, since: float) -> dict[str, Any]:
        """Look again and again until the replay has ended, and tell each of its states."""
        seen: list[str] = []
        while True:
            replay: dict[str, Any] = (await client.replay(replay_id)).expect(200).body
            passed = time.monotonic() - since
            if replay["status"] not in seen:
                seen.append(replay["status"])
                self.screen.progress(f"replay {replay['status']}", passed)
            if replay["status"] in ENDED:
                hold(replay["status"] != "failed", f"the replay failed: {replay}")
                return replay
            if passed > PATIENCE:
                raise Unexpected(f"the replay {replay_id} is still {replay['status']} after {passed:.0f} s")
            await asyncio.sleep(BETWEEN_LOOKS)

    def _count(self, replay: Mapping[str, Any]) -> None:
        fates = [patch["status"] for patch in replay["patches"]]
        self.changes += len({patch["change_id"] for patch in replay["patches"] if patch.get("change_id")})
        self.redirected += fates.count("redirected")
        self.rejected += fates.count("rejected")

    def _show(self, replay: Mapping[str, Any]) -> None:
        new = [patch for patch in replay["patches"] if patch.get("reason") != KNOWN]
        for patch in new:
            outcome = {
                "applied": "written",
                "redirected": "not sure enough: waits for a confirmation",
                "conflict": "meanwhile somebody changed the same place: kept as a conflict",
            }.get(patch["status"], f"refused, {patch.get('reason')}")
            said = " ".join(patch["message_ids"])
            self.screen.fact(
                "proposed", f"{patch['namespace']}/{patch['path']}: {outcome}{f' ({said})' if said else ''}", indent=8
            )
        known = len(replay["patches"]) - len(new)
        if known or not new:
            outcome = f"{known} more known already" if known and new else "nothing that was not known already"
            self.screen.fact("proposed", outcome, indent=8)

    async def _event(self, client: MemoryClient, event_id: str) -> dict[str, Any]:
        """The event, once the search has it."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = (await client.search({"top_k": 100})).expect(200).body["events"]
            for event in found:
                if event["event_id"] == event_id:
                    return {
                        name: value for name, value in event.items() if name not in ("score", "untrusted_quotation")
                    }
            await asyncio.sleep(BETWEEN_LOOKS)
        raise Unexpected(f"event {event_id} was not found")


def _snapshot(session: Session, context: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The conversation as the agent had it: the memory it was given comes first, between the markers of such text."""
    start = session.turns[0].timestamp
    given = "\n".join(wrap(str(document["document"]["content"])) for document in context)
    injected = [_message(f"{session.conversation_id}-context", "system", given, start)] if given else []
    turns = [_message(clip(turn.message_id, 128), turn.role, turn.content, turn.timestamp) for turn in session.turns]
    return {"profile_id": PROFILE, "messages": [*injected, *turns]}


def _message(message_id: str, role: str, content: str, timestamp: Any) -> dict[str, Any]:
    written = timestamp.isoformat().replace("+00:00", "Z")
    return {"message_id": message_id, "role": role, "content": content, "timestamp": written}
