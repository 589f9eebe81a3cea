"""Run an operation on the storage that the environment names, else on that of the local stack."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from cli import local_stack
from memnet import settings
from memnet.catalog import CatalogError
from memnet.domain.core.errors import MemnetError, Unavailable
from memnet.service import Service
from memnet.settings import Settings, SettingsError
from memnet.wiring import connect

T = TypeVar("T")


def run(operation: Callable[[Service], Awaitable[T]]) -> T:
    """Connect, run `operation`, and disconnect.

    Raises ClickException: the settings, the storage or the operation failed; the message says why. Exit code 1.
    """
    try:
        found = _settings()
        return asyncio.run(_run(operation, found))
    except Unavailable as error:
        if "dependency" not in error.details:
            raise click.ClickException(error.message) from error
        server = f"the storage at {found.storage_url}"
        if error.details["dependency"] == "search":
            server = f"the search service at {found.search_url}"
        raise click.ClickException(f"{server} does not answer") from error
    except (SettingsError, CatalogError) as error:
        raise click.ClickException(str(error)) from error
    except MemnetError as error:
        details = "".join(f", {name}: {value}" for name, value in error.details.items())
        message = error.message.rstrip(".") if details else error.message
        raise click.ClickException(f"{error.code}: {message}{details}") from error


async def _run(operation: Callable[[Service], Awaitable[T]], found: Settings) -> T:
    async with connect(found) as service:
        return await operation(service)


def _settings() -> Settings:
    """Return the settings of the environment, or those of the running local stack."""
    found = settings.load_storage()
    return found if found is not None else settings.load_for(local_stack.find().environment)
