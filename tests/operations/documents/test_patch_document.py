"""Patching: exactly once whatever races or repeats, and nothing at all when it is refused."""

import asyncio
import dataclasses
from typing import Any

import orjson
import pytest

from memnet.domain.core.errors import (
    BindingMismatch,
    BindingNotFound,
    DocumentExists,
    ETagMismatch,
    FieldDenied,
    IdempotencyKeyReused,
    MemnetError,
    PathNotWritable,
    ProfileNotFound,
)
from memnet.domain.core.scope import DocumentKey, ETag
from memnet.operations.documents.write import patch_document
from tests.operations.service_scenario import ALPHA, DYNAMIC, SCOPE, Service, note
from tests.services import service_of


async def repeat(service: Service, command: Any, times: int) -> Any:
    return await asyncio.gather(*(patch_document(command, service_of(**service.ports())) for _ in range(times)))


async def test_concurrent_requests_with_one_key_make_one_change_and_get_one_answer(service: Any) -> None:
    [first] = await service.count_up(1)
    for command in [
        service.patch_command(note("once"), over=first.etag),
        service.patch_command(note("created once"), key=DocumentKey(SCOPE, "projects", "beta.json")),
    ]:
        answers = await repeat(service, command, 32)
        assert {dataclasses.replace(answer, replayed=False) for answer in map(_hashable, answers)} == {
            dataclasses.replace(_hashable(answers[0]), replayed=False)
        }
        assert sum(not answer.replayed for answer in answers) == 1
        assert (await service.head(command.key)).commit.sequence == answers[0].sequence


def _hashable(answer: Any) -> Any:
    return dataclasses.replace(answer, redirected=orjson.dumps(answer.redirected))


async def test_twenty_strangers_on_one_version_have_one_winner(service: Any) -> None:
    [first] = await service.count_up(1)
    commands = [service.patch_command(note(f"stranger {n}"), over=first.etag) for n in range(20)]
    outcomes = await asyncio.gather(
        *(patch_document(c, service_of(**service.ports())) for c in commands), return_exceptions=True
    )
    winners = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    assert len(winners) == 1
    assert all(isinstance(o, ETagMismatch) for o in outcomes if o not in winners)
    assert {o.details["latest_etag"] for o in outcomes if isinstance(o, ETagMismatch)} == {winners[0].etag}
    assert (await service.head()).commit.sequence == 2


async def test_twenty_strangers_create_one_document(service: Any) -> None:
    commands = [service.patch_command(note(f"stranger {n}")) for n in range(20)]
    outcomes = await asyncio.gather(
        *(patch_document(c, service_of(**service.ports())) for c in commands), return_exceptions=True
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["DocumentExists"] * 19 + ["WriteResult"]


async def test_a_retry_gets_its_answer_after_the_next_change_and_after_a_hundred(service: Any) -> None:
    first = await service.patch(note("mine"), idempotency_key="mine")
    results = [first]
    for number in range(100):
        results.append(await service.patch(note(f"note {number}"), over=results[-1].etag, idempotency_key=f"n{number}"))
        if number in (0, 1, 62, 63, 64, 99):
            await service.background.drain()
            again = await service.patch(note("mine"), idempotency_key="mine")
            assert again == dataclasses.replace(first, replayed=True)
    later = service.patch_command(note("note 4"), over=results[4].etag, idempotency_key="n4")
    assert (await patch_document(later, service_of(**service.ports()))).replayed
    assert (await service.head()).commit.sequence == 101


async def test_a_key_with_another_body_is_refused_whatever_the_etag(service: Any) -> None:
    results = await service.count_up(3)
    for over in [None, results[0].etag, results[-1].etag, ETag('"made up"')]:
        with pytest.raises(IdempotencyKeyReused):
            await service.patch(note("other"), over=over, idempotency_key="key-2")
    assert (await service.read())["content"]["summary"] == "note 2"


async def test_a_refused_write_leaves_no_trace_and_its_key_is_free(service: Any) -> None:
    [first] = await service.count_up(1)
    before = await service.documents.get(ALPHA)
    refused = [
        (service.patch_command({"op": "remove", "path": "/content/nothing"}, over=first.etag), PathNotWritable),
        (service.patch_command(note(5), over=first.etag), MemnetError),  # type: ignore[arg-type]
        (
            service.patch_command({"op": "add", "path": "/content/facets/iban", "value": 1}, over=first.etag),
            FieldDenied,
        ),
        (service.patch_command(note("x"), over=ETag('"1-0000000000000000"')), ETagMismatch),
        (service.patch_command(note("x")), DocumentExists),
    ]
    for command, error in refused:
        with pytest.raises(error):
            await patch_document(dataclasses.replace(command, idempotency_key="tried"), service_of(**service.ports()))
    await service.background.drain()
    assert await service.documents.get(ALPHA) == before
    assert service.audit.calls["flush"] == 1
    assert not (await service.patch(note("x"), over=first.etag, idempotency_key="tried")).replayed


async def test_a_stale_etag_is_reported_before_the_patch_is_checked(service: Any) -> None:
    await service.count_up(2)
    for ops in [{"op": "spam"}, {"op": "add", "path": "/doc_id", "value": 1}]:
        with pytest.raises(ETagMismatch):
            await service.patch(ops, over=ETag('"1-0000000000000000"'))


async def test_profile_and_binding_must_exist_and_be_about_the_document(service: Any) -> None:
    wrong: list[tuple[dict[str, Any], type[MemnetError]]] = [
        ({"profile_id": "none"}, ProfileNotFound),
        ({"binding_id": "nothing"}, BindingNotFound),
        ({"binding_id": "user_dynamic"}, BindingMismatch),
        ({"key": DYNAMIC, "binding_id": "project_doc"}, BindingMismatch),
    ]
    for members, error in wrong:
        with pytest.raises(error):
            await service.patch(note("x"), **members)
    assert service.documents.calls == {}


# Round trips.


async def test_a_cold_patch_reads_once_and_writes_once(service: Any) -> None:
    [first] = await service.count_up(1)
    other = Service(documents=service.documents, audit=service.audit)
    other.documents._cache.forget(ALPHA)
    other.documents.calls.clear()
    service.audit.calls.clear()
    await other.patch(note("cold"), over=first.etag, idempotency_key="cold")
    assert other.documents.calls == {"get": 1, "put": 1}
    assert service.audit.calls == {}
    await other.background.drain()


async def test_a_warm_patch_writes_once_and_reads_nothing(service: Any) -> None:
    [first] = await service.count_up(1)
    service.documents.calls.clear()
    service.audit.calls.clear()
    await service.patch(note("warm"), over=first.etag)
    assert service.documents.calls == {"put": 1}
    assert service.audit.calls == {}


# Dry runs.


async def test_a_dry_run_of_an_applied_request_is_a_replay(service: Any) -> None:
    first = await service.patch(note("once"), idempotency_key="same")
    again = await service.patch(note("once"), idempotency_key="same", dry_run=True)
    assert again == dataclasses.replace(first, replayed=True, dry_run=True)
