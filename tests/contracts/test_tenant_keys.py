"""The TenantKeys port on each backend, and what only the key vault can show."""

import asyncio
import base64
import json
import logging
import os
import signal
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import trustme
from aiohttp import web

from local.stack.key_vault_server import KeyVault
from memnet.adapters.azure.key_vault import open_vault
from memnet.adapters.azure.key_vault_keys import FRESH, KeyVaultTenantKeys, secret_name
from memnet.adapters.memory.clock import FrozenClock
from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.memory.keys import MemoryTenantKeys
from memnet.adapters.system import RandomIds
from memnet.domain.core.errors import DecryptionFailed, VaultUnavailable
from memnet.ports import Clock, TenantKeys
from tests.emulators.key_vault.vault_client import client_of


@asynccontextmanager
async def connected(vault: KeyVault, clock: Clock | None = None, **options: Any) -> AsyncIterator[KeyVaultTenantKeys]:
    given = {
        "url": vault.url,
        "token": vault.token,
        "ca": vault.ca_file,
        "timeout_seconds": 10.0,
        "backoff_seconds": 0.01,
        **options,
    }
    async with open_vault(**given) as secrets:
        yield KeyVaultTenantKeys(secrets, clock or FrozenClock(), RandomIds())


@pytest.fixture
async def in_vault(key_vault: KeyVault) -> AsyncIterator[KeyVaultTenantKeys]:
    async with connected(key_vault) as keys:
        yield keys


@pytest.fixture(params=["memory", "vault"])
def keys(request: pytest.FixtureRequest) -> TenantKeys:
    if request.param == "memory":
        return MemoryTenantKeys(SequentialIds())
    found: TenantKeys = request.getfixturevalue("in_vault")
    return found


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid4().hex}"


@pytest.fixture
def own_vault(tmp_path: Path) -> KeyVault:
    """One that a test may stop."""
    return KeyVault(log=tmp_path / "log", directory=tmp_path / "data")


async def test_the_first_use_makes_a_key_and_every_later_one_finds_it(keys: TenantKeys, tenant: str) -> None:
    made = await keys.newest(tenant)
    assert len(made.secret) == 32
    assert await keys.newest(tenant) == made
    assert await keys.version(tenant, made.version) == made
    await keys.ping()


async def test_to_look_for_a_key_makes_none(keys: TenantKeys, tenant: str) -> None:
    assert await keys.find_newest(tenant) is None
    made = await keys.newest(tenant)
    assert await keys.find_newest(tenant) == made


async def test_no_two_tenants_share_a_key(keys: TenantKeys, tenant: str) -> None:
    names = [tenant, tenant.upper(), f"{tenant}.a", f"{tenant}_a", f"{tenant}-a", (tenant * 8)[:128]]
    assert len({(await keys.newest(name)).secret for name in names}) == len(names)


async def test_a_rotated_key_is_the_newest_and_the_older_ones_stay(keys: TenantKeys, tenant: str) -> None:
    first = await keys.newest(tenant)
    second = await keys.rotate(tenant)
    assert second.secret != first.secret
    assert await keys.newest(tenant) == second
    assert [await keys.version(tenant, key.version) for key in (first, second)] == [first, second]


@pytest.mark.parametrize("version", ["0" * 32, "", "versions", "v999", "../other", "a" * 1000, "?x=1"])
async def test_a_version_that_is_not_there_breaks_the_seal(keys: TenantKeys, tenant: str, version: str) -> None:
    with pytest.raises(DecryptionFailed):
        await keys.version(tenant, version)
    await keys.newest(tenant)
    with pytest.raises(DecryptionFailed):
        await keys.version(tenant, version)


async def test_first_uses_at_once_make_one_key(keys: TenantKeys, tenant: str) -> None:
    made = await asyncio.gather(*(keys.newest(tenant) for _ in range(10)))
    assert len({key.version for key in made}) == 1


async def test_what_lies_in_the_vault(key_vault: KeyVault, in_vault: KeyVaultTenantKeys, tenant: str) -> None:
    key = await in_vault.newest(tenant)
    found = client_of(key_vault).get_secret(secret_name(tenant))
    assert base64.b64decode(found.value or "") == key.secret
    assert (found.properties.version, found.properties.tags) == (key.version, {"tenant": tenant})


async def test_first_uses_by_two_processes_are_both_readable(key_vault: KeyVault, tenant: str) -> None:
    async with connected(key_vault) as one, connected(key_vault) as other:
        made = await asyncio.gather(one.newest(tenant), other.newest(tenant))
        for key in made:
            assert await one.version(tenant, key.version) == key
            assert await other.version(tenant, key.version) == key


async def test_a_version_of_another_tenant_is_none_of_this_one(in_vault: KeyVaultTenantKeys, tenant: str) -> None:
    other = await in_vault.newest(f"{tenant}-other")
    await in_vault.newest(tenant)
    with pytest.raises(DecryptionFailed):
        await in_vault.version(tenant, other.version)


async def test_the_newest_is_asked_for_again_after_five_minutes(key_vault: KeyVault, tenant: str) -> None:
    clock = FrozenClock()
    async with connected(key_vault, clock) as one, connected(key_vault) as other:
        first = await one.newest(tenant)
        second = await other.rotate(tenant)
        clock.advance(FRESH - timedelta(seconds=1))
        assert await one.newest(tenant) == first
        clock.advance(timedelta(seconds=1))
        assert await one.newest(tenant) == second


async def test_what_is_known_needs_no_vault(own_vault: KeyVault, tenant: str) -> None:
    clock = FrozenClock()
    with own_vault:
        async with connected(own_vault, clock) as keys:
            first = await keys.newest(tenant)
            own_vault.kill()
            assert await keys.newest(tenant) == first
            clock.advance(timedelta(days=1))
            assert await keys.version(tenant, first.version) == first
            for call in (keys.newest(tenant), keys.rotate(tenant), keys.version(tenant, "0" * 32), keys.ping()):
                with pytest.raises(VaultUnavailable):
                    await call
            own_vault.start()
            assert await keys.newest(tenant) == first
        async with connected(own_vault) as keys:
            assert await keys.version(tenant, first.version) == first


async def test_a_vault_that_hangs_is_not_waited_for(own_vault: KeyVault, tenant: str) -> None:
    with own_vault:
        async with connected(own_vault, timeout_seconds=0.2) as keys:
            assert own_vault.child.pid is not None
            os.kill(own_vault.child.pid, signal.SIGSTOP)
            try:
                async with asyncio.timeout(60):
                    waiting = [keys.newest(tenant), keys.newest(tenant), keys.ping()]
                    ended = await asyncio.gather(*waiting, return_exceptions=True)
            finally:
                os.kill(own_vault.child.pid, signal.SIGCONT)
    assert [type(end) for end in ended] == [VaultUnavailable] * 3


@pytest.mark.parametrize("value", ["", "no base64!", base64.b64encode(b"short").decode(), "A" * 45])
async def test_a_secret_that_is_no_key_breaks_the_seal(
    key_vault: KeyVault, in_vault: KeyVaultTenantKeys, tenant: str, value: str
) -> None:
    version = client_of(key_vault).set_secret(secret_name(tenant), value).properties.version
    for call in (in_vault.newest(tenant), in_vault.version(tenant, version or "")):
        with pytest.raises(DecryptionFailed):
            await call


async def test_a_disabled_or_deleted_key_is_not_made_again(
    key_vault: KeyVault, in_vault: KeyVaultTenantKeys, tenant: str
) -> None:
    client = client_of(key_vault)
    client.set_secret(secret_name(tenant), "A" * 43 + "=", enabled=False)
    with pytest.raises(VaultUnavailable):
        await in_vault.newest(tenant)
    client.begin_delete_secret(secret_name(tenant)).wait()
    with pytest.raises(VaultUnavailable):
        await in_vault.newest(tenant)
    with pytest.raises(VaultUnavailable):
        await in_vault.rotate(tenant)


@asynccontextmanager
async def answering(status: int, body: bytes, directory: Path, **headers: str) -> AsyncIterator[tuple[str, Path]]:
    """A TLS server that lets everybody in and says always the same; its URL, and who vouches for it."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=status, body=body, content_type="application/json", headers=headers)

    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(directory / "authority.pem"))
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield f"https://127.0.0.1:{runner.addresses[0][1]}", directory / "authority.pem"
    finally:
        await runner.cleanup()


SECRET = base64.b64encode(b"k" * 32).decode()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b""),
        (503, b'{"error": {"code": "busy", "message": "%b"}}' % SECRET.encode()),
        (404, b"<html>"),
        (404, b'{"error": {"code": "NotFound", "message": "no vault"}}'),
        (200, b""),
        (200, b"[]"),
        (200, b'{"value": "%b", "id": "what is this?"}' % SECRET.encode()),
    ],
)
async def test_answers_that_are_none_are_a_vault_that_is_not_there(
    status: int, body: bytes, key_vault: KeyVault, tenant: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        answering(status, body, tmp_path) as (url, authority),
        connected(key_vault, url=url, ca=authority) as keys,
    ):
        for call in (keys.newest(tenant), keys.version(tenant, "0" * 32), keys.rotate(tenant), keys.ping()):
            with pytest.raises(VaultUnavailable) as raised:
                await call
            assert raised.value.__cause__ is None
    ours = [record.getMessage() for record in caplog.records if record.name == "memnet.vault"]
    assert len(ours) == 4
    assert all(f"status={status}" in line or status == 200 for line in ours)
    assert SECRET not in caplog.text
    assert key_vault.token not in caplog.text


async def test_a_vault_is_not_waited_for_as_long_as_it_likes(key_vault: KeyVault, tenant: str, tmp_path: Path) -> None:
    headers = {"Retry-After": "60"}
    async with (
        answering(503, b"{}", tmp_path, **headers) as (url, authority),
        connected(key_vault, url=url, ca=authority, timeout_seconds=0.2) as keys,
    ):
        async with asyncio.timeout(50):
            with pytest.raises(VaultUnavailable):
                await keys.newest(tenant)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"id": None, "value": SECRET},
        {"id": f"https://v/secrets/a/{'0' * 32}", "value": 5},
        {"id": "https://v/secrets/a/b", "value": SECRET},
        {"id": f"https://v/secrets/a/{'0' * 32}", "value": f"{SECRET[:9]}!{SECRET[9:]}"},
    ],
)
async def test_an_answer_that_holds_no_key_breaks_the_seal(
    body: dict[str, Any], key_vault: KeyVault, tenant: str, tmp_path: Path
) -> None:
    async with (
        answering(200, json.dumps(body).encode(), tmp_path) as (url, authority),
        connected(key_vault, url=url, ca=authority) as keys,
    ):
        with pytest.raises(DecryptionFailed):
            await keys.newest(tenant)


async def test_a_wrong_token_or_authority_is_a_vault_that_is_not_there(
    key_vault: KeyVault, tenant: str, tmp_path: Path
) -> None:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    for wrong in ({"token": "wrong"}, {"ca": tmp_path / "other.pem"}, {"ca": None}):
        async with connected(key_vault, **wrong) as keys:
            with pytest.raises(VaultUnavailable):
                await keys.ping()
            with pytest.raises(VaultUnavailable):
                await keys.newest(tenant)


async def test_no_key_and_no_token_is_ever_logged(
    key_vault: KeyVault, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with connected(key_vault) as keys:
        made = [await keys.newest(tenant), await keys.rotate(tenant)]
        await keys.version(tenant, made[0].version)
    assert "azure" in {record.name.partition(".")[0] for record in caplog.records}
    for key in made:
        for form in (base64.b64encode(key.secret).decode(), key.secret.hex(), repr(key.secret)):
            assert form not in caplog.text + repr(key) + str(key)
    assert key_vault.token not in caplog.text


async def test_the_environment_adds_no_proxy(key_vault: KeyVault, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with connected(key_vault) as keys:
        assert len((await keys.newest(tenant)).secret) == 32


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "http://127.0.0.1:1"},
        {"url": "https://"},
        {"url": "https://vault.example.com/secrets"},
        {"url": "https://user:word@vault.example.com"},
        {"url": "https://vault:%77ord"},
        {"url": "https://vault.test/?a=b"},
        {"url": "memory://"},
        {"token": None},
        {"token": ""},
        {"token": "very secret\r\nX-Other: 1"},
        {"ca": Path("there-is-none.pem")},
        {"ca": Path(__file__)},
    ],
)
async def test_an_unusable_vault_address_is_refused_at_once(key_vault: KeyVault, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - its text is looked at below
        async with connected(key_vault, **wrong):
            pass
    assert "very secret" not in str(raised.value)
    assert key_vault.token not in str(raised.value)
