"""The eight paths on the page about conflicts: live, by replay, and by both at once, with the same end."""

import asyncio
import json
import re
from typing import Any

import pytest

from tests.domain.samples import ROOT
from tests.operations.workspace_scenario import TENANT, USER, Workspace, section_of

PAGE = (ROOT / "docs" / "conflict-paths.md").read_text("utf-8")
PATHS: list[dict[str, Any]] = [
    json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
]
NAMES = (
    "automatic update",
    "merge",
    "reject",
    "keep both",
    "cross-user recency",
    "cross-user confidence",
    "user clarification",
    "tenant review",
)


def test_the_page_has_all_paths() -> None:
    assert tuple(path["path"] for path in PATHS) == NAMES


async def state(workspace: Workspace, said: dict[str, Any], how: str) -> list[Any]:
    if how == "live":
        return await workspace.state(said)
    if how == "replay":
        return await workspace.replay(said)
    both = await asyncio.gather(workspace.state(said), workspace.replay(said))
    return [settled for one in both for settled in one]


@pytest.mark.parametrize("how", ["live", "replay", "both"])
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path["path"])
async def test_a_path_ends_as_the_page_says(path: dict[str, Any], how: str) -> None:
    workspace = Workspace()
    await workspace.hire("noor", "iris")
    section = section_of(path["stated"][0])
    for said in path["stated"]:
        verdicts = [settled["verdict"] for settled in await state(workspace, said, how)]
        # Of two sources of one statement, the later one says the same, or joins the question.
        assert said["verdict"] in verdicts
        assert set(verdicts) <= {said["verdict"], "same", "asked"}

    content = await workspace.content()
    assert [item["decides"] for item in content["to_confirm"]] == path.get("waits_for", [])
    found = await workspace.recall(path["recall"])
    entries = [one for one in found.results if one.candidate.place is not None]
    assert [(one.candidate.stated, one.disputed) for one in entries] == [
        (row["value"], row.get("disputed", False)) for row in path["recalled"]
    ]
    assert ("(disputed)" in found.text) == any(row.get("disputed") for row in path["recalled"])

    for answer in path.get("answers", []):
        by = {"user": USER, "tenant": TENANT}[answer["by"]]
        await workspace.answer(answer["take"], by)
    content = await workspace.content()
    held: dict[bool, list[str]] = {True: [], False: []}
    for entry in content[section]:
        held[entry.get("valid_until") is None].append(entry["value"])
    assert (sorted(held[True]), sorted(held[False])) == (sorted(path["open"]), sorted(path.get("closed", [])))
    assert content["to_confirm"] == []
    codes: dict[str, set[str]] = {said["by"]: set() for said in path["stated"]}
    for entry in content[section]:
        codes[next(said["by"] for said in path["stated"] if said["value"] == entry["value"])].add(entry["claimed_by"])
    assert all(len(found) == 1 for found in codes.values() if found)

    reasons = [record["reason"] for record in await workspace.check()]
    sent = {"live": {"live_update"}, "replay": {"replay_update"}, "both": {"live_update", "replay_update"}}[how]
    assert set(reasons) == sent | ({"confirmation"} if path.get("answers") else set())
