"""Find the indexes that writes go into, and make the first one where there is none."""

from memnet.domain.events.index_layout import LAYOUT, IndexVersion, Layout, dump_layout, load_layout
from memnet.ports import StoreConflict
from memnet.service import Service


async def ensure_index(service: Service) -> Layout:
    """Return the layout, at most `fresh_seconds` old. Raises Unavailable."""
    layout = await service.search.register.recent()
    if layout is not None:
        return layout
    version = IndexVersion(
        service.search.index.new_name(service.ids.new().rpartition("-")[2]),
        service.search.model,
        service.search.dimensions,
    )
    await service.search.index.create(version)
    layout = Layout(version)
    try:
        await service.search.register.write(LAYOUT, dump_layout(layout), replaces=None)
    except StoreConflict:
        stored = await service.search.register.read(LAYOUT)
        if stored is None:
            raise
        layout = load_layout(stored.data)
        if layout.serving.name != version.name:
            await service.search.index.drop(version.name)
    return layout
