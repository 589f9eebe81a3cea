"""A storage that fails: whatever it does to a request, an honest client ends with exactly one audited change."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from local.emulators.fault_proxy import Fault, Injection
from tests.e2e.client import DYNAMIC, Answer, User, check_failure, prefer, until_definite
from tests.e2e.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEADLINE = 180
FAULTS = (
    *(Fault.DROP_REQUEST, Fault.DROP_ANSWER, Fault.ANSWER_503, Fault.ANSWER_503_AFTER_APPLY),
    *(Fault.HANG, Fault.HANG_ANSWER, Fault.APPLY_LATE),
)
FOR_LONG = 1000
"""More requests than a write sends before it gives up."""

DOCUMENT_GET, DOCUMENT_PUT, AUDIT_PUT = ("GET", "documents"), ("PUT", "documents"), ("PUT", "audit")
Request = tuple[str, str]


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    return {"MEMNET_STORAGE_TIMEOUT_SECONDS": "0.4"}


def fail(service: Service, user: User, request: Request, fault: Fault, *, nth: int = 1, times: int = 1) -> Injection:
    method, kind = request
    return service.proxy.inject(fault, method=method, path=f"/{user.user_id}/{kind}/", nth=nth, times=times)


def relent(injection: Injection) -> None:
    """Let later requests through; those that are held stay held."""
    injection.times = injection.seen


async def finished(injection: Injection) -> None:
    async with asyncio.timeout(DEADLINE):
        await injection.finished.wait()


async def created(service: Service, user: User) -> str:
    """Create the document, its record in audit/ included; the process then has it in its cache."""
    answer, _ = await until_definite(lambda: user.patch(DYNAMIC, prefer("Be brief."), etag=None, key="create"))
    await service.sweep(user)
    return answer.etag


async def cold(service: Service) -> User:
    """A user whose document the first process has never seen: another one has written it."""
    if len(service.apis) == 1:
        await service.start_api()
    return service.user().at(service.apis[1].url)


def change(user: User, etag: str) -> Callable[[], Awaitable[Answer]]:
    """The same request again and again."""

    async def send() -> Answer:
        return await user.patch(DYNAMIC, prefer("Use tables."), etag=etag, key="k")

    return send


async def check_applied_once(service: Service, user: User, answer: Answer) -> None:
    """One change is there, audited once; a repetition answers the same; the next change builds on it."""
    assert answer.status == 200, answer.text
    assert answer.body["sequence"] == 2
    found, _ = await until_definite(lambda: user.get(DYNAMIC))
    assert found.etag == answer.etag
    assert found.body["document"]["content"]["preferences"] == ["Be brief.", "Use tables."]
    again, _ = await until_definite(lambda: user.patch(DYNAMIC, prefer("Use tables."), etag='"old"', key="k"))
    assert again.replayed
    assert again.body == answer.body
    following, _ = await until_definite(lambda: user.patch(DYNAMIC, prefer("Continue."), etag=answer.etag, key="next"))
    assert following.body["sequence"] == 3
    records = await service.flushed_history(user, DYNAMIC)
    assert [record["idempotency_key"] for record in records] == ["create", "k", "next"]
    assert [record["post_etag"] for record in records[1:]] == [answer.etag, following.etag]


async def prepared(service: Service) -> tuple[User, str]:
    """A document with one change, and a process that has to read it first."""
    elsewhere = await cold(service)
    etag = await created(service, elsewhere)
    return elsewhere.at(service.api.url), etag


@pytest.mark.parametrize("request_", [DOCUMENT_GET, DOCUMENT_PUT, AUDIT_PUT], ids="-".join)
@pytest.mark.parametrize("fault", FAULTS)
async def test_one_fault(service: Service, fault: Fault, request_: Request) -> None:
    user, etag = await prepared(service)
    injection = fail(service, user, request_, fault)
    answer, _ = await until_definite(change(user, etag))
    async with asyncio.timeout(DEADLINE):
        await injection.reached.wait()
    injection.release()
    await finished(injection)
    await check_applied_once(service, user, answer)
    if fault is Fault.APPLY_LATE and request_ == DOCUMENT_PUT:
        assert statuses(service, user, request_) == [412]


def statuses(service: Service, user: User, request: Request) -> list[int | None]:
    """What the storage answered to the requests that were interfered with."""
    method, kind = request
    path = f"/{user.user_id}/{kind}/"
    return [d.status for d in service.proxy.requests if d.fault and d.method == method and path in d.path]


@pytest.mark.parametrize("fault", [Fault.DROP_ANSWER, Fault.ANSWER_503, Fault.HANG, Fault.APPLY_LATE])
async def test_a_storage_that_fails_in_the_commit_and_stays_away(service: Service, fault: Fault) -> None:
    """The service cannot know whether the commit was applied; it says so, and a retry finds out."""
    user, etag = await prepared(service)
    commit = fail(service, user, DOCUMENT_PUT, fault, times=FOR_LONG)
    look = fail(service, user, DOCUMENT_GET, Fault.DROP_REQUEST, nth=2, times=FOR_LONG)
    first = await change(user, etag)()
    check_failure(first)
    relent(commit)
    relent(look)
    commit.release()
    await finished(commit)
    answer, _ = await until_definite(change(user, etag))
    assert answer.replayed is (fault in (Fault.DROP_ANSWER, Fault.APPLY_LATE))
    await check_applied_once(service, user, answer)
