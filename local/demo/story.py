"""The whole demo: the sessions of a conversation, then what is found again of them, then what the service holds to,
then what the audit proves, and at last the user asks to be forgotten.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from aiohttp import ClientSession, ClientTimeout

from local.demo import models
from local.demo.client import MemoryClient, Tally
from local.demo.conversation import GAP, Session
from local.demo.forgetting import Forgetting
from local.demo.guarantees import STATIC, Guarantees
from local.demo.history import History
from local.demo.learning import Learning
from local.demo.orchestrator import Orchestrator
from local.demo.recall import Recall
from local.demo.screen import Screen, plural
from local.demo.subject import ADMIN, COPILOT, MAIL, OTHER_TENANT, PRIVACY, TENANT, USER, static_content
from local.stack.stack import Stack
from memnet.domain.core.scope import UserScope

FIRST_PROJECT: Final = "first-project"
"""The project shown if no session was routed to one."""
SERVICE: Final = ("Memory.Read", "Memory.Write")
ABOUT_THE_RULES: Final = (
    "During a session, an agent writes what the user asks it to remember (remember that, I prefer, we decided, …). "
    "When the session ends, the conversation is submitted as an encrypted snapshot, and a worker replays it: it writes "
    "the digest and proposes what was said in passing. The service itself knows nothing of preferences or facts: "
    "profile and schema do."
)
ABOUT_BRIEF: Final = (
    "It is a long conversation: of each session only what it changed is shown. What is learnt has been written; what "
    "waits was not sure enough to be a fact, and was redirected until another service confirms it; what is recalled is "
    "the best of the events that were recorded before."
)


class Story:
    """One run of the demo against a running stack."""

    def __init__(self, stack: Stack, http: ClientSession, screen: Screen) -> None:
        """Get ready; nothing is asked yet."""
        self._stack = stack
        self._http = http
        self._screen = screen
        self.tally = Tally()
        self.known_already = 0
        self.learning = Learning(screen)
        self._clients: dict[str, MemoryClient] = {}

    def service(self, principal: str) -> MemoryClient:
        """The client of a product that serves the user; one a name."""
        if principal not in self._clients:
            self._clients[principal] = self._client(principal, SERVICE)
        return self._clients[principal]

    def _client(self, principal: str, roles: Sequence[str], *, tenant: str = TENANT) -> MemoryClient:
        """Get a token from the issuer and put it to use on the demo's user, whatever tenant it is for."""
        token = self._stack.token(tenants=tenant, principal=principal, roles=roles)
        root = f"{self._stack.url}/v1/tenants/{TENANT}/users/{USER}"
        return MemoryClient(self._http, root, principal, token, self.tally)

    async def tell(self, file: Path, sessions: Sequence[Session]) -> int:
        """Play everything; return the number of audit records verified. Raises Unexpected."""
        await self._begin(file, sessions)
        orchestrator = Orchestrator(self.service, self.learning, self._screen)
        for session in sessions:
            await orchestrator.play(session)
        self.known_already = orchestrator.known_already
        await Recall(self.learning.events, self.service(MAIL), self._screen).show()
        auditor = self._client("auditor", ["Memory.Read", "Memory.Audit"])
        guarantees = Guarantees(
            copilot=self.service(COPILOT),
            mail=self.service(MAIL),
            stranger=self._client(COPILOT, SERVICE, tenant=OTHER_TENANT),
            auditor=auditor,
            project=orchestrator.project or FIRST_PROJECT,
            screen=self._screen,
        )
        await guarantees.show()
        history = History(auditor, self._stack.environment, UserScope(TENANT, USER), self._screen)
        verified = await history.verify(self.tally.applied + self.learning.changes)
        await history.look_back(guarantees.path)
        await self._forget()
        return verified

    async def _forget(self) -> None:
        """Its writes are of another history, and not among those that were counted."""
        other = Tally()
        await Forgetting(
            privacy=replace(self._client(PRIVACY, ["Memory.Admin"]), tally=other),
            service=replace(self.service(COPILOT), tally=other),
            environment=self._stack.environment,
            scope=UserScope(TENANT, USER),
            work=lambda: self._stack.workers[0].fire("erase_users"),
            screen=self._screen,
        ).show()
        self.tally.requests += other.requests

    async def _begin(self, file: Path, sessions: Sequence[Session]) -> None:
        self._screen.title(f"memnet demo: {file.name}")
        size = (
            f"{plural(sum(len(session.turns) for session in sessions), 'turn')} in {plural(len(sessions), 'session')}"
        )
        hours = GAP.total_seconds() / 3600
        self._screen.say(f"{size}; a silence of more than {hours:.0f} hours starts a new one.")
        self._screen.say(
            f"User {USER} of tenant {TENANT}; the service runs at {self._stack.url} for as long as the demo."
        )
        self._screen.say(ABOUT_THE_RULES, style="dim")
        self._screen.say(models.describe(), style="bold")
        if self._screen.brief:
            self._screen.say(ABOUT_BRIEF, style="dim")
        self._screen.heading("Before the first session, an administrator puts down who the user is")
        document = {
            "schema_id": "memory.user.static",
            "schema_version": "1.0.0",
            "content": static_content(file, sessions),
        }
        admin = self._client(ADMIN, ["Memory.Admin", "Memory.Read"])
        answer = await admin.put(
            STATIC, binding_id="user_static", document=document, key="static-1", reason="first setup"
        )
        answer.expect(201)
        self._screen.request(f"PUT {STATIC}", answer.status, f"change {answer.body['sequence']}")


async def tell(stack: Stack, file: Path, sessions: Sequence[Session], screen: Screen, *, since: float) -> None:
    """Play the demo on a running stack and sum it up; `since` is when it began, as time.monotonic() says it.

    Raises Unexpected at the first step that is not as the story says.
    """
    async with ClientSession(timeout=ClientTimeout(total=30)) as http:
        story = Story(stack, http, screen)
        verified = await story.tell(file, sessions)
    tally = story.tally
    screen.title("Summary")
    screen.fact("sessions", f"{len(sessions)}, with {sum(len(session.turns) for session in sessions)} turns")
    screen.fact(
        "writes",
        f"{tally.applied} applied ({tally.redirected} of them redirected to wait for confirmation), "
        f"{tally.refused} refused, {tally.replayed} replayed, {tally.dry_runs} dry run",
    )
    learning = story.learning
    screen.fact(
        "replays",
        f"{len(sessions)} of {learning.seconds / len(sessions):.1f} s on average: {plural(learning.changes, 'change')} "
        f"({learning.redirected} of them wait for confirmation), {learning.rejected} refused",
    )
    screen.fact("not written", f"known already: {story.known_already}")
    screen.fact("events", f"{len(learning.events)} recorded, one for each session in which something was said")
    screen.fact("audit", f"{verified} records verified, one for each applied write")
    screen.fact("requests", f"{tally.requests} over HTTP")
    screen.fact("time", f"{time.monotonic() - since:.1f} s, with the start of the stack")
    screen.gap()
    screen.say("All checks passed. To try it yourself: make dev", style="bold green")
