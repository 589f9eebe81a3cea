"""How many requests this process works on, how many of them for one principal, and whether the process is stopping.

A dependency that slows down makes every request take longer. Without a bound, requests pile up until memory runs out,
and every client waits. With a bound, the requests that have a place proceed as fast as the dependency allows, and the
others are refused at once.

A request that waits for its client has no place among those. While its body is read it has a place in a second count
of the same size, so that slow clients can use up neither the memory nor the places of the others. A request without a
valid token never has a place.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from memnet.domain.core.errors import Overloaded, QuotaExceeded

SHARE = 4
"""One principal has at most one SHARE-th of the places, rounded up."""


class Places:
    """A bounded number of places, each taken by a principal. Belongs to one event loop."""

    def __init__(self, most: int) -> None:
        """Give out `most` places at a time; 0: any number."""
        self._most = most
        self._share = -(-most // SHARE)
        self._taken: Counter[str] = Counter()
        self.count = 0
        """How many places are taken now."""

    def take(self, principal: str) -> None:
        """Take one place. Raises Overloaded if there is none, QuotaExceeded if the principal has its share."""
        if self._most and self.count >= self._most:
            raise Overloaded
        if self._most and self._taken[principal] >= self._share:
            raise QuotaExceeded("The principal has as many requests in progress as one principal may have.")
        self._taken[principal] += 1
        self.count += 1

    def give_back(self, principal: str) -> None:
        """Give one place back."""
        self._taken[principal] -= 1
        if not self._taken[principal]:
            del self._taken[principal]
        self.count -= 1


class InFlight:
    """The requests of this process. Belongs to one event loop."""

    def __init__(self, most: int) -> None:
        """Work on `most` requests at a time, and read as many bodies; 0: any number."""
        self.working = Places(most)
        """Requests that the service works on: let in, their bodies read, not answered yet."""
        self.receiving = Places(most)
        """Requests whose bodies are being read."""
        self.draining = False
        """Set it when the process is stopping: it still serves, and asks each client to connect elsewhere."""


class RequestPlace:
    """The place of one request, if it has one."""

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._principal: str | None = None

    def take(self, principal: str) -> None:
        """Take a place for the verified `principal`. Raises Overloaded or QuotaExceeded."""
        self._in_flight.working.take(principal)
        self._principal = principal

    def give_back(self) -> None:
        """Give the place back, if there is one."""
        if self._principal is not None:
            self._in_flight.working.give_back(self._principal)
            self._principal = None

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """While the context is open, exchange the place for one among the bodies that are being read.

        Entering and leaving raise Overloaded or QuotaExceeded.
        """
        principal = self._principal
        assert principal is not None, "a body is read after its caller is known"
        self._in_flight.receiving.take(principal)
        try:
            self.give_back()
            yield
        finally:
            self._in_flight.receiving.give_back(principal)
        self.take(principal)
