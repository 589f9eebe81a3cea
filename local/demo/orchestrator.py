"""The demo's orchestrator: asks for context when a session starts, patches memory during it, and submits the
conversation at its end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from local.demo.client import Answer, Confirmation, MemoryClient, Patch
from local.demo.conversation import LONGEST_HINT, Session, Turn
from local.demo.difference import NOTHING, differences
from local.demo.extraction import Kind, Proposal, is_about, is_consent, proposals, same, supersedes
from local.demo.learning import Learning
from local.demo.screen import Screen
from local.demo.subject import COPILOT

DYNAMIC: Final = "user/user_dynamic.json"
CONFIRMED: Final = 0.95
EVENTS_WANTED: Final = {"top_k": 2, "max_chars": 2_000}
"""What a context may hold of earlier sessions, once there are any."""
OLDEST_GIVES_WAY: Final = ("/content/preferences", "/content/recent_notes")
"""Lists that take something new when they are full; the others take nothing until somebody makes room."""


@dataclass(slots=True)
class Held:
    """A document as the orchestrator last saw it."""

    etag: str
    content: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a proposal goes."""

    path: str
    binding_id: str
    section: str
    value: Any


@dataclass(slots=True)
class Orchestrator:
    """Plays sessions; what it holds of the user's memory lasts only as long as one session."""

    client_of: Callable[[str], MemoryClient]
    learning: Learning
    screen: Screen
    project: str | None = None
    """Where the last session that was routed was routed to."""
    known_already: int = 0
    _held: dict[str, Held] = field(default_factory=dict)
    _given: list[dict[str, Any]] = field(default_factory=list)
    _routed: str | None = None
    _unsure: bool = False
    _full: set[tuple[Kind, float]] = field(default_factory=set)

    async def play(self, session: Session) -> None:
        """Play one session. Raises Unexpected if the service does not take part as it should."""
        client = self.client_of(session.service(COPILOT))
        self.screen.session(session, client.principal)
        await self._assemble(client, session.opening)
        question = ""
        for turn in session.turns:
            self.screen.turn(turn)
            if turn.role == "user":
                await self._listen(client, session, turn, question)
            question = turn.content
        await self.learning.learn(client, session, self._given)

    async def _listen(self, client: MemoryClient, session: Session, turn: Turn, question: str) -> None:
        if self._unsure and turn.content != session.opening:
            self.screen.say("the agent was not sure which project was meant, and asks again", indent=8, style="dim")
            await self._assemble(client, turn.content[:LONGEST_HINT])
        if is_consent(turn.content):
            await self._confirm(client, session, turn, question)
        for number, proposal in enumerate(proposals(turn.content), 1):
            await self._remember(
                client, session, turn, proposal, f"{session.conversation_id}-turn-{turn.number}-{number}"
            )

    async def _assemble(self, client: MemoryClient, hint: str) -> None:
        wanted = EVENTS_WANTED if self.learning.events else None
        answer = (await client.assemble(hint, include_events=wanted)).expect(200)
        self.screen.context(answer, hint=hint)
        self._held = {
            f"{found['namespace']}/{found['path']}": Held(found["etag"], found["document"]["content"])
            for found in answer.body["documents"]
        }
        self._given = answer.body["documents"]
        self._routed = answer.body["selected_project_id"]
        self._unsure = answer.body["routing_debug"]["reason"] == "ambiguous"
        self.project = self._routed or self.project

    async def _remember(self, client: MemoryClient, session: Session, turn: Turn, proposal: Proposal, key: str) -> None:
        place = self._place(session, turn, proposal, key)
        if place is None:
            self._aside("a decision, but no project is routed: nothing is written")
            return
        if self._is_known(place, proposal.text):
            self.known_already += 1
            self._aside("known already: nothing is written")
            return
        if (proposal.kind, proposal.confidence) in self._full:
            return
        held = self._held.get(place.path)
        patch = Patch(
            path=place.path,
            binding_id=place.binding_id,
            ops=[{"op": "add", "path": f"{place.section}/-", "value": place.value}],
            etag=held.etag if held else None,
            key=key,
            evidence=_evidence(session, turn),
            confidence=proposal.confidence,
            source_time=_time(turn),
        )
        answer = await client.patch(patch)
        if answer.code == "LIMIT_EXCEEDED":
            await self._make_room(client, patch, answer, proposal)
        else:
            await self._show(client, patch, answer)

    def _place(self, session: Session, turn: Turn, proposal: Proposal, key: str) -> Place | None:
        """Where it goes; None for what belongs to a project while none is routed."""
        match proposal.kind:
            case Kind.PREFERENCE:
                return Place(DYNAMIC, "user_dynamic", "/content/preferences", proposal.text)
            case Kind.FACT:
                fact = {
                    "id": f"fact-{key}",
                    "text": proposal.text,
                    "confidence": proposal.confidence,
                    "evidence": _evidence(session, turn),
                    "last_verified_at": _time(turn),
                }
                return Place(DYNAMIC, "user_dynamic", "/content/durable_facts", fact)
            case Kind.NOTE:
                if self._routed is None:
                    return None
                note = {"text": proposal.text, "noted_at": _time(turn), "evidence": _evidence(session, turn)}
                return Place(f"projects/{self._routed}.json", "project_doc", "/content/recent_notes", note)

    def _is_known(self, place: Place, text: str) -> bool:
        held = self._held.get(place.path)
        sections = held.content.values() if held else ()
        known = (value for section in sections if isinstance(section, list) for value in section)
        return any(same(text, value["text"] if isinstance(value, dict) else value) for value in known)

    async def _make_room(self, client: MemoryClient, patch: Patch, refusal: Answer, proposal: Proposal) -> None:
        """Answer a full list: by leaving out its oldest element where that is right, else by proposing no more."""
        self.screen.refusal(f"PATCH {patch.path}", refusal)
        section = refusal.details.get("path")
        if section not in OLDEST_GIVES_WAY:
            self._full.add((proposal.kind, proposal.confidence))
            self.screen.say("the demo proposes no more of this kind until somebody makes room", indent=10, style="dim")
            return
        ops = [{"op": "remove", "path": f"{section}/0"}, *patch.ops]
        again = replace(patch, ops=ops, key=f"{patch.key}-with-room")
        await self._show(client, again, await client.patch(again))

    async def _confirm(self, client: MemoryClient, session: Session, turn: Turn, question: str) -> None:
        """Turn a pending item that the user was just asked about, and that another principal proposed, into a fact.

        A fact that it makes untrue is removed after that.
        """
        for row in await client.pending():
            item, path = row["item"], f"{row['namespace']}/{row['path']}"
            if item["proposed_by"] == client.principal or not is_about(question, item["text"]):
                continue
            key = f"{session.conversation_id}-turn-{turn.number}-confirm"
            self._aside(f"{client.principal} confirms what {item['proposed_by']} proposed")
            sent = Confirmation(path, item["id"], key, _evidence(session, turn), CONFIRMED)
            facts = self._held[path].content["durable_facts"]
            old = next((n for n, fact in enumerate(facts) if _outdated(fact, item)), None)
            await self._show(client, sent, (await client.confirm(sent)).expect(200))
            if old is not None:
                self._aside("and removes what was known before")
                patch = _removal(self._held[path].etag, old, sent)
                await self._show(client, patch, (await client.patch(patch)).expect(200))
            return

    async def _show(self, client: MemoryClient, patch: Patch | Confirmation, answer: Answer) -> None:
        answer.expect(200, 201)
        document = (await client.get(patch.path)).expect(200).body
        held = self._held.get(patch.path)
        after = document["document"]["content"]
        found = differences(held.content if held else NOTHING, after)
        if self.screen.brief:
            self.screen.learnt(answer, found)
        else:
            self.screen.patch(patch, answer, found)
        self._held[patch.path] = Held(document["etag"], after)

    def _aside(self, text: str) -> None:
        if not self.screen.brief:
            self.screen.say(text, indent=8, style="dim")


def _outdated(fact: dict[str, Any], item: dict[str, Any]) -> bool:
    return supersedes(item["text"], fact["text"])


def _removal(etag: str, outdated: int, sent: Confirmation) -> Patch:
    """Take out the fact that a confirmed one makes untrue."""
    return Patch(
        path=sent.path,
        binding_id="user_dynamic",
        ops=[{"op": "remove", "path": f"/content/durable_facts/{outdated}"}],
        etag=etag,
        key=f"{sent.key}-outdated",
        evidence=sent.evidence,
        confidence=sent.confidence,
    )


def _evidence(session: Session, turn: Turn) -> dict[str, Any]:
    return {"conversation_id": session.conversation_id, "message_ids": [turn.message_id]}


def _time(turn: Turn) -> str:
    return turn.timestamp.isoformat().replace("+00:00", "Z")
