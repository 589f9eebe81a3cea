"""Azure's list prices, and the cost of calls. The only place with prices.

US dollars, region East US, pay as you go, without discounts and free grants. Blob Storage: general-purpose v2, hot
tier, flat namespace. Service Bus: Standard. Functions: Flex Consumption, on demand. Source: Azure's Retail Prices API,
meters of October 2026. Other regions differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass

READ_DATE = "October 2026, East US"
MEMORY_GB = 2.0
"""The memory of an instance of the workers, which Functions bills while a function runs."""


@dataclass(frozen=True)
class StoragePrices:
    """Of one kind of redundancy."""

    write: float
    """Per 10,000: Put Blob and Append Block."""
    read: float
    """Per 10,000: Get Blob."""
    list: float
    """Per 10,000: List Blobs."""
    gb_month: float
    """Per GB and month, the first 50 TB."""


STORAGE = {
    "LRS": StoragePrices(write=0.05, read=0.004, list=0.05, gb_month=0.0208),
    "ZRS": StoragePrices(write=0.0625, read=0.004, list=0.0625, gb_month=0.026),
}
QUEUE_PER_MILLION = 0.80
"""Service Bus Standard, after the 13 million operations a month that the base price includes."""
GB_SECOND = 0.000026
EXECUTIONS_PER_MILLION = 0.40


def storage_cost(counts: Mapping[str, float], redundancy: str = "ZRS") -> float:
    """Return the price of storage calls by kind. Delete Blob is free."""
    prices = STORAGE[redundancy]
    each = {
        "GET": prices.read,
        "HEAD": prices.read,
        "LIST": prices.list,
        "PUT": prices.write,
        "APPEND": prices.write,
        "DELETE": 0.0,
    }
    return sum(each[kind] * count for kind, count in counts.items()) / 10_000


def function_cost(seconds: float, executions: float) -> float:
    """Return the price of executions that take so many seconds in all; each is billed for a second at least."""
    return max(seconds, executions) * MEMORY_GB * GB_SECOND + executions * EXECUTIONS_PER_MILLION / 1_000_000


def queue_cost(messages: float) -> float:
    """Return the price of messages; each is sent, received and completed."""
    return 3 * messages * QUEUE_PER_MILLION / 1_000_000
