"""The timer that signs."""

from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, DocumentKey, UserScope
from memnet.domain.documents.commands import IfAbsent, PatchDocument
from memnet.operations.documents.write import patch_document
from memnet.operations.history.sign_checkpoints import SignReport, read_newest_head
from memnet.service import Service
from memnet.wiring import in_memory
from tests.domain.samples import CATALOG
from tests.sample_settings import sample_settings
from workers import work

SCOPE = UserScope("t1", "u1")


async def with_a_document() -> Service:
    services = in_memory(sample_settings(), CATALOG)
    command = PatchDocument(
        key=DocumentKey(SCOPE, "user", "user_dynamic.json"),
        actor=Actor("svc-a", frozenset()),
        precondition=IfAbsent(),
        idempotency_key="k1",
        profile_id="project-copilot-v1",
        binding_id="user_dynamic",
        ops=[{"op": "add", "path": "/content/preferences/-", "value": "tea"}],
        reason=Reason.LIVE_UPDATE,
        evidence=None,
        confidence=None,
        source_time=None,
        dry_run=False,
    )
    await patch_document(command, services)
    return services


async def test_it_signs_for_everybody() -> None:
    services = await with_a_document()
    assert await work.sign(services) == SignReport(users=1, signed=1)
    head = await read_newest_head(SCOPE, records=services.records)
    assert head is not None
    assert head.sequence == 1
