"""The recorded events: another service finds them, they never change, and they belong to one user."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from local.demo.client import MemoryClient, hold
from local.demo.screen import Screen, plural
from local.demo.subject import OTHER_USER, USER
from memnet.domain.core.canonical_json import canonical

TOP: Final = 3
WORDS: Final = 3
"""Keywords of an event that make a query."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The events that were recorded, a service that looks for them, and a client of another user's memory."""

    events: Sequence[dict[str, Any]]
    service: MemoryClient
    screen: Screen

    async def show(self) -> None:
        """Show all. Raises Unexpected at the first that does not hold; where no event was recorded, says so."""
        self.screen.title("Searching what was recorded")
        if not self.events:
            self.screen.say("Nothing was said that fits a digest: no event was recorded.")
            return
        event = self.events[0]
        await self._never_changed(event)
        query = " ".join(event["keywords"][:WORDS])
        await self._search(query)
        await self._nobody_elses(query)
        await self._budget(query)

    async def _never_changed(self, event: dict[str, Any]) -> None:
        self.screen.heading("Events are immutable: resending one is harmless, changing one is refused")
        mail = {
            "event_id": "mail-1",
            "service_id": self.service.principal,
            "timestamp": event["timestamp"],
            "source_type": "mail",
            "digest": "Minutes were sent.",
        }
        (await self.service.record(mail)).expect(201)
        again = (await self.service.record(mail)).expect(200)
        hold(again.replayed, "the repeated event was not recognised")
        self.screen.request("POST events", again.status, f"{mail['event_id']}, Idempotency-Replayed: true")
        altered = {**mail, "digest": "Something else was said."}
        self.screen.refusal("POST events", (await self.service.record(altered)).expect(409, code="EVENT_EXISTS"))

    async def _search(self, query: str) -> None:
        """By words among all events of the user, then among those before the newest alone."""
        self.screen.heading(f"In a later session {self.service.principal} looks for what the others have recorded")
        found = (await self.service.search(_wanted(query))).expect(200).body
        hold(bool(found["events"]), f"nothing was found for {query!r}")
        self.screen.found(query, found)
        newest = self.events[-1]
        self.screen.say(f"The same before {newest['timestamp']}, the end of the newest session, and only the best:")
        narrow = (await self.service.search({**_wanted(query), "to": newest["timestamp"], "top_k": 1})).expect(200).body
        hold(
            all(hit["event_id"] != newest["event_id"] for hit in narrow["events"]), "the filter let the newest through"
        )
        self.screen.found(query, narrow)

    async def _nobody_elses(self, query: str) -> None:
        self.screen.heading("A search finds the events of the user in its path, and of no other user")
        root = self.service.root.removesuffix(f"/{USER}") + f"/{OTHER_USER}"
        other = replace(self.service, root=root)
        found = (await other.search(_wanted(query))).expect(200).body["events"]
        hold(found == [], f"user {OTHER_USER} was shown {len(found)} events of user {USER}")
        self.screen.request(f"POST users/{OTHER_USER}/events:search", 200, "no events, for the very same query")

    async def _budget(self, query: str) -> None:
        self.screen.heading("A context takes events along, whole or not at all, as far as their budget goes")
        whole = (await self.service.assemble(query, include_events={"top_k": TOP})).expect(200).body["events"]
        if not whole:
            self.screen.say("None of the events belongs to the project that these words are routed to.")
            return
        room = sum(len(canonical(event).decode()) for event in whole) - 1
        answer = await self.service.assemble(query, include_events={"top_k": TOP, "max_chars": room})
        body = answer.expect(200).body
        reasons = {row["reason"] for row in body["dropped_events"]}
        hold(reasons == {"max_chars"}, f"nothing was left out for its size: {body['dropped_events']}")
        self.screen.say(f"{plural(len(whole), 'event')} would be given; with room for {room:,} characters:")
        self.screen.recalled(body)


def _wanted(query: str) -> dict[str, Any]:
    """The body of a search; without words it asks for the newest."""
    return {"top_k": TOP, **({"query": query} if query else {})}
