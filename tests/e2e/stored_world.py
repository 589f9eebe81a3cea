"""The world of the injections on a real stack: its users' documents there, and their state afterwards."""

from dataclasses import dataclass

from memnet.domain.core.scope import Json
from memnet.domain.documents import envelope
from memnet.service import Service as Services
from tests.domain.extraction_samples import CONTENTS
from tests.domain.samples import CATALOG
from tests.e2e.client import DYNAMIC, STATIC, User, project
from tests.e2e.replays import PROFILE
from tests.injections.world import ABROAD, ME, OTHER, World
from tests.operations.service_scenario import Service


@dataclass
class StoredWorld(World):
    """The same users on a real stack."""

    user: User | None = None
    storage: Services | None = None

    async def settle(self) -> None:
        assert self.user is not None
        for scope in (ME, OTHER, ABROAD):
            owner = User(self.user.session, self.user.api, self.user.token, scope.user_id, scope.tenant_id)
            for place in (STATIC, DYNAMIC, project("alpha")):
                binding = CATALOG.profile(PROFILE).binding(place.binding_id)
                assert binding is not None
                content = CONTENTS[place.binding_id]
                answer = await owner.put(place, content, binding.schema_id, etag=None, key=place.binding_id)
                assert answer.status == 201, answer.text
        self.before = await self.contents()

    async def contents(self) -> dict[str, Json]:
        assert self.storage is not None
        found: dict[str, Json] = {}
        listed = await self.storage.documents.list_all(limit=1000, cursor=None)
        for row in listed.items:
            stored = await self.storage.documents.get(row.key)
            assert stored is not None
            found[row.key.blob_name] = envelope.load(stored.data).content
        return found


def stored_world(user: User, storage: Services) -> StoredWorld:
    """The world as `user`, who has all roles, and the stack's own storage see it."""
    return StoredWorld(Service(), user=user, storage=storage)
