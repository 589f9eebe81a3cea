"""Fires the timers of an app by their NCRONTAB expressions: six fields, seconds first, in UTC."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from croniter import croniter  # type: ignore[import-untyped]

from local.emulators.functions.app_settings import expand
from local.emulators.functions.host_options import HostError
from local.emulators.functions.indexed_app import IndexedApp, IndexedFunction
from local.emulators.functions.messages import as_json

log = logging.getLogger("memnet.functions")


class Timer:
    """One timer. It never overlaps itself: an occurrence that comes while it runs is left out.

    In Azure a lease makes each timer fire once for all hosts of the app; here each host fires its own.
    """

    def __init__(self, app: IndexedApp, function: IndexedFunction, settings: Mapping[str, str]) -> None:
        """Check its schedule. Raises HostError."""
        self.name = function.name
        self._app = app
        self._schedule = expand(function.trigger["schedule"], settings)
        self._on_startup = bool(function.trigger.get("runOnStartup"))
        if len(self._schedule.split()) != 6 or not croniter.is_valid(self._schedule, second_at_beginning=True):
            raise HostError(f"{self.name}: {self._schedule!r} is not an NCRONTAB expression of six fields")
        self._running = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def next_after(self, time: datetime) -> datetime:
        """When it is due next."""
        due = croniter(self._schedule, time, second_at_beginning=True).get_next(datetime)
        assert isinstance(due, datetime)
        return due

    def start(self) -> None:
        """Begin to wait for its times."""
        self._task = asyncio.create_task(self._run(), name=self.name)

    async def stop(self, seconds: float) -> None:
        """Fire no more, and wait `seconds` for the run that is under way."""
        if self._task is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._running.acquire()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def fire(self) -> None:
        """Run it now, after the run that is under way."""
        async with self._running:
            now = datetime.now(UTC)
            status = {"Last": "", "LastUpdated": "", "Next": self.next_after(now).isoformat()}
            value = {"IsPastDue": False, "ScheduleStatus": status, "Schedule": {"AdjustForDST": True}}
            await self._app.invoke(self.name, as_json(value))

    async def _run(self) -> None:
        if self._on_startup:
            await self.fire()
        while True:
            now = datetime.now(UTC)
            await asyncio.sleep((self.next_after(now) - now).total_seconds())
            await self.fire()
