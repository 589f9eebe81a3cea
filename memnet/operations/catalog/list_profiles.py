"""List the profiles that the service works by."""

from memnet.catalog import Catalog
from memnet.domain.catalog.profile import Profile
from memnet.domain.core import cursor as cursors
from memnet.domain.core.scope import Actor
from memnet.ports import Page

_LISTING = "profiles"


async def list_profiles(*, actor: Actor, limit: int, cursor: str | None, catalog: Catalog) -> Page[Profile]:
    """Return those that `actor` may know, in the order of their ids; others are passed over. Raises InvalidCursor."""
    after = "" if cursor is None else cursors.decode(_LISTING, cursor)
    names = [name for name in sorted(catalog.profiles) if name > after and catalog.tells(name, actor)]
    page = names[:limit]
    more = cursors.encode(_LISTING, page[-1]) if len(names) > limit else None
    return Page([catalog.profiles[name] for name in page], more)
