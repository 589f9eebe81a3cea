"""What the Azure adapter sends again, when it gives up, and what it never does."""

from typing import Any

import pytest
from azure.core.exceptions import ClientAuthenticationError

from memnet.adapters.azure.blob_requests import RETRIES, BlobServiceError
from memnet.adapters.azure.blob_storage import open_container
from memnet.adapters.azure.credentials import SharedKey
from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.errors import Unavailable
from tests.contracts.scripted_server import CLOSE, answer
from tests.contracts.test_azure_blob_storage import against


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_trouble_of_the_service_is_tried_again_and_reported_in_the_end(status: Any) -> None:
    async with against(answer(status, "Trouble")) as (container, server):
        with pytest.raises(Unavailable) as raised:
            await container.get("a/b")
        assert len(server.asked) == 1 + RETRIES
        cause = raised.value.__cause__
        assert isinstance(cause, BlobServiceError)
        assert (cause.response.status_code, cause.response.code) == (status, "Trouble")


async def test_a_lost_connection_is_tried_again() -> None:
    found = answer(200, body=b"{}", ETag='"0x1"')
    async with against(*[CLOSE] * RETRIES, found) as (container, server):
        stored = await container.get("a/b")
        assert stored is not None
        assert stored.data == b"{}"
        assert len(server.asked) == 1 + RETRIES


@pytest.mark.parametrize("status", [302, 307, 400, 401, 403, 404, 409, 412, 501])
async def test_a_refusal_is_final_and_a_redirect_is_not_followed(status: Any) -> None:
    async with against(answer(status, "No", Location="/elsewhere")) as (container, server):
        with pytest.raises((Unavailable, BlobServiceError)):
            await container.get("a/b")
        assert len(server.asked) == 1


@pytest.mark.parametrize(("seconds", "tries"), [("0", 1 + RETRIES), ("60", 1), ("soon", 1 + RETRIES)])
async def test_a_pause_beyond_the_deadline_of_an_operation_ends_it_at_once(seconds: Any, tries: Any) -> None:
    async with against(answer(503, "ServerBusy", **{"Retry-After": seconds})) as (container, server):
        with pytest.raises(Unavailable):
            await container.get("a/b")
        assert len(server.asked) == tries


async def test_every_try_has_the_date_and_the_body_of_the_first() -> None:
    async with against(CLOSE, answer(503), answer(201, ETag='"0x2"')) as (container, server):
        await container.put("a/b", b"{}", replaces=None, metadata={"k": "v"})
        first, second, third = server.asked
        assert first == second == third
        assert (first[2], first[1]["x-ms-meta-k"], first[1]["content-length"]) == (b"{}", "v", "2")


async def test_no_identity_is_unavailable_and_its_cause_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> str:
        raise ClientAuthenticationError("no identity")

    monkeypatch.setattr(SharedKey, "authorize", fail)
    async with against(answer(200)) as (container, server):
        with pytest.raises(Unavailable) as raised:
            await container.get("a/b")
        assert isinstance(raised.value.__cause__, ClientAuthenticationError)
        assert server.asked == []


@pytest.mark.parametrize(
    "url", ["nonsense", "ftp://host/container", "https:///container", "https://host", "https://host/"]
)
async def test_a_url_without_a_container_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no URL of a container"):
        async with open_container(url, account_key="a2V5", timeout_seconds=1, clock=FrozenClock()):
            pass
