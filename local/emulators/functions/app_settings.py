"""What a binding takes from the app's settings: names between percent signs, and connections."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from azure.servicebus.aio import ServiceBusClient

from local.emulators.functions.host_options import HostError


def expand(text: str, settings: Mapping[str, str]) -> str:
    """Put the settings' values in for `%NAME%`. Raises HostError for one that is not set, as Azure does."""

    def value(match: re.Match[str]) -> str:
        try:
            return settings[match[1]]
        except KeyError:
            raise HostError(f"{match[0]} of a binding names a setting that is not set") from None

    return re.sub(r"%([\w:.-]+)%", value, text)


class ServiceBusConnection:
    """A binding's connection: a connection string under its name, or a namespace and the process's identity."""

    def __init__(self, name: str, settings: Mapping[str, str]) -> None:
        """Find it. Raises HostError if neither setting is there."""
        self._string = settings.get(name)
        self._namespace = settings.get(f"{name}__fullyQualifiedNamespace")
        if not self._string and not self._namespace:
            raise HostError(f"set {name} (a connection string) or {name}__fullyQualifiedNamespace")

    @asynccontextmanager
    async def open(self) -> AsyncIterator[ServiceBusClient]:
        """Yield a client with a connection of its own. The client retries nothing; the caller does."""
        async with AsyncExitStack() as stack:
            if self._string:
                client = ServiceBusClient.from_connection_string(self._string, retry_total=0)
            else:
                # Not at the top: importing it takes a while, which only those wait who use it.
                from azure.identity.aio import DefaultAzureCredential

                credential = await stack.enter_async_context(DefaultAzureCredential())
                client = ServiceBusClient(str(self._namespace), credential, retry_total=0)
            yield await stack.enter_async_context(client)
