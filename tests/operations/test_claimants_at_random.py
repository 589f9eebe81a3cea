"""Colleagues who contradict each other at once, live and in turns, with answers of the tenant in between."""

import asyncio
from collections import Counter
from random import Random
from typing import Any

import pytest

from memnet.domain.core.errors import MemnetError
from tests.operations.documents.test_claimants import code_of
from tests.operations.workspace_scenario import TENANT, Workspace

PEOPLE = ("noor", "iris", None)
VALUES = ("Friday", "Monday", "Sunday")


@pytest.mark.parametrize("seed", range(3))
async def test_each_claimant_has_one_open_answer_and_no_one_else_s(seed: int) -> None:
    random, workspace = Random(seed), Workspace()
    await workspace.hire("noor", "iris")
    said: list[dict[str, Any]] = []
    for number in range(24):
        about = random.choice([{"attribute": "release day"}, {"question": "day off"}])
        said.append({"day": number, "by": random.choice(PEOPLE), "value": random.choice(VALUES), **about})

    async def work(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            await (workspace.state if random.random() < 0.5 else workspace.replay)(row)
            items = (await workspace.content())["to_confirm"]
            if len(items) == 1 and random.random() < 0.5:
                # Another writer may have answered, or asked again, in the meantime.
                try:
                    await workspace.answer(random.choice(["proposed", "existing", "both"]), TENANT)
                except (MemnetError, ValueError):
                    continue

    await asyncio.gather(*(work(said[worker::3]) for worker in range(3)))
    content = await workspace.content()
    codes = {name: None if name is None else await code_of(workspace, name) for name in PEOPLE}
    stated = {(codes[row["by"]], row["value"]) for row in said}
    for section, name in (("claims", "attribute"), ("decisions", "question")):
        entries = content[section]
        assert {(entry.get("claimed_by"), entry["value"]) for entry in entries} <= stated
        held = [entry for entry in entries if entry.get("valid_until") is None]
        assert set(Counter((entry[name], entry.get("claimed_by")) for entry in held).values()) <= {1}
    waiting = [item["target"]["value"] for item in content["to_confirm"]]
    assert {(value.get("claimed_by"), value["value"]) for value in waiting} <= stated
    await workspace.check()
