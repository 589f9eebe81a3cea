"""One profile."""

import pytest

from memnet.domain.core.access import Role
from memnet.domain.core.errors import ProfileForbidden, ProfileNotFound
from memnet.domain.core.scope import Actor
from memnet.operations.catalog.get_profile import get_profile
from tests.domain.samples import CATALOG
from tests.operations.catalog.test_list_profiles import READER, catalog


async def test_it_is_the_one_that_the_service_works_by():
    assert await get_profile("support-desk-v1", actor=READER, catalog=CATALOG) is CATALOG.profiles["support-desk-v1"]


async def test_one_that_is_not_there_is_told_as_such():
    with pytest.raises(ProfileNotFound):
        await get_profile("none", actor=READER, catalog=CATALOG)


async def test_one_for_other_principals_is_refused():
    with pytest.raises(ProfileForbidden):
        await get_profile("support-desk-v1", actor=READER, catalog=catalog())
    for actor in (Actor("svc-b", frozenset({Role.READ})), Actor("ops", frozenset({Role.ADMIN}))):
        assert (await get_profile("support-desk-v1", actor=actor, catalog=catalog())).allowed_principals == ("svc-b",)
