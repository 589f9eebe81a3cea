"""What kills processes while they work, by a plan that is drawn from a seed, and starts them again."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

LONGEST_AWAY_SECONDS = 1.5
"""How long what was killed stays away, at the most."""


@dataclass
class Progress:
    """How much of the work is done."""

    done: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def advance(self) -> None:
        async with self.changed:
            self.done += 1
            self.changed.notify_all()

    async def reach(self, number: int) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: self.done >= number)


@dataclass(frozen=True)
class Strike:
    """One SIGKILL: when so much is done, of whom, and for how long it stays away."""

    due: int
    victim: int
    """Its number among the victims."""
    seconds: float


def strikes(random: Random, victims: Sequence[int], *, until: int) -> list[Strike]:
    """Kills of these, in an order and at times of their own."""
    shuffled = random.sample(victims, len(victims))
    due = sorted(random.sample(range(until), len(shuffled)))
    return [Strike(when, who, random.uniform(0, LONGEST_AWAY_SECONDS)) for when, who in zip(due, shuffled, strict=True)]


class Killer:
    """Kills by plan, and starts again what it killed. A victim has `kill` and `start`."""

    def __init__(self, victims: Sequence[Any], progress: Progress, plan: Sequence[Strike]) -> None:
        self._victims, self._progress, self._plan = victims, progress, plan
        self._away: dict[int, asyncio.Task[None]] = {}
        self.done = 0

    async def run(self) -> None:
        """Go through the plan to its end; everything runs again then."""
        for strike in self._plan:
            await self._progress.reach(strike.due)
            if strike.victim in self._away:
                await self._away[strike.victim]
            victim = self._victims[strike.victim]
            await asyncio.to_thread(victim.kill)
            self.done += 1
            self._away[strike.victim] = asyncio.create_task(self._bring_back(victim, strike.seconds))
        await asyncio.gather(*self._away.values())

    async def _bring_back(self, victim: Any, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await asyncio.to_thread(victim.start)
