"""Two colleagues who disagree in a workspace: both statements are open, and a recall marks them as disputed."""

from typing import Final

from local.demo.checks import hold
from local.demo.screen import Screen
from memnet_client import AsyncUser, Evidence

PROFILE: Final = "workspace-memory-v1"
WORKSPACE: Final = "workspace-atlas"
COLLEAGUE: Final = "noor"
CLAIMS: Final = (("Maya", "maya", "Friday"), ("Noor", COLLEAGUE, "Monday"))
QUESTION: Final = "Which is our release day?"


async def show(workspace: AsyncUser, colleague: AsyncUser, screen: Screen) -> None:
    """`workspace` is the user of the workspace, `colleague` Noor's own. Raises Unexpected and MemnetError."""
    await colleague.append("personal", "/preferences", "I prefer to release early.", evidence=Evidence("chat-6"))
    for name, user_id, day in CLAIMS:
        text = f"Our release day is {day}."
        claim = {"subject": "workspace", "attribute": "release day", "value": day, "text": text, "confidence": 0.9}
        await workspace.append("workspace", "/claims", claim, evidence=Evidence("standup-1"), claimant=user_id)
        screen.fact(name, f"“{text}”  (in {WORKSPACE}, a memory that they share)")
    entries = [entry.raw async for entry in workspace.entries(section="/claims")]
    hold(len({entry["claimed_by"] for entry in entries}) == len(CLAIMS), f"the open statements are {entries}")
    screen.say("Both are open: nobody closes what another person says. Each has a code, not the name, of its person.")
    screen.say(f"An agent asks the workspace: “{QUESTION}”")
    found = (await workspace.recall(QUESTION)).results
    hold(len(found) == len(CLAIMS) and all(row["disputed"] for row in found), f"the results are {found}")
    for number, row in enumerate(found, 1):
        screen.fact("recalled" if number == 1 else "", f"[{number}] “{row['text']}”  (disputed)", style="yellow")
