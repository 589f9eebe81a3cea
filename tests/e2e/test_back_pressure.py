"""A storage that slows down: the service works on so many requests of one principal and refuses the others."""

import asyncio

import pytest

from api.concurrency_limit import PRINCIPAL_SHARE
from local.emulators.fault_proxy import Fault, Injection
from local.stack.process import status_of
from tests.e2e.client import DYNAMIC, PACE_SECONDS, Answer, User, prefer
from tests.e2e.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")

MOST = 8
CROWD = 200
WRITERS = 40
DEADLINE = 180


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """So patient with the storage that only the bound can refuse a request."""
    return {"MEMNET_MAX_IN_FLIGHT": str(PRINCIPAL_SHARE * MOST), "MEMNET_STORAGE_TIMEOUT_SECONDS": "120"}


def slow(service: Service) -> Injection:
    """Let whatever asks for a document wait."""
    return service.proxy.inject(Fault.PAUSE_BEFORE, path="/documents/", times=10_000)


async def until_held(injection: Injection, count: int) -> None:
    async with asyncio.timeout(DEADLINE):
        while injection.seen < count:  # noqa: ASYNC110 (what is waited for happens elsewhere)
            await asyncio.sleep(PACE_SECONDS)


def check_refused(answer: Answer) -> None:
    assert (answer.status, answer.code) == (429, "QUOTA_EXCEEDED"), answer.text
    assert int(answer.headers["Retry-After"]) >= 1


async def test_a_crowd_at_a_slow_storage_is_sent_away(service: Service) -> None:
    injection, user = slow(service), service.user()
    held = [asyncio.create_task(user.get(DYNAMIC)) for _ in range(MOST)]
    await until_held(injection, MOST)
    for answer in await asyncio.gather(*(user.get(DYNAMIC) for _ in range(CROWD))):
        check_refused(answer)
    # Nothing of the crowd has reached the storage, and the process still answers for itself.
    assert injection.seen == MOST
    for question in ("live", "ready"):
        assert await asyncio.to_thread(status_of, f"{service.api.url}/health/{question}") == 200
    injection.release()
    assert [(await answer).code for answer in held] == ["DOCUMENT_NOT_FOUND"] * MOST
    assert (await user.get(DYNAMIC)).code == "DOCUMENT_NOT_FOUND"


async def test_who_comes_again_gets_through_exactly_once(service: Service) -> None:
    """More writers than there is room for, each of which retries after the seconds in Retry-After."""
    injection = slow(service)
    users = [service.user() for _ in range(WRITERS)]
    refused = asyncio.Event()

    async def write(user: User) -> Answer:
        while True:
            answer = await user.patch(DYNAMIC, prefer("Be brief."), etag=None, key="k")
            if answer.status != 429:
                return answer
            check_refused(answer)
            refused.set()
            await asyncio.sleep(PACE_SECONDS)

    async with asyncio.timeout(DEADLINE):
        writing = [asyncio.create_task(write(user)) for user in users]
        await until_held(injection, MOST)
        await refused.wait()
        injection.release()
        assert [(answer.status, answer.replayed) for answer in await asyncio.gather(*writing)] == [
            (201, False)
        ] * WRITERS
    for user in users:
        assert len(await service.flushed_history(user, DYNAMIC)) == 1


async def test_those_who_leave_make_room(service: Service) -> None:
    """A client that gives up does not keep its place for good."""
    injection, user = slow(service), service.user()
    leaving = [asyncio.create_task(user.get(DYNAMIC)) for _ in range(MOST)]
    await until_held(injection, MOST)
    check_refused(await user.get(DYNAMIC))
    for client in leaving:
        client.cancel()
    await asyncio.gather(*leaving, return_exceptions=True)
    injection.release()
    async with asyncio.timeout(DEADLINE):
        while (answer := await user.get(DYNAMIC)).status == 429:
            check_refused(answer)
            await asyncio.sleep(PACE_SECONDS)
    assert answer.code == "DOCUMENT_NOT_FOUND"
