"""The list of profiles."""

import pytest

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.access import Role
from memnet.domain.core.errors import InvalidCursor
from memnet.domain.core.scope import Actor
from memnet.operations.catalog.list_profiles import list_profiles
from tests.domain.samples import CATALOG

READER = Actor("svc-a", frozenset({Role.READ}))
SHIPPED = ["project-copilot-v1", "support-desk-v1"]


def catalog() -> Catalog:
    """The shipped profiles, the second one only for svc-b."""
    first, second = (CATALOG.profiles[name] for name in SHIPPED)
    second = second.model_copy(update={"allowed_principals": ("svc-b",)})
    return Catalog({first.profile_id: first, second.profile_id: second}, CATALOG.schemas)


async def listed(actor: Actor = READER, known: Catalog = CATALOG) -> list[str]:
    page = await list_profiles(actor=actor, limit=10, cursor=None, catalog=known)
    assert page.next_cursor is None
    return [profile.profile_id for profile in page.items]


async def test_they_come_in_the_order_of_their_ids():
    assert await listed() == SHIPPED


async def test_pages_follow_one_another():
    first = await list_profiles(actor=READER, limit=1, cursor=None, catalog=CATALOG)
    second = await list_profiles(actor=READER, limit=1, cursor=first.next_cursor, catalog=CATALOG)
    assert [profile.profile_id for profile in (*first.items, *second.items)] == SHIPPED
    assert second.next_cursor is None
    with pytest.raises(InvalidCursor):
        await list_profiles(actor=READER, limit=1, cursor="AAAA", catalog=CATALOG)


@pytest.mark.parametrize(
    ("actor", "found"),
    [
        (READER, SHIPPED[:1]),
        (Actor("svc-b", frozenset({Role.READ})), SHIPPED),
        (Actor("ops", frozenset({Role.ADMIN})), SHIPPED),
        (Actor("auditor", frozenset({Role.AUDIT})), SHIPPED),
    ],
)
async def test_one_for_certain_principals_is_told_to_them_and_to_those_who_watch(actor: Actor, found: list[str]):
    assert await listed(actor, catalog()) == found
