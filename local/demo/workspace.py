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
    about = {"subject": "user", "attribute": "prefers", "value": "short trips"}
    wish = {**about, "text": "I prefer short trips.", "confidence": 0.9}
    await colleague.append("personal", "/preferences", wish, evidence=Evidence("chat-6"))
    for name, user_id, day in CLAIMS:
        text = f"Our release day is {day}."
        claim = {"subject": "workspace", "attribute": "release day", "value": day, "text": text, "confidence": 0.9}
        await workspace.append("workspace", "/claims", claim, evidence=Evidence("standup-1"), claimant=user_id)
        screen.fact(name, f"“{text}”  (in {WORKSPACE}, a memory that they share)")
    document = await workspace.read("workspace")
    claims = [] if document is None else document.content["claims"]
    hold(len({claim["claimed_by"] for claim in claims}) == len(CLAIMS), f"the statements are {claims}")
    hold(not any("valid_until" in claim for claim in claims), "a claim has closed that of another person")
    hold(not any(user_id in str(claims) for _, user_id, _ in CLAIMS), "the workspace has the name of a person")
    screen.say("Both are open: no one closes what another says. The workspace keeps a code of each, no name.")
    screen.say(f"An agent asks the workspace: “{QUESTION}”")
    found = (await workspace.recall(QUESTION)).results
    hold(len(found) == len(CLAIMS) and all(row["disputed"] for row in found), f"the results are {found}")
    for number, row in enumerate(found, 1):
        screen.fact("recalled" if number == 1 else "", f"[{number}] “{row['text']}”  (disputed)", style="yellow")
