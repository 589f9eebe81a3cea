"""Bicep's functions on known values, and the subscription and tenant of a plan."""

import hashlib
import ipaddress
from collections.abc import Callable, Mapping
from typing import Any, Final, Never

SUBSCRIPTION: Final = "/subscriptions/0"
TOKEN: Final = "abcdefghijklm"
"""The result of uniqueString: 13 letters and digits."""


class Refused(Exception):
    """The template calls fail() with this message."""


def _fail(message: str) -> Never:
    raise Refused(message)


def _subnet(prefix: str, size: int, index: int) -> str:
    return str(list(ipaddress.ip_network(prefix).subnets(new_prefix=size))[index])


def _guid(*parts: Any) -> str:
    return f"guid({hashlib.sha256('|'.join(map(str, parts)).encode()).hexdigest()[:16]})"


COMPUTED: Final[Mapping[str, Callable[..., Any]]] = {
    "bool": lambda value: {"true": True, "false": False}[str(value).lower()],
    "cidrSubnet": _subnet,
    "contains": lambda whole, part: part in whole,
    "endsWith": lambda whole, part: whole.endswith(part),
    "environment": lambda: {"name": "AzureCloud", "suffixes": {"storage": "core.windows.net"}},
    "fail": _fail,
    "filter": lambda items, chooses: [item for item in items if chooses(item)],
    "flatten": lambda items: [one for item in items for one in item],
    "format": lambda pattern, *values: pattern.format(*values),
    "guid": _guid,
    "int": int,
    "join": lambda items, between: between.join(items),
    "max": max,
    "min": min,
    "range": lambda start, count: list(range(start, start + count)),
    "resourceGroup": lambda *name: {"id": "/".join((f"{SUBSCRIPTION}/resourceGroups", *name)), "name": "".join(name)},
    "replace": lambda whole, old, new: whole.replace(old, new),
    "split": lambda whole, at: whole.split(at),
    "startsWith": lambda whole, part: whole.startswith(part),
    "subscription": lambda: {"id": SUBSCRIPTION, "subscriptionId": SUBSCRIPTION.rpartition("/")[2]},
    "subscriptionResourceId": lambda kind, name: f"{SUBSCRIPTION}/providers/{kind}/{name}",
    "tenant": lambda: {"tenantId": "00000000-0000-0000-0000-000000000002"},
    "toLower": lambda whole: whole.lower(),
    "toUpper": lambda whole: whole.upper(),
    "trim": lambda whole: whole.strip(),
    "uniqueString": lambda *_: TOKEN,
}
"""Functions by name. Those that read files or also work without a plan are in `values`."""
