"""The management node of a queue ($management): what Azure does by request and response.

The operations and the names of their arguments are those of "AMQP 1.0 in Azure Service Bus: request-response-based
operations" in Microsoft's documentation.
"""

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID, uuid4

from proton import Array, Connection, Data, Link

from local.emulators.service_bus.errors import ARGUMENT_ERROR, NOT_IMPLEMENTED, SESSION_LOCK_LOST, RefusedError
from local.emulators.service_bus.queues import Queue
from local.emulators.service_bus.sections import milliseconds, read_contents, write_message

Body = dict[str, Any]
Answer = Body | None


def manage(queue: Queue, operation: str, body: Body, connection: Connection) -> Answer:
    """Carry out an operation that came over `connection`; return the answer's body. Raises RefusedError."""
    perform = _OPERATIONS.get(operation)
    if perform is None:
        raise RefusedError(NOT_IMPLEMENTED, f"The emulator does not support the operation {operation!r}.")
    try:
        return perform(queue, body, connection)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise RefusedError(ARGUMENT_ERROR, f"The body of {operation} has not the form it must have.") from error


def _renew_locks(queue: Queue, body: Body, _connection: Connection) -> Answer:
    ends = [milliseconds(queue.renew(token)) for token in body["lock-tokens"].elements]
    return {"expirations": Array(None, Data.TIMESTAMP, *ends)}


def _peek(queue: Queue, body: Body, _connection: Connection) -> Answer:
    start, count = int(body["from-sequence-number"]), int(body["message-count"])
    found = queue.peek(start, count, body.get("session-id"))
    return {"messages": [{"message": write_message(message, _source(queue))} for message in found]} if found else None


def _schedule(queue: Queue, body: Body, _connection: Connection) -> Answer:
    contents = [content for item in body["messages"] for content in read_contents(bytes(item["message"]))]
    return {"sequence-numbers": Array(None, Data.LONG, *queue.accept(contents))}


def _cancel(queue: Queue, body: Body, _connection: Connection) -> Answer:
    queue.cancel(int(sequence) for sequence in body["sequence-numbers"].elements)
    return {}


def _receive_deferred(queue: Queue, body: Body, _connection: Connection) -> Answer:
    sequences = [int(sequence) for sequence in body["sequence-numbers"].elements]
    lock = int(body.get("receiver-settle-mode", 1)) == Link.RCV_SECOND
    found = queue.take_deferred(sequences, body.get("session-id"), lock=lock)
    return {
        "messages": [
            {
                "message": write_message(message, _source(queue)),
                "lock-token": uuid4() if message.lock is None else message.lock.token,
            }
            for message in found
        ]
    }


def _settle(queue: Queue, body: Body, _connection: Connection) -> Answer:
    reason, description = body.get("deadletter-reason"), body.get("deadletter-description")
    settlements: dict[str, Callable[[UUID], None]] = {
        "completed": queue.complete,
        "abandoned": queue.abandon,
        "defered": queue.defer,
        "suspended": lambda token: queue.bury(token, reason, description),
    }
    settle = settlements[body["disposition-status"]]
    for token in body["lock-tokens"].elements:
        settle(token)
    return {}


def _renew_session(queue: Queue, body: Body, connection: Connection) -> Answer:
    """Renew the session's lock, which a receiver on the same connection must hold."""
    session = queue.session(body["session-id"])
    if not isinstance(session.holder, Link) or session.holder.connection != connection:
        raise RefusedError(SESSION_LOCK_LOST, "Another receiver holds the session.")
    return {"expiration": milliseconds(queue.renew_session(body["session-id"]))}


def _source(queue: Queue) -> str:
    return queue.name.partition("/")[0]


_OPERATIONS: Final[dict[str, Callable[[Queue, Body, Connection], Answer]]] = {
    "com.microsoft:cancel-scheduled-message": _cancel,
    "com.microsoft:peek-message": _peek,
    "com.microsoft:receive-by-sequence-number": _receive_deferred,
    "com.microsoft:renew-lock": _renew_locks,
    "com.microsoft:renew-session-lock": _renew_session,
    "com.microsoft:schedule-message": _schedule,
    "com.microsoft:update-disposition": _settle,
}
