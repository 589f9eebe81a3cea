"""A commit's record is sealed with the user's key: one more read where the key is not at hand, and none where it is."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import LimitExceeded, MemnetError, Unavailable, VaultUnavailable
from memnet.domain.documents import envelope
from memnet.domain.documents.audit_values import CLEAR
from memnet.domain.sealing.data_keys import data_keys_key
from memnet.ports import StoreConflict
from tests.memory_blobs import storage_of
from tests.operations.baseline_scenario import line_of
from tests.operations.service_scenario import ALPHA, SCOPE, Service, note

MINUTE = timedelta(minutes=1)


class Watch:
    """Counts what goes to the keys and to the vault, which can be down, and what is under way at once."""

    def __init__(self, service: Service) -> None:
        self.calls: Counter[str] = Counter()
        self.down = False
        self.most = 0
        self._under_way = 0
        self._around(service.key_records, "read", "write")
        self._around(service.tenant_keys, "newest", "find_newest", "version")
        self._around(service.documents, "get", "put")

    def _around(self, port: Any, *names: str) -> None:
        for name in names:
            setattr(port, name, self._watched(type(port).__name__, name, getattr(port, name)))

    def _watched(self, port: str, name: str, call: Any) -> Any:
        async def watched(*arguments: Any, **named: Any) -> Any:
            self.calls[f"{port}.{name}"] += 1
            if (self.down and port.endswith("TenantKeys")) or (self.down and port == "TroubledKeys"):
                raise VaultUnavailable()
            self._under_way += 1
            self.most = max(self.most, self._under_way)
            try:
                return await call(*arguments, **named)
            finally:
                self._under_way -= 1

        return watched

    def reads(self) -> tuple[int, int]:
        """Since the last call: how often the document was read, and the keys."""
        found = self.calls["CountingDocuments.get"], self.calls["ItemStore.read"]
        self.calls.clear()
        return found


@pytest.fixture
def watch(service: Service) -> Watch:
    return Watch(service)


async def test_a_warm_write_reads_nothing_and_a_cold_one_reads_both_at_once(service: Service, watch: Watch) -> None:
    [first] = await service.count_up(1)
    watch.reads()
    second = await service.patch(note("warm"), over=first.etag)
    assert watch.reads() == (0, 0)
    service.clock.advance(MINUTE)
    third = await service.patch(note("the key is too old"), over=second.etag)
    assert watch.reads() == (0, 1)
    service.documents._cache.forget(ALPHA)
    fourth = await service.patch(note("the document is not at hand"), over=third.etag)
    assert watch.reads() == (1, 0)
    service.documents._cache.forget(ALPHA)
    service.clock.advance(MINUTE)
    await service.background.drain()
    watch.most = 0
    await service.patch(note("neither is"), over=fourth.etag)
    assert watch.reads() == (1, 1)
    assert watch.most == 2


async def test_the_document_carries_the_record_sealed_and_audit_the_same_bytes(service: Service) -> None:
    service.audit.down = True
    first = await service.patch(note("kept from others"), idempotency_key="her-key", evidence={"event_id": "ev-7"})
    await service.background.drain()
    service.audit.down = False
    head = await service.head()
    (record,) = head.commit.outbox
    assert record.keys() == CLEAR | {"sealed"}
    carried = envelope.dump(head)
    assert carried.count(b"kept from others") == 1, "once, in the content"
    assert b"her-key" not in carried
    assert b"ev-7" not in carried
    await service.patch(note("next"), over=first.etag)
    await service.background.drain()
    assert line_of(service.audit, SCOPE, first.change_id) == canonical(record)
    assert (await service.record(1))["idempotency_key"] == "her-key"


async def test_without_the_vault_a_write_is_refused_and_nothing_has_changed(service: Service, watch: Watch) -> None:
    watch.down = True
    with pytest.raises(VaultUnavailable):
        await service.patch(note("first"))
    assert storage_of(service.documents).names("tenants/") == []
    watch.down = False
    first = await service.patch(note("first"))
    await service.background.drain()
    service.clock.advance(MINUTE)
    watch.down = True
    before = await service.head()
    for _ in range(2):
        with pytest.raises(VaultUnavailable):
            await service.patch(note("second"), over=first.etag, idempotency_key="second")
    assert await service.head() == before
    watch.down = False
    assert (await service.patch(note("second"), over=first.etag, idempotency_key="second")).sequence == 2


async def test_what_was_applied_before_is_answered_without_a_vault(service: Service, watch: Watch) -> None:
    first = await service.patch(note("first"))
    second = await service.patch(note("second"), over=first.etag, idempotency_key="second")
    service.clock.advance(MINUTE)
    watch.down = True
    again = await service.patch(note("second"), over=first.etag, idempotency_key="second")
    assert (again.replayed, again.etag) == (True, second.etag)
    with pytest.raises(MemnetError, match="If-Match"):
        await service.patch(note("third"), over=first.etag)


async def test_a_refused_write_and_a_dry_run_make_no_key(service: Service, watch: Watch) -> None:
    with pytest.raises(LimitExceeded):
        await service.patch(note("x" * 100_000))
    result = await service.patch(note("only looked at"), dry_run=True)
    assert result.document is not None
    assert storage_of(service.documents).names("tenants/") == []
    assert watch.calls["MemoryTenantKeys.newest"] == 0


@pytest.mark.parametrize("dry_run", [False, True])
async def test_a_dry_run_needs_the_vault_as_the_write_does(service: Service, watch: Watch, dry_run: bool) -> None:
    watch.down = True
    with pytest.raises(VaultUnavailable):
        await service.patch(note("first"), dry_run=dry_run)
    watch.down = False
    [first] = await service.count_up(1)
    watch.down = True
    assert await service.patch(note("second"), over=first.etag, dry_run=True)
    service.clock.advance(MINUTE)
    with pytest.raises(VaultUnavailable):
        await service.patch(note("second"), over=first.etag, dry_run=dry_run)


async def test_a_crash_between_the_key_and_the_commit_leaves_a_key_alone(service: Service) -> None:
    class Crash(BaseException):
        """The process ends here."""

    put = service.documents.put

    async def crash(*arguments: Any, **named: Any) -> None:
        raise Crash

    service.documents.put = crash  # type: ignore[method-assign]
    with pytest.raises(Crash):
        await service.patch(note("first"), idempotency_key="first")
    assert storage_of(service.documents).names("tenants/") == [data_keys_key(SCOPE).blob_name]
    service.documents.put = put  # type: ignore[method-assign]
    service.vault.cache.forget(SCOPE)  # type: ignore[union-attr]
    assert (await service.patch(note("first"), idempotency_key="first")).sequence == 1
    assert (await service.record(1))["ops"][-1]["value"] == "first"


async def test_a_vault_that_goes_down_between_two_attempts_leaves_nothing_open(service: Service, watch: Watch) -> None:
    """The first attempt's outcome is unknown; the second must find out, with the key that the first one had."""
    [first] = await service.count_up(1)
    put, tries = service.documents.put, 0

    async def unknown(*arguments: Any, **named: Any) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            service.clock.advance(MINUTE)
            watch.down = True
            raise Unavailable(dependency="blob_storage")
        await put(*arguments, **named)

    service.documents.put = unknown  # type: ignore[method-assign]
    assert (await service.patch(note("second"), over=first.etag)).sequence == 2
    assert tries == 2


async def test_a_retry_has_a_ciphertext_of_its_own_and_the_winner_counts(service: Service) -> None:
    [first] = await service.count_up(1)
    put, written = service.documents.put, list[bytes]()

    async def reported_as_refused(key: Any, data: bytes, *arguments: Any, **named: Any) -> None:
        written.append(data)
        if len(written) == 1:
            raise Unavailable(dependency="blob_storage")
        await put(key, data, *arguments, **named)
        if len(written) == 2:
            raise StoreConflict

    service.documents.put = reported_as_refused  # type: ignore[method-assign]
    answer = await service.patch(note("second"), over=first.etag)
    assert (answer.sequence, answer.replayed, len(written)) == (2, True, 2)
    one, two = (envelope.load(data).commit for data in written)
    assert one.outbox[-1]["sealed"]["nonce"] != two.outbox[-1]["sealed"]["nonce"]
    assert one.etag != two.etag == answer.etag
    assert (await service.record(2))["post_etag"] == answer.etag
