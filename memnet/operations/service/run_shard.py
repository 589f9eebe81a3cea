"""Upkeep in shards: which shards have work, and the run over the users of one shard."""

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from types import MappingProxyType

from memnet.domain.core.errors import ErasureRunning, InvalidCursor, MemnetError, TenantEnded
from memnet.domain.core.job import Job
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.core.timestamps import to_text
from memnet.domain.upkeep.marks import (
    SHARDS,
    ChangedMark,
    DueMark,
    Work,
    day_of,
    due_mark,
    is_day,
    job_of,
    rules_hash,
    shard_of,
    work_of,
)
from memnet.domain.upkeep.shard_run import BUDGET, MAX_USERS, ShardRun, new_run
from memnet.operations.service.tend_users import BROKEN, POSTPONED, apply_due, tend_user
from memnet.paging import bounded
from memnet.ports import Page, StoreConflict
from memnet.service import Service
from memnet.stores.upkeep_marks import Mark

PAGE = 500
log = logging.getLogger(__name__)


@dataclass(slots=True)
class ShardReport:
    """The result of one job: the users it worked on, and the counts of its work.

    `finished` is False if users remain: the job has sent the next one. A user with postponed or broken work keeps its
    marks.
    """

    work: Work
    shard: str
    users: int = 0
    kept: int = 0
    finished: bool = False
    counts: Counter[str] = field(default_factory=Counter)


async def send_shards(work: Work, service: Service) -> int:
    """Send a job for each shard that has work and no active run; return how many.

    The number of calls depends on the shards and days with marks, not on the users. Raises Unavailable.
    """
    now, runs = service.clock.now(), await service.upkeep.list_runs(work)
    active = {run.shard for run in runs if run.is_active(now)}
    unfinished = {run.shard for run in runs if not run.finished}
    wanted = (await _shards_with_work(work, runs, service) | unfinished) - active
    await bounded(lambda shard: _send(work, shard, service), sorted(wanted))
    return len(wanted)


async def _send(work: Work, shard: str, service: Service) -> None:
    # The number of an attempt only distinguishes this message from the earlier ones of the shard.
    await service.queue.send(job_of(work, shard), attempt=int(service.clock.now().timestamp()))


async def _shards_with_work(work: Work, runs: Sequence[ShardRun], service: Service) -> set[str]:
    if work is Work.CHANGED:
        return set(await service.upkeep.list_changed_shards()) & set(SHARDS)
    if work is Work.DUE:
        today = day_of(service.clock.now())
        days = [day for day in await service.upkeep.list_due_days() if day <= today]
        return {shard for found in await bounded(service.upkeep.list_due_shards, days) for shard in found} & set(SHARDS)
    rules = rules_hash(service.catalog)
    return set(SHARDS) - {run.shard for run in runs if run.finished and run.rules == rules}


async def run_job(job: Job, service: Service) -> ShardReport:
    """Run the job of a shard, and send the next one if users remain. Raises MalformedRequest, Unavailable."""
    work, shard = work_of(job)
    report = await run_shard(work, shard, service)
    log.info("shard_completed report=%s", report)
    if not report.finished:
        await _send(work, shard, service)
    return report


async def run_shard(work: Work, shard: str, service: Service) -> ShardReport:
    """Work on the users of a shard, from where the last job stopped, until all are done or the budget is spent.

    A user's failure is counted and does not stop the others. The position is stored: before a page of marks, because
    marks that are left are found by the next run, so that a page that kills the process does not stop the users after
    it; and after a page of the directory, because nothing else would find its users. Two runs at once do no harm, and
    the one that stores its position second stops. Raises Unavailable: the users cannot be listed.
    """
    report, until = ShardReport(work, shard), service.clock.now() + BUDGET
    position = await _Position.read(work, shard, service)
    try:
        while True:
            page = await position.list()
            if work is not Work.ALL and page.items and page.next_cursor is not None:
                await position.move(page.next_cursor)
            outcomes = await bounded(partial(_serve, work=work, report=report, service=service), _by_user(page.items))
            report.users, report.kept = report.users + len(outcomes), report.kept + outcomes.count(False)
            if page.next_cursor is None:
                await position.end()
                report.finished = True
                return report
            if position.run.cursor != page.next_cursor:
                await position.move(page.next_cursor)
            if service.clock.now() >= until or report.users >= MAX_USERS:
                return report
    except StoreConflict:
        # Another run of the shard continues.
        report.finished = True
        return report


@dataclass(slots=True)
class _Position:
    """The stored run of a shard, as this process last read or wrote it."""

    run: ShardRun
    tag: StorageETag | None
    service: Service

    @classmethod
    async def read(cls, work: Work, shard: str, service: Service) -> "_Position":
        """Continue the unfinished run, or begin one; a run of Work.ALL under other rules begins again."""
        stored, tag = await service.upkeep.read_run(work, shard)
        rules = rules_hash(service.catalog)
        if stored is None or stored.finished or (work is Work.ALL and stored.rules != rules):
            return cls(new_run(work, shard, rules, service.clock.now()), tag, service)
        return cls(stored, tag, service)

    async def list(self) -> Page[Mark]:
        """Return the next page; a damaged cursor begins again."""
        try:
            return await _LISTED[self.run.work](self.run, self.service)
        except InvalidCursor:
            return await _LISTED[self.run.work](replace(self.run, cursor=None), self.service)

    async def move(self, cursor: str) -> None:
        await self._write(self.run.moved(cursor, self.service.clock.now()))

    async def end(self) -> None:
        """Only Work.ALL remembers that it has finished, and under which rules."""
        if self.run.work is Work.ALL:
            await self._write(self.run.moved(None, self.service.clock.now()))
        elif self.tag is not None:
            await self.service.upkeep.remove_run(self.run, tag=self.tag)

    async def _write(self, run: ShardRun) -> None:
        self.tag = await self.service.upkeep.write_run(run, replaces=self.tag)
        self.run = run


def _by_user(marks: Sequence[Mark]) -> Sequence[tuple[UserScope, Sequence[Mark]]]:
    """Return the users of a page, each with its marks; a listing has those of a user one after the other."""
    return [(scope, list(found)) for scope, found in groupby(marks, key=lambda mark: mark.scope)]


async def _serve(user: tuple[UserScope, Sequence[Mark]], *, work: Work, report: ShardReport, service: Service) -> bool:
    """Do the work for one user and remove its marks; return False if they stay."""
    scope, marks = user
    try:
        if work is Work.ALL:
            await bounded(service.upkeep.add_due, [mark for mark in marks if isinstance(mark, DueMark)])
            return True
        if work is Work.CHANGED:
            counts = await tend_user(scope, service, since=min(map(_began, marks)))
        else:
            counts = await apply_due(scope, service)
        report.counts += counts
        if counts[POSTPONED] or counts[BROKEN]:
            return False
        await service.upkeep.remove(marks)
    except TenantEnded:
        # Nothing is written for the tenant any more. Its erasure deletes the data.
        await service.upkeep.remove(marks)
    except ErasureRunning:
        # The erasure deletes the marks; if it is withdrawn, a later run finds them.
        return False
    except MemnetError as error:
        log.error("upkeep_failed work=%s code=%s", work, error.code, extra={"user": scope.prefix})
        report.counts["failed"] += 1
        return False
    except Exception as error:
        # Without its text, which may hold memory.
        log.error("upkeep_crashed work=%s error=%s", work, type(error).__name__, extra={"user": scope.prefix})
        report.counts["failed"] += 1
        return False
    return True


def _began(mark: Mark) -> str:
    """Return when the hour of a changed mark began, in the form of memnet.domain.core.timestamps."""
    return to_text(mark.began) if isinstance(mark, ChangedMark) else ""


async def _list_changed(run: ShardRun, service: Service) -> Page[Mark]:
    """List the marks that announce no further write; the others are for a later run."""
    page = await service.upkeep.list_changed(run.shard, limit=PAGE, cursor=run.cursor)
    now = service.clock.now()
    return Page([mark for mark in page.items if mark.is_ready(now)], page.next_cursor)


async def _list_due(run: ShardRun, service: Service) -> Page[Mark]:
    """List a page of the marks of one day, the earliest day first; a cursor is a day and the place in it."""
    day, _, inner = (run.cursor or ":").partition(":")
    if day and not is_day(day):
        raise InvalidCursor()
    days = [found for found in await service.upkeep.list_due_days() if day <= found <= day_of(service.clock.now())]
    if not days:
        return Page([], None)
    page = await service.upkeep.list_due(
        run.shard, days[0], limit=PAGE, cursor=inner if inner and days[0] == day else None
    )
    if page.next_cursor is not None:
        return Page(page.items, f"{days[0]}:{page.next_cursor}")
    return Page(page.items, f"{days[1]}:" if len(days) > 1 else None)


async def _list_all(run: ShardRun, service: Service) -> Page[Mark]:
    """List a page of one tenant's users, as due marks to create for those of the shard.

    A cursor is that of the tenant in the list of tenants and the place in the list of its users.
    """
    outer, _, inner = (run.cursor or ":").partition(":")
    tenants = await service.users.list_tenants(limit=1, cursor=outer or None)
    following = None if tenants.next_cursor is None else f"{tenants.next_cursor}:"
    found: list[Mark] = []
    for tenant_id in tenants.items:
        users = await service.users.list_users(tenant_id, limit=PAGE, cursor=inner or None)
        found = [due_mark(scope, service.clock.now()) for scope in users.items if shard_of(scope) == run.shard]
        following = following if users.next_cursor is None else f"{outer}:{users.next_cursor}"
    return Page(found, following)


_LISTED: Mapping[Work, Callable[[ShardRun, Service], Awaitable[Page[Mark]]]] = MappingProxyType(
    {Work.CHANGED: _list_changed, Work.DUE: _list_due, Work.ALL: _list_all}
)
"""Returns the next page of a run, and the cursor after it."""
