"""Read a profile as the service works by it."""

from memnet.catalog import Catalog
from memnet.domain.document import Actor
from memnet.domain.errors import ProfileForbidden
from memnet.domain.profile import Profile


async def get_profile(profile_id: str, *, actor: Actor, catalog: Catalog) -> Profile:
    """Return the profile. Raises ProfileNotFound, and ProfileForbidden if it is for other principals."""
    profile = catalog.profile(profile_id)
    if not catalog.tells(profile_id, actor):
        raise ProfileForbidden
    return profile
