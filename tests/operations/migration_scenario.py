"""A user of the old product, the migrations of the worked example, and the operations on them."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from memnet.catalog import Catalog, load_catalog
from memnet.domain.catalog.migration_model import Migration, Unit
from memnet.domain.catalog.profile import Profile
from memnet.domain.core.access import Reason
from memnet.domain.core.scope import Actor, DocumentKey, ETag, UserScope
from memnet.domain.documents import envelope
from memnet.domain.documents.commands import IfAbsent, IfMatch, PatchDocument, ReplaceDocument
from memnet.domain.documents.envelope import Envelope
from memnet.domain.governance.migration_plan import MigrationDecision
from memnet.operations.documents.read import get_document
from memnet.operations.documents.write import patch_document, replace_document
from memnet.operations.governance.migrations import (
    Decommissioned,
    RolledBack,
    decommission_unit,
    migrate_unit,
    roll_back_unit,
    verify_migration_unit,
)
from memnet.operations.history.verify_history import rebuild_documents
from memnet.settings import ROOT
from memnet.stores import AuditLog, DocumentStore, read_records
from tests.migration_example import write_catalog
from tests.operations.service_scenario import DYNAMIC, PROFILE, SCOPE, STATIC, Service
from tests.services import arguments, service_of

GLOBAL = DocumentKey(SCOPE, "user", "global.json")
UNIT = Unit(SCOPE)
ADMIN = Actor("svc-admin", frozenset())
LIVE = Actor("svc-live", frozenset())
SPLIT, TO_09, TO_10 = "split-global", "global-0.9.0", "global-1.0.0"
CONTENT = {
    "profile": {"display_name": "Ada Marsh"},
    "preferences": ["Short answers."],
    "projects": [{"id": "alpha", "names": ["the work"]}],
    "facts": ["Works from Utrecht."],
}
STATIC_MADE = {
    "profile": {"display_name": "Ada Marsh"},
    "projects_index": [{"project_id": "alpha", "aliases": ["the work"]}],
}
OLDEST = {"name": "Ada", "likes": "tea"}


@cache
def example() -> Catalog:
    """What ships and the worked example."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        write_catalog(root)
        return load_catalog(root / "profiles", root / "schemas", ROOT / "prompts", root / "migrations")


def with_profile(catalog: Catalog, profile: Profile) -> Catalog:
    """The catalog with one profile in another's place, or added."""
    profiles = {**catalog.profiles, profile.profile_id: profile}
    return Catalog(profiles, catalog.schemas, catalog.prompts, catalog.migrations)


def at_version(version: str) -> Catalog:
    """The example with the old product's documents still at an earlier version."""
    legacy = example().profile("legacy-v1")
    (binding,) = legacy.document_bindings
    old = binding.model_copy(update={"schema_version": version, "initial_content": None})
    return with_profile(example(), legacy.model_copy(update={"document_bindings": (old,)}))


@dataclass
class Migrating:
    """One process, whose stores may be watched."""

    service: Service = field(default_factory=Service)
    catalog: Catalog = field(default_factory=example)
    documents: DocumentStore = None  # type: ignore[assignment]
    audit: AuditLog = None  # type: ignore[assignment]
    keys: int = 0

    def __post_init__(self) -> None:
        self.documents = self.documents or self.service.documents
        self.audit = self.audit or self.service.audit

    def migration(self, name: str = SPLIT) -> Migration:
        return self.catalog.migrations[name]

    def ports(self) -> dict[str, Any]:
        service = self.service
        rest = {"clock": service.clock, "ids": service.ids, "background": service.background}
        return {"documents": self.documents, "audit": self.audit, **rest}

    async def put(
        self, content: Any = CONTENT, over: ETag | None = None, *, version: str = "1.0.0", scope: UserScope = SCOPE
    ) -> ETag:
        """Write the old document as the old product, at its version of the schema."""
        self.keys += 1
        command = ReplaceDocument(
            key=DocumentKey(scope, "user", "global.json"),
            actor=LIVE,
            precondition=IfMatch(over) if over else IfAbsent(),
            idempotency_key=f"put-{self.keys}",
            profile_id="legacy-v1",
            binding_id="global",
            schema_id="legacy.global",
            schema_version=version,
            content=content,
        )
        return (await replace_document(command, service_of(catalog=at_version(version), **self.ports()))).etag

    async def prefer(self, text: str, key: DocumentKey = DYNAMIC) -> ETag:
        """Patch a document live."""
        self.keys += 1
        old = key == GLOBAL
        command = PatchDocument(
            key=key,
            actor=LIVE,
            precondition=IfMatch((await self.head(key)).commit.etag),
            idempotency_key=f"prefer-{self.keys}",
            profile_id="legacy-v1" if old else PROFILE,
            binding_id="global" if old else "user_dynamic",
            ops=[{"op": "add", "path": "/content/preferences/-", "value": text}],
            reason=Reason.LIVE_UPDATE,
        )
        return (await patch_document(command, service_of(catalog=self.catalog, **self.ports()))).etag

    async def run(self, name: str = SPLIT, **members: Any) -> list[MigrationDecision]:
        chosen: dict[str, Any] = {"actor": ADMIN, "catalog": self.catalog, **self.ports(), **members}
        return await migrate_unit(UNIT, self.migration(name), **arguments(**chosen))

    async def actions(self, name: str = SPLIT, **members: Any) -> list[str]:
        return [decision.action.value for decision in await self.run(name, **members)]

    async def verify(self, name: str = SPLIT) -> Sequence[tuple[str, str | None, bool]]:
        """(path, difference, whether others changed it since)."""
        verdicts = await verify_migration_unit(
            UNIT, self.migration(name), service_of(documents=self.documents, audit=self.audit, catalog=self.catalog)
        )
        return [(v.key.path, v.difference, v.changed) for v in verdicts]

    async def roll_back(self, name: str = SPLIT, *, force: bool = False) -> RolledBack:
        return await roll_back_unit(UNIT, self.migration(name), service_of(**self.ports()), actor=ADMIN, force=force)

    async def decommission(self, name: str = SPLIT) -> Decommissioned:
        return await decommission_unit(
            UNIT, self.migration(name), service_of(catalog=self.catalog, **self.ports()), actor=ADMIN
        )

    async def head(self, key: DocumentKey) -> Envelope:
        stored = await self.service.documents.get(key)
        assert stored is not None
        return envelope.load(stored.data)

    async def content(self, key: DocumentKey) -> Any:
        """None if there is none, or it is deleted."""
        stored = await self.service.documents.get(key)
        return None if stored is None else envelope.load(stored.data).content

    async def record(self, key: DocumentKey, sequence: int) -> Any:
        (record,) = await read_records(SCOPE, await self.head(key), sequence, sequence, audit=self.service.audit)
        return record

    async def view(self, key: DocumentKey, as_of: str | None = None) -> bytes:
        found = await get_document(
            key, service_of(documents=self.service.documents, audit=self.service.audit), as_of=as_of
        )
        return found.document

    async def check_histories(self) -> None:
        """Every document's chain holds."""
        await self.service.background.drain()
        found = await rebuild_documents(SCOPE, service_of(documents=self.service.documents, audit=self.service.audit))
        assert [history.fault for history in found] == [None] * len(found)


AS_MADE = [(STATIC.path, None, False), (DYNAMIC.path, None, False)]
