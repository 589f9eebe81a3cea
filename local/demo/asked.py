"""A statement that contradicts another with less confidence: it waits, memory asks, and another product answers."""

from typing import Final

from local.demo import turns
from local.demo.checks import hold, refused
from local.demo.screen import Screen
from memnet_client import AsyncUser, Evidence
from memnet_client.errors import ProposerCannotConfirm

GUESS: Final = "I may be with Contoso by now."
SAID_AT: Final = "2026-07-20T09:00:00Z"
CONFIDENCE: Final = 0.5
RIGHT: Final = turns.TURNS[1][2]
ANSWER: Final = "No, I am still at Northwind."
EVIDENCE: Final = Evidence("chat-5", ("m1",))
ANSWERED: Final = Evidence("travel-3", ("m1",))


async def show(chat: AsyncUser, travel: AsyncUser, travel_name: str, screen: Screen) -> None:
    """`chat` writes the guess, `travel` asks and answers. Raises Unexpected and MemnetError."""
    screen.fact("Maya", f"“{GUESS}”  (20 July 2026, to chat-agent)")
    value = {"subject": "user", "attribute": "works at", "value": "Contoso", "text": GUESS, "confidence": CONFIDENCE}
    change = await chat.append(
        "personal", "/facts", value, confidence=CONFIDENCE, evidence=EVIDENCE, source_time=SAID_AT
    )
    hold(change.visible == "after_confirmation", "a guess has become a fact")
    held = await open_facts(travel)
    hold(held == [RIGHT], f"a guess has changed what is open to {held}")
    screen.say(f"Confidence {CONFIDENCE:.2f}: it waits, and closes nothing that she said clearly.")
    asked = (await travel.assemble("Book a train to the office.")).clarification
    hold(asked is not None and GUESS in asked["choices"], f"the question is {asked}")
    screen.fact("asked", f"“{asked['question']}”", style="yellow")
    (item,) = [item async for item in travel.pending() if item.pending_id == asked["pending_id"]]
    await refused(chat.confirm(item, take="proposed", evidence=EVIDENCE), ProposerCannotConfirm)
    screen.fact("Maya", f"“{ANSWER}”  (21 July 2026, to {travel_name})")
    await travel.confirm(item, take="existing", evidence=ANSWERED)
    hold(await open_facts(travel) == [RIGHT], "the answer was not followed")
    hold((await travel.assemble("Book a train.")).clarification is None, "the question is asked again")
    screen.fact("open", f"“{RIGHT}”, confirmed by {travel_name}; no question waits", style="green")


async def open_facts(user: AsyncUser) -> list[str]:
    """Return the texts of the open statements."""
    return [entry.raw["text"] async for entry in user.entries(section="/facts", state="open")]
