"""The life of one fact: said, proposed, confirmed, used by another product, contradicted, replaced, proven, erased.

Before the erasure, two turns contradict each other, a doubt becomes a question, two colleagues disagree, and a forged
conversation is taken back. Each step is checked. A scripted model extracts, so that every run
shows the same.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from local.demo import asked, poisoned, turns, workspace
from local.demo.checks import Unexpected, hold, refused
from local.demo.screen import Screen, plural
from local.emulators.models.behaviour import Behaviour, says
from local.stack.stack import Stack
from memnet import settings
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import UserScope
from memnet.domain.core.signature import by_id
from memnet.domain.governance.erasure_receipt import is_signed, read_receipt
from memnet.operations.history.verify_history import rebuild_documents
from memnet.wiring import connect
from memnet_client import AsyncMemnet, AsyncUser, Evidence
from memnet_client.errors import ErasureRunning, ProposerCannotConfirm

TENANT: Final = "acme"
USER: Final = "maya"
PROFILE: Final = "project-copilot-v1"
CHAT: Final = "chat-agent"
TRAVEL: Final = "travel-desk"
PRIVACY: Final = "privacy-office"
MODEL: Final = "scripted"
PATIENCE: Final = 60.0
BETWEEN_LOOKS: Final = 0.2
LISBON: Final = "Lives in Lisbon since January 2026"
PORTO: Final = "Lives in Porto since May 2026"


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation with one product."""

    conversation_id: str
    day: datetime
    said: str
    answered: str

    @property
    def date(self) -> str:
        """The day in words."""
        return f"{self.day.day} {self.day:%B %Y}"

    @property
    def evidence(self) -> Evidence:
        """The user's message."""
        return Evidence(self.conversation_id, ("m1",))

    def messages(self) -> list[dict[str, str]]:
        """The messages as they are submitted."""
        rows = (("m1", "user", self.said), ("m2", "assistant", self.answered))
        return [
            {"message_id": name, "role": role, "content": text, "timestamp": f"{self.day:%Y-%m-%dT%H:%M:%SZ}"}
            for name, role, text in rows
        ]


FIRST: Final = Talk(
    "chat-1", datetime(2026, 2, 2, 9), "I moved to Lisbon in January, and I love it.", "Congratulations on the move!"
)
ASKED: Final = Talk(
    "travel-1", datetime(2026, 2, 9, 9), "Yes, I live in Lisbon now.", "Thank you. Your trips start in Lisbon."
)
SECOND: Final = Talk(
    "chat-2", datetime(2026, 6, 1, 9), "I left Lisbon: I have lived in Porto since May.", "How is Porto?"
)
ASKED_AGAIN: Final = Talk(
    "travel-2", datetime(2026, 6, 3, 9), "That is right, Porto since May.", "Your trips start in Porto."
)


def model() -> tuple[Behaviour, ...]:
    """The answers of the scripted model to the two conversations and the turns."""
    digests = ("Maya moved to Lisbon in January.", "Maya left Lisbon and lives in Porto since May.")
    ops = (
        {"op": "add", "path": "/content/durable_facts/-", "value": LISBON},
        {"op": "replace", "path": "/content/durable_facts/0/text", "value": PORTO},
    )
    lisbon, porto = (
        says(
            {"digest": {"text": text, "keywords": ["home"], "project_ids": [], "entities": []}, "patches": [_patch(op)]}
        )
        for text, op in zip(digests, ops, strict=True)
    )
    return lisbon, porto, turns.model(), poisoned.model()


def _patch(op: Mapping[str, str]) -> dict[str, Any]:
    return {
        "target_binding_id": "user_dynamic",
        "target_path": "user_dynamic.json",
        "ops": [op],
        "confidence": 0.75,
        "message_ids": ["m1"],
    }


@dataclass(slots=True)
class Life:
    """The story on a running stack whose model is scripted with `model()`."""

    stack: Stack
    screen: Screen
    _clients: list[AsyncMemnet] = field(default_factory=list)

    async def show(self) -> None:
        """Show everything. Raises Unexpected or MemnetError at the first step that is not as expected."""
        try:
            await self._show()
        finally:
            for client in self._clients:
                await client.close()

    async def _show(self) -> None:
        chat, travel = self._user(CHAT), self._user(TRAVEL)
        self.screen.title("memnet: the life of one fact")
        self.screen.say(f"Maya uses two products, {CHAT} and {TRAVEL}. They share what they know about her.")
        await self._said_and_proposed(chat)
        first = await self._confirmed(chat, travel)
        await self._used(travel)
        await self._contradicted_and_replaced(chat, travel)
        await self._proven(first)
        self.screen.heading("6  Said in turns, and recalled in the next session")
        await turns.show(self._user(CHAT, profile=turns.PROFILE), self.screen)
        await self._differed()
        await self._erased(travel)

    async def _differed(self) -> None:
        personal, travel = (self._user(name, profile=turns.PROFILE) for name in (CHAT, TRAVEL))
        self.screen.heading("7  Asked, because the new statement is less sure")
        await asked.show(personal, travel, TRAVEL, self.screen)
        self.screen.heading("8  Two colleagues disagree")
        noor = self._user(CHAT, profile=turns.PROFILE, user=workspace.COLLEAGUE)
        shared = self._user(CHAT, profile=workspace.PROFILE, user=workspace.WORKSPACE)
        await workspace.show(shared, noor, self.screen)
        self.screen.heading("9  Poisoned, traced and taken back")
        office = self._user(PRIVACY, "Memory.Admin", profile=turns.PROFILE)
        await poisoned.show(personal, office, self.screen)

    def _user(self, principal: str, *roles: str, profile: str = PROFILE, user: str = USER) -> AsyncUser:
        token = self.stack.token(tenants=TENANT, principal=principal, roles=roles or ("Memory.Read", "Memory.Write"))
        client = AsyncMemnet(self.stack.url, credential=token, tenant=TENANT, profile=profile)
        self._clients.append(client)
        return client.user(user)

    async def _said_and_proposed(self, chat: AsyncUser) -> None:
        self.screen.heading("1  Said and proposed")
        await self._talk(chat, FIRST)
        item = await _pending(chat)
        hold(item.text == LISBON, f"the proposal is {item.text}")
        hold("unconfirmed" in (await chat.assemble("Hello.")).as_prompt(), "the prompt states a proposal as a fact")
        self.screen.fact("proposed", f"“{item.text}”, confidence {item.confidence:.2f}", style="yellow")
        self.screen.say("A fact needs confidence 0.80, so it waits for confirmation. Prompts mark it as unconfirmed.")

    async def _talk(self, user: AsyncUser, talk: Talk) -> None:
        self.screen.fact("Maya", f"“{talk.said}”  ({talk.date}, to {CHAT})")
        replay = await user.hand_in(talk.conversation_id, talk.messages())
        await replay.wait(PATIENCE)
        hold(replay.status == "succeeded", f"the replay is {replay.state.raw}")
        self.screen.say("The conversation is stored encrypted. A worker reads it and asks the model.", style="dim")

    async def _confirmed(self, chat: AsyncUser, travel: AsyncUser) -> str:
        """Confirm the first fact; return the id of the change."""
        self.screen.heading("2  Confirmed")
        await refused(chat.confirm(await _pending(chat), evidence=FIRST.evidence), ProposerCannotConfirm)
        self.screen.say(f"{CHAT} submitted the conversation, so it cannot confirm the fact itself: refused.")
        self.screen.fact(TRAVEL, "“Do you live in Lisbon now?”")
        self.screen.fact("Maya", f"“{ASKED.said}”  ({ASKED.date})")
        change = await travel.confirm(await _pending(travel), evidence=ASKED.evidence, confidence=0.95)
        hold(await _facts(travel) == [LISBON], "the fact was not confirmed")
        self.screen.fact("known", f"“{LISBON}”, confidence 0.95, confirmed by {TRAVEL}", style="green")
        assert change.change_id is not None
        return change.change_id

    async def _used(self, travel: AsyncUser) -> None:
        self.screen.heading(f"3  Used by {TRAVEL}: the memory in its next prompt")
        context = await travel.assemble("Book a train to Madrid.")
        prompt = context.as_prompt()
        hold(LISBON in prompt, "the prompt lacks the fact")
        for line in prompt.splitlines():
            self.screen.say(line, indent=4, style="cyan")
        self.screen.say("Text between these markers is never learnt again.", style="dim")

    async def _contradicted_and_replaced(self, chat: AsyncUser, travel: AsyncUser) -> None:
        self.screen.heading("4  Contradicted and replaced")
        await self._talk(chat, SECOND)
        item = await _pending(chat)
        hold(await _facts(chat) == [LISBON], "a proposal has changed the fact")
        self.screen.fact("proposed", f"“{item.text}” in place of “{LISBON}”", style="yellow")
        self.screen.fact("Maya", f"“{ASKED_AGAIN.said}”  ({ASKED_AGAIN.date}, to {TRAVEL})")
        await travel.confirm(item, evidence=ASKED_AGAIN.evidence, confidence=0.95)
        hold(await _facts(chat) == [PORTO], "the fact was not replaced")
        self.screen.fact("replaced", f"- “{LISBON}”", style="red")
        self.screen.fact("", f"+ “{PORTO}”", style="green")

    async def _proven(self, first: str) -> None:
        self.screen.heading("5  Proven")
        auditor = self._user("auditor", "Memory.Read", "Memory.Audit")
        records = [record async for record in auditor.audit(namespace="user", path="user_dynamic.json")]
        for record in records:
            evidence = record["evidence"]
            said = f"{evidence['conversation_id']}, message {' '.join(evidence['message_ids'])}"
            self.screen.fact("change", f"{record['sequence']}  {_words(record):<40} said in {said}")
        async with connect(settings.load(self.stack.environment)) as services:
            found = await rebuild_documents(UserScope(TENANT, USER), services)
        hold(all(rebuilt.fault is None for rebuilt in found), "a history is broken")
        verified = sum(rebuilt.changes for rebuilt in found)
        hold(verified == len(records), f"{verified} records are verified, {len(records)} are listed")
        self.screen.fact("verified", f"all {verified} records: none is missing, none was altered", style="green")
        confirmed = next(record for record in records if record["change_id"] == first)
        then = await auditor.read("user_dynamic", as_of=confirmed["timestamp"])
        hold(then is not None and _texts(then.content) == [LISBON], "the earlier version has another fact")
        self.screen.fact("earlier", f"asked for the version after change {confirmed['sequence']}: “{LISBON}”")

    async def _erased(self, travel: AsyncUser) -> None:
        self.screen.heading("10 Erased, because Maya asks for it")
        privacy = self._user(PRIVACY, "Memory.Admin")
        since = time.monotonic()
        erasure = await privacy.erase(key="maya-asked")
        early = travel.append("user_dynamic", "/preferences", "Window seat", evidence=ASKED.evidence)
        await refused(early, ErasureRunning)
        self.screen.say("From this moment every write for her is refused.")
        while (erasure := await privacy.erasure(erasure["erasure_id"]))["receipt"] is None:
            if time.monotonic() - since > PATIENCE:
                raise Unexpected(f"the erasure still runs: {erasure}")
            await asyncio.to_thread(self.stack.workers[0].fire, "erase_users")
            await asyncio.sleep(BETWEEN_LOOKS)
        hold(erasure["status"] == "complete", f"the erasure is {erasure['status']}")
        receipt = erasure["receipt"]
        blobs = sum(receipt["removed"].values())
        self.screen.fact(
            "removed", f"{plural(blobs, 'object')} from storage, index and queue, her encryption key included"
        )
        async with connect(settings.load(self.stack.environment)) as services:
            keys = by_id(await services.signing.public_keys())
        genuine = is_signed(read_receipt(canonical(receipt)), keys[receipt["key_id"]])
        hold(genuine, "the receipt is not signed by the service")
        self.screen.fact("receipt", "signed; its signature is verified with the public key", style="green")
        context = await travel.assemble("Book a train to Madrid.")
        hold(context.documents == [] and not [event async for event in travel.search()], "memory is left")
        self.screen.fact("known", "nothing: context and search are empty", style="green")


async def _pending(user: AsyncUser) -> Any:
    """Return the one item that waits. Raises Unexpected if there is none, or another one."""
    found = [item async for item in user.pending()]
    hold(len(found) == 1, f"{plural(len(found), 'item')} are pending")
    return found[0]


async def _facts(user: AsyncUser) -> list[str]:
    document = await user.read("user_dynamic")
    return [] if document is None else _texts(document.content)


def _texts(content: Any) -> list[str]:
    return [fact["text"] for fact in content["durable_facts"]]


def _words(record: Mapping[str, Any]) -> str:
    """Say who did what."""
    did = {"confirmation": "confirmed it"}.get(record["reason"], "proposed it")
    return f"{record['actor']} {did}"
