"""Required settings, for tests that connect to none of them."""

from typing import Any

from memnet.settings import PREFIX, Settings

REQUIRED = {
    "storage_url": "http://127.0.0.1:1/account/container",
    "search_url": "http://127.0.0.1:1",
    "issuer_url": "http://127.0.0.1:1/t1/v2.0",
    "audience": "api://memnet",
    "queue_url": "sb://127.0.0.1:1",
    "vault_url": "https://127.0.0.1:1",
}
KEYS = {"storage_key": "c2VjcmV0", "search_key": "k", "queue_key": "a2V5", "vault_token": "t"}
NOWHERE = {f"{PREFIX}{name.upper()}": value for name, value in {**REQUIRED, **KEYS}.items()}
"""As environment variables: nothing listens at these addresses."""


def sample_settings(**members: Any) -> Settings:
    """Return settings that can be connected with, and `members`."""
    return Settings(**{**REQUIRED, **KEYS, **members})
