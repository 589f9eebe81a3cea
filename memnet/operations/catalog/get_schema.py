"""Read a version of a schema."""

from memnet.catalog import Catalog
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.errors import SchemaNotFound


async def get_schema(schema_id: str, version: str, *, catalog: Catalog) -> Schema:
    """Return the schema. Raises SchemaNotFound."""
    try:
        return catalog.schema(schema_id, version)
    except KeyError:
        raise SchemaNotFound from None
