"""Hold every version of the catalog to the one text that it has in the container."""

import asyncio

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.catalog_text import TextName, texts_of
from memnet.domain.core.errors import CatalogConflict
from memnet.ports import StoreConflict
from memnet.stores import CatalogTexts


async def register_catalog(catalog: Catalog, *, texts: CatalogTexts, create: bool = True) -> None:
    """Create the text of each version that is not there yet; one that is there must be the same.

    With `create` False, only compare. Raises CatalogConflict, which names every version that has another text there,
    and Unavailable.
    """

    async def is_same(name: TextName, data: bytes) -> bool:
        stored = await texts.read(name)
        if stored is None and create:
            try:
                await texts.create(name, data)
            except StoreConflict:
                # Another process was faster, or this write was applied by the client library's first try.
                stored = await texts.read(name)
        return stored in (None, data)

    wanted = texts_of(catalog)
    outcomes = await asyncio.gather(*(is_same(name, data) for name, data in wanted.items()), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    changed = [str(name) for name, same in zip(wanted, outcomes, strict=True) if not same]
    if changed:
        raise CatalogConflict(changed)
