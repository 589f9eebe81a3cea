"""Find the indexes that writes go into, and make the first one where there is none."""

from memnet.domain.search_layout import LAYOUT, IndexVersion, Layout, dump_layout, load_layout
from memnet.ports import IdGenerator, StoreConflict
from memnet.stores import Search


async def open_index(*, search: Search, ids: IdGenerator) -> Layout:
    """Return the layout, at most `fresh_seconds` old. Raises Unavailable."""
    layout = await search.register.recent()
    if layout is not None:
        return layout
    version = IndexVersion(search.index.new_name(ids.new().rpartition("-")[2]), search.model, search.dimensions)
    await search.index.create(version)
    layout = Layout(version)
    try:
        await search.register.write(LAYOUT, dump_layout(layout), replaces=None)
    except StoreConflict:
        stored = await search.register.read(LAYOUT)
        if stored is None:
            raise
        layout = load_layout(stored.data)
        if layout.serving.name != version.name:
            await search.index.drop(version.name)
    return layout
