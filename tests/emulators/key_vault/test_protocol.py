"""What the SDK does not show: the challenge, the error bodies, and which hosts can reach the emulator."""

import http.client
import socket
import ssl
from typing import Any
from urllib.parse import urlsplit

import pytest

from local.stack.key_vault_server import KeyVault
from tests.emulators.key_vault.vault_client import ask


def test_a_request_without_a_token_is_challenged(key_vault: KeyVault) -> None:
    status, headers, body = ask(key_vault, "PUT", "/secrets/a", {"value": "never stored"})
    assert status == 401
    assert body == {"error": {"code": "Unauthorized", "message": "Request is missing a Bearer or PoP token."}}
    assert headers["www-authenticate"].startswith('Bearer authorization="https://login.microsoftonline.com/')
    assert 'resource="https://vault.azure.net"' in headers["www-authenticate"]
    assert ask(key_vault, "GET", "/secrets/a", token=key_vault.token)[0] == 404


@pytest.mark.parametrize("token", ["wrong", "local-key-vault-tokem", ""])
def test_a_wrong_token_is_challenged_too(key_vault: KeyVault, token: str) -> None:
    status, headers, _ = ask(key_vault, "GET", "/secrets", token=token)
    assert (status, "www-authenticate" in headers) == (401, True)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/secrets/there-is-none", None, 404, "SecretNotFound"),
        ("GET", "/deletedsecrets/there-is-none", None, 404, "SecretNotFound"),
        ("PUT", "/secrets/a_b", {"value": "1"}, 400, "BadParameter"),
        ("PUT", f"/secrets/{'a' * 128}", {"value": "1"}, 400, "BadParameter"),
        ("PUT", "/secrets/a", {}, 400, "BadParameter"),
        ("PUT", "/secrets/a", {"value": "1", "tags": {"t": 1}}, 400, "BadParameter"),
        ("POST", "/secrets/a/backup", None, 405, "BadParameter"),
        ("GET", "/keys/a", None, 404, "BadParameter"),
    ],
)
def test_errors_have_azures_body(
    key_vault: KeyVault, method: str, path: str, body: Any, status: int, code: str
) -> None:
    found, _, answer = ask(key_vault, method, path, body, token=key_vault.token)
    assert (found, answer["error"]["code"]) == (status, code)


def test_a_disabled_or_deleted_secret_says_so(key_vault: KeyVault) -> None:
    def asked(method: str, path: str, body: object = None) -> Any:
        return ask(key_vault, method, path, body, token=key_vault.token)[2]

    asked("PUT", "/secrets/off", {"value": "1", "attributes": {"enabled": False}})
    assert asked("GET", "/secrets/off")["error"]["innererror"] == {"code": "SecretDisabled"}
    asked("DELETE", "/secrets/off")
    conflict = asked("PUT", "/secrets/off", {"value": "2"})["error"]
    assert conflict["innererror"] == {"code": "ObjectIsDeletedButRecoverable"}


@pytest.mark.parametrize("version", ["", "2016-10-01", "tomorrow"])
def test_the_version_of_the_api_is_checked(key_vault: KeyVault, version: str) -> None:
    status, _, body = ask(key_vault, "GET", "/secrets", token=key_vault.token, version=version)
    assert (status, body["error"]["code"]) == (400, "BadParameter")


def test_only_its_own_authority_vouches_for_it(key_vault: KeyVault) -> None:
    trusting = ssl.create_default_context()
    with pytest.raises(ssl.SSLCertVerificationError):
        _connect(key_vault, trusting)
    _connect(key_vault, ssl.create_default_context(cafile=key_vault.ca_file))


def _connect(vault: KeyVault, context: ssl.SSLContext) -> None:
    parts = urlsplit(vault.url)
    with (
        socket.create_connection((parts.hostname, parts.port)) as plain,
        context.wrap_socket(plain, server_hostname="localhost"),
    ):
        pass


def test_another_name_is_not_answered(key_vault: KeyVault) -> None:
    parts = urlsplit(key_vault.url)
    context = ssl.create_default_context(cafile=key_vault.ca_file)
    connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, context=context)
    connection.request("GET", "/_emulator/health", headers={"Host": "evil.example.com"})
    assert connection.getresponse().status == 400
    connection.close()
