"""Runs an operation against the storage that the environment names, else against that of the local stack."""

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
    """Connect, run `operation`, and disconnect. Raises ClickException (exit code 1) with what is wrong."""
    try:
        found = _settings()
        return asyncio.run(_run(operation, found))
    except Unavailable as error:
        place = f"the search service at {found.search_url}"
        if error.details.get("dependency") != "search":
            place = f"the storage at {found.storage_url}"
        raise click.ClickException(f"{place} does not answer") from error
    except (SettingsError, CatalogError) as error:
        raise click.ClickException(str(error)) from error
    except MemnetError as error:
        details = "".join(f", {name}: {value}" for name, value in error.details.items())
        raise click.ClickException(f"{error.code}: {error.message}{details}") from error


async def _run(operation: Callable[[Service], Awaitable[T]], found: Settings) -> T:
    async with connect(found) as service:
        return await operation(service)


def _settings() -> Settings:
    """MEMNET_STORAGE_URL and the like, or what the local stack that runs here says of itself."""
    found = settings.load_storage()
    return found if found is not None else settings.load_for(local_stack.find().get("environment", {}))
