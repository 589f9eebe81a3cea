"""Read a profile as the service works by it."""

from memnet.catalog import Catalog
from memnet.domain.catalog.profile import Profile
from memnet.domain.core.errors import ProfileForbidden
from memnet.domain.core.scope import Actor


async def get_profile(profile_id: str, *, actor: Actor, catalog: Catalog) -> Profile:
    """Return the profile. Raises ProfileNotFound, and ProfileForbidden if it is for other principals."""
    profile = catalog.profile(profile_id)
    if not catalog.tells(profile_id, actor):
        raise ProfileForbidden
    return profile
