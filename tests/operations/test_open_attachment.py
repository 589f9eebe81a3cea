"""Attached records read back: sealed ones take the vault, all others are what they are."""

import pytest

from memnet.domain.errors import SealBroken, VaultUnavailable
from memnet.domain.record import RecordKey, RecordKind
from memnet.operations.key_ring import KeyRing
from memnet.operations.open_attachment import open_attachment
from tests.domain.snapshot_samples import SCOPE
from tests.operations.vault_world import VaultWorld

KEY = RecordKey(SCOPE, RecordKind.IMPORTS, "archive/audit/d-000000000001")


async def test_what_was_attached_before_there_was_a_vault_is_as_it_is() -> None:
    assert await open_attachment(KEY, b'{"note":null}', vault=None) == b'{"note":null}'


async def test_what_is_sealed_takes_the_vault_and_its_own_place() -> None:
    world = VaultWorld()
    data = await KeyRing(world.vault).seal(KEY, b"{}")
    assert await open_attachment(KEY, data, vault=world.vault) == b"{}"
    with pytest.raises(VaultUnavailable):
        await open_attachment(KEY, data, vault=None)
    elsewhere = RecordKey(SCOPE, RecordKind.IMPORTS, "archive/audit/d-000000000002")
    with pytest.raises(SealBroken):
        await open_attachment(elsewhere, data, vault=world.vault)


async def test_records_of_other_kinds_are_never_opened() -> None:
    world = VaultWorld()
    snapshot = RecordKey(SCOPE, RecordKind.SNAPSHOTS, "c/audit")
    data = await KeyRing(world.vault).seal(snapshot, b"{}")
    assert await open_attachment(snapshot, data, vault=world.vault) == data
