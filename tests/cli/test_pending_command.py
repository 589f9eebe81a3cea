"""`memnet pending` on Azurite."""

from typing import Any

from memnet.domain.core.access import Reason
from memnet.domain.core.scope import DocumentKey
from memnet.domain.documents.commands import IfAbsent, IfExists, PatchDocument
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import patch_document
from memnet.service import Service
from memnet.settings import Settings
from tests.cli.conftest import ACTOR, DYNAMIC, OF_USER, Memnet, on

PERSONAL = DocumentKey(DYNAMIC.scope, "user", "personal.json")
WHERE = (*OF_USER, "--document", "user/user_dynamic.json")
FACT: dict[str, Any] = {"id": "f1", "text": "Lives in\nBern.", "confidence": 0.5, "evidence": {"event_id": "e"}}
FACT |= {"last_verified_at": "2026-01-01T00:00:00Z"}


async def propose(services: Service, *texts: str) -> list[str]:
    command = PatchDocument(
        key=DYNAMIC,
        actor=ACTOR,
        precondition=IfAbsent(),
        idempotency_key="k",
        profile_id="project-copilot-v1",
        binding_id="user_dynamic",
        ops=[{"op": "add", "path": "/content/durable_facts/-", "value": FACT | {"text": text}} for text in texts],
        reason=Reason.LIVE_UPDATE,
    )
    return [row["pending_id"] for row in (await patch_document(command, services)).redirected]


async def say(services: Service, text: str, confidence: float, *, first: bool = False) -> None:
    statement = {"subject": "user", "attribute": "lives in", "value": text, "text": text, "confidence": confidence}
    command = PatchDocument(
        key=PERSONAL,
        actor=ACTOR,
        precondition=IfAbsent() if first else IfExists(),
        idempotency_key=text,
        profile_id="personal-memory-v1",
        binding_id="personal",
        ops=[{"op": "add", "path": "/content/facts/-", "value": statement}],
        reason=Reason.LIVE_UPDATE,
        confidence=confidence,
        evidence={"conversation_id": "c1"},
    )
    await patch_document(command, services)


def document(storage: Settings) -> bytes:
    async def read(services: Service) -> bytes:
        return (await get_document(DYNAMIC, services)).document

    return on(storage, read)


def test_a_question_is_listed_with_the_answers_that_a_confirmation_takes(memnet: Memnet, storage: Settings) -> None:
    async def ask(services: Service) -> None:
        await say(services, "Lisbon.", 0.9, first=True)
        await say(services, "Bern.", 0.4)
        await say(services, "Porto\n.", 0.4)

    on(storage, ask)
    first, *answers = memnet("pending", "list", *OF_USER).stdout.splitlines()
    assert answers == [
        '  the user decides: "Earlier: Lisbon. Now: Bern. / Porto\\n. Which is right?"',
        '    existing  "Lisbon."',
        '    choice 1  "Bern."',
        '    choice 2  "Porto\\n."',
        "1 pending item",
    ]
    where = (*OF_USER, "--document", "user/personal.json", "--actor", "ops", "--confidence", "0.9")
    taken = memnet("pending", "confirm", first.split()[0], *where, "--conversation", "c2", "--choice", "2")
    assert taken.exit_code == 0, taken.output
    assert memnet("pending", "list", *OF_USER).stdout == "0 pending items\n"


def test_items_are_listed_confirmed_and_rejected(memnet: Memnet, storage: Settings) -> None:
    first, second = on(storage, lambda services: propose(services, "Lives in\nBern.", "Has a dog."))
    listed = memnet("pending", "list", *OF_USER)
    assert listed.stdout == (
        f'{first}  user/user_dynamic.json  svc-a  add "Lives in\\nBern."\n'
        f'{second}  user/user_dynamic.json  svc-a  add "Has a dog."\n'
        "2 pending items\n"
    )
    sure = ("--confidence", "0.9", "--conversation", "c1", "--message", "m1")
    own = memnet("pending", "confirm", first, *WHERE, "--actor", "svc-a", *sure)
    assert (own.exit_code, "PROPOSER_CANNOT_CONFIRM" in own.stderr) == (1, True)
    for _ in range(2):
        confirmed = memnet("pending", "confirm", first, *WHERE, "--actor", "ops", *sure)
        assert confirmed.exit_code == 0, confirmed.output
        assert confirmed.stdout.startswith('confirmed: change 2, version "2-')
    rejected = memnet("pending", "reject", second, *WHERE, "--actor", "ops", "--note", "No.")
    assert rejected.stdout.startswith('rejected: change 3, version "3-')
    assert memnet("pending", "list", *OF_USER).stdout == "0 pending items\n"
    assert b'"message_ids":["m1"]' in document(storage)
    assert b"Has a dog." not in document(storage)


def test_invalid_arguments_are_a_usage_error(memnet: Memnet, storage: Settings) -> None:
    sure = ("--actor", "ops", "--confidence", "0.9")
    for arguments, message in [
        (("list", "--tenant", "t1", "--user", ".."), "This id ends with a dot."),
        (("confirm", "p", *OF_USER, "--document", "nowhere", *sure), "This path has a segment that is empty."),
        (("confirm", "p", *WHERE, *sure, "--value", "{"), "--value must be JSON"),
        (("confirm", "p", *WHERE, "--actor", "ops", "--confidence", "2"), "--confidence"),
    ]:
        result = memnet("pending", *arguments)
        assert (result.exit_code, message in result.stderr) == (2, True), result.output
    missing = memnet("pending", "reject", "p", *WHERE, "--actor", "ops")
    assert (missing.exit_code, "DOCUMENT_NOT_FOUND" in missing.stderr) == (1, True)


def _asks(towns: tuple[str, ...], number: int) -> PatchDocument:
    said = f"c{number}"
    sure = 0.3 if number else 0.9
    value: dict[str, Any] = {"subject": "user", "attribute": "lives in", "value": towns[number]}
    value |= {"text": f"Lives in {towns[number]}."}
    value |= {"confidence": sure, "evidence": {"conversation_id": said}}
    return PatchDocument(
        key=DocumentKey(DYNAMIC.scope, "user", "personal.json"),
        actor=ACTOR,
        precondition=IfExists() if number else IfAbsent(),
        idempotency_key=said,
        profile_id="personal-memory-v1",
        binding_id="personal",
        ops=[{"op": "add", "path": "/content/facts/-", "value": value}],
        reason=Reason.LIVE_UPDATE,
        evidence={"conversation_id": said},
        confidence=sure,
    )


def test_a_question_is_answered(memnet: Memnet, storage: Settings) -> None:
    async def ask(services: Service) -> None:
        for number in range(3):
            await patch_document(_asks(("Lisbon", "Berlin", "Porto"), number), services)

    on(storage, ask)
    pending_id = memnet("pending", "list", *OF_USER).stdout.split()[0]
    given = (*OF_USER, "--document", "user/personal.json", "--confidence", "0.9", "--conversation", "c9")
    own = memnet("pending", "confirm", pending_id, *given, "--actor", "svc-a", "--take", "existing")
    assert (own.exit_code, "PROPOSER_CANNOT_CONFIRM" in own.stderr) == (1, True)
    wrong = memnet("pending", "confirm", pending_id, *given, "--actor", "ops", "--choice", "3")
    assert (wrong.exit_code, "The choice must be from 1 to 2" in wrong.stderr) == (1, True), wrong.output
    both = ("--actor", "ops", "--take", "both", "--choice", "2", "--apart", "in summer")
    for _ in range(2):
        done = memnet("pending", "confirm", pending_id, *given, *both)
        assert (done.exit_code, done.stdout[:19]) == (0, "confirmed: change 4"), done.output
    other = memnet("pending", "confirm", pending_id, *given, "--actor", "ops", "--take", "existing")
    assert (other.exit_code, "The question was answered before" in other.stderr) == (1, True), other.output
    assert memnet("pending", "list", *OF_USER).stdout == "0 pending items\n"
