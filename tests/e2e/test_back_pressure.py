"""A storage that slows down: the service works on so many requests of one principal and refuses the others."""

import asyncio

import pytest

from api.concurrency_limit import PRINCIPAL_SHARE
from local.emulators.fault_proxy import Fault, Injection
from local.stack.process import status_of
from tests.e2e.client import DYNAMIC, PACE_SECONDS, Answer
from tests.e2e.service import Service

pytestmark = pytest.mark.asyncio(loop_scope="module")

MOST = 8
CROWD = 200
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
