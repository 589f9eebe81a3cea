"""A decision on a document under a schema version that only a newer release has."""

from typing import Any

import pytest

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.profile import Profile
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.errors import BindingMismatch
from memnet.domain.documents.commands import ConfirmPending, IfExists, RejectPending
from memnet.operations.catalog.register_catalog import register_catalog
from memnet.operations.documents.confirm_pending import confirm_pending
from memnet.operations.documents.patch_document import patch_document
from memnet.operations.documents.reject_pending import reject_pending
from tests.operations.schema_versions import GARDEN, LIST, body
from tests.operations.service_scenario import BOB, Service
from tests.services import service_of

WAITING = {"type": "array", "items": {"type": "object"}}
BODIES = {
    ("garden", "1.0.0"): body("1.0.0", None, waiting=WAITING),
    ("garden", "1.1.0"): body("1.1.0", "1.0.0", waiting=WAITING, tools=LIST),
}
BINDING = {
    "binding_id": "garden",
    "namespace": GARDEN.namespace,
    "path": GARDEN.path,
    "schema_id": "garden",
    "max_chars": 4000,
    "read_priority": 1,
    "initial_content": {"plants": [], "waiting": []},
}
RULES = {
    "writable_path_rules": {"garden": ["/plants", "/tools"]},
    "durable_sections": {"garden": ["/plants"]},
    "pending_sections": {"garden": "/waiting"},
    "confidence_rules": {"min_confidence_for_durable_fact": 0.8},
}
EVIDENCE = {"conversation_id": "c1"}


def release(version: str, *older: str) -> Catalog:
    members: dict[str, Any] = {"profile_id": "gardener", "version": version, **RULES}
    members["document_bindings"] = [BINDING | {"schema_version": version}]
    keys = [("garden", name) for name in (version, *older)]
    registered = {text["$id"]: text for text in BODIES.values()}
    return Catalog(
        {"gardener": Profile.model_validate(members, strict=False)},
        {key: Schema.compile(*key, BODIES[key], registered) for key in keys},
    )


OLD, NEW = release("1.0.0"), release("1.1.0", "1.0.0")


async def proposed(service: Service) -> str:
    """A proposal in a document that the newer release has written; its id."""
    add = {"op": "add", "path": "/content/plants/-", "value": "oak"}
    rules = {"key": GARDEN, "profile_id": "gardener", "binding_id": "garden"}
    command = service.patch_command(add, **rules, confidence=0.1, evidence=EVIDENCE)
    made = await patch_document(command, service_of(**service.ports() | {"catalog": NEW}))
    return str(made.redirected[0]["pending_id"])


def decision(pending_id: str) -> dict[str, Any]:
    named = {"key": GARDEN, "actor": BOB, "precondition": IfExists(), "idempotency_key": "k"}
    return {**named, "pending_id": pending_id}


@pytest.mark.parametrize("plants", [["oak"], []], ids=["confirmed", "rejected"])
async def test_the_old_release_decides_what_the_new_one_let_wait(plants: list[str]) -> None:
    service = Service()
    for catalog in (OLD, NEW):
        await register_catalog(catalog, texts=service.documents.texts)
    named, ports = decision(await proposed(service)), service.ports() | {"catalog": OLD}
    if plants:
        await confirm_pending(ConfirmPending(**named, confidence=0.9, evidence=EVIDENCE), service_of(**ports))
    else:
        await reject_pending(RejectPending(**named), service_of(**ports))
    head = await service.head(GARDEN)
    assert (head.content["plants"], head.content["waiting"]) == (plants, [])
    assert head.schema_version == "1.1.0"


async def test_without_the_text_it_is_refused_and_left_as_it_is() -> None:
    service = Service()
    named = decision(await proposed(service))
    before = await service.head(GARDEN)
    with pytest.raises(BindingMismatch):
        await confirm_pending(
            ConfirmPending(**named, confidence=0.9, evidence=EVIDENCE), service_of(**service.ports() | {"catalog": OLD})
        )
    assert await service.head(GARDEN) == before
