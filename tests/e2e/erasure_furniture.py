"""Everything of a user that a stack without workers can be made to hold."""

import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from azure.servicebus import ServiceBusMessage
from azure.servicebus.aio import ServiceBusClient

from memnet.domain.core.scope import UserScope
from memnet.operations.history.sign_checkpoints import Signed, sign_checkpoint
from tests.e2e.client import User, eventually
from tests.e2e.erasing import Stage, live
from tests.e2e.independent_look import LETTERS, OF_USERS

REPLAYS, CONFLICTS = OF_USERS
PROJECTS = 3


async def furnish(world: Stage, user: User, word: str) -> None:
    """Documents with their audit, events, snapshots and their replays, a record of a reading, a signed head, a hold
    that has been lifted, and messages of every kind. No process writes for the user after it returns.
    """
    await live(user, word, projects=PROJECTS)

    async def all_flushed() -> bool:
        return len([name for name in await world.blobs(user) if "/audit/" in name]) == 2 * PROJECTS

    # The service moves what documents carry to the audit in the background.
    await eventually(all_flushed)
    async with world.services() as services:
        signed = await sign_checkpoint(UserScope(user.tenant_id, user.user_id), services)
    assert signed is Signed.SIGNED
    placed = await user.send("PUT", "/legal-hold", json={"reason": "for a day"})
    lifted = await user.send("DELETE", "/legal-hold", params={"reason": "the day has ended"})
    assert (placed.status, lifted.status) == (200, 200)
    await send_messages(world, user)


async def send_messages(world: Stage, user: User) -> None:
    """One that waits for its time, one that the broker gave up, and one that a worker did."""
    async with ServiceBusClient.from_connection_string(world.stack.bus.connection_string) as client:
        async with client.get_queue_sender(CONFLICTS) as sender:
            await sender.send_messages(message(user, CONFLICTS, "c-dead"))
            later = datetime.now(UTC) + timedelta(hours=1)
            await sender.schedule_messages(message(user, CONFLICTS, "c-later"), later)
        async with client.get_queue_receiver(CONFLICTS, session_id=session(user), max_wait_time=10) as receiver:
            [dead] = await receiver.receive_messages(1)
            await receiver.dead_letter_message(dead, reason="given up")
        async with client.get_queue_sender(LETTERS) as sender:
            letter = {"reason": "X", "session_id": session(user), "body": body(user, "replay", "r-dead").decode()}
            await sender.send_messages(ServiceBusMessage(json.dumps(letter)))


def message(user: User, queue: str, job_id: str) -> ServiceBusMessage:
    """A job's message as the service sends it, under a new name."""
    kind = "replay" if queue == REPLAYS else "conflict"
    return ServiceBusMessage(body(user, kind, job_id), message_id=uuid4().hex, session_id=session(user))


def body(user: User, kind: str, job_id: str) -> bytes:
    job = {"job_id": job_id, "kind": kind, "tenant_id": user.tenant_id, "user_id": user.user_id}
    return json.dumps(job, separators=(",", ":")).encode()


def session(user: User) -> str:
    return f"{user.tenant_id}/{user.user_id}"
