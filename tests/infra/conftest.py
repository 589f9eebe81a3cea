"""The fixtures with which the API's own tests make tokens."""

from tests.api.conftest import catalog, keys, services, settings, signing_key, token, validator

__all__ = ["catalog", "keys", "services", "settings", "signing_key", "token", "validator"]
