"""A broker that refuses to send or to receive, as Azure does for an identity without the role."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from proton import Link, Receiver, Sender
from proton.reactor import Container

from local.emulators.service_bus.broker import Broker
from local.emulators.service_bus.errors import RefusedError
from local.emulators.service_bus.front import Front
from local.emulators.service_bus.links import MANAGEMENT, TOKENS
from local.emulators.service_bus.options import load
from local.stack.process import ReservedPort

UNAUTHORIZED = "amqp:unauthorized-access"


class RefusingFront(Front):
    """The emulator's connection, with a right missing."""

    refused: type[Link]

    def _open_incoming(self, link: Receiver, address: str) -> None:
        self._check(Sender, address, "Send")
        super()._open_incoming(link, address)

    def _open_outgoing(self, link: Sender, address: str) -> None:
        self._check(Receiver, address, "Listen")
        super()._open_outgoing(link, address)

    def _check(self, client: type[Link], address: str, claim: str) -> None:
        if client is self.refused and address != TOKENS and not address.endswith(MANAGEMENT):
            raise RefusedError(UNAUTHORIZED, f"Unauthorized access. '{claim}' claim(s) are required to do this.")


@contextmanager
def refusing_broker(config: Path, refused: type[Link]) -> Iterator[str]:
    """Run it in a thread; yield its address. `refused` is Sender or Receiver, as the client has it."""
    port = ReservedPort()
    front = RefusingFront(
        Broker(load(config), None, clock=time.time, new_token=uuid4),
        host="127.0.0.1",
        port=port.number,
        clock=time.time,
    )
    front.refused = refused
    thread = threading.Thread(target=Container(front).run, name="refusing-broker")
    thread.start()
    try:
        yield f"sb://127.0.0.1:{port.number}"
    finally:
        front.stop()
        thread.join()
        port.release()
