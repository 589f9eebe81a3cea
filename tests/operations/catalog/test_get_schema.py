"""One version of a schema."""

import pytest

from memnet.domain.core.errors import SchemaNotFound
from memnet.operations.catalog.get_schema import get_schema
from tests.domain.samples import CATALOG


async def test_it_is_the_version_that_was_asked_for():
    schema = await get_schema("memory.project", "1.0.0", catalog=CATALOG)
    assert schema.body["$id"] == "memnet:memory.project:1.0.0"


@pytest.mark.parametrize(("schema_id", "version"), [("memory.project", "9.0.0"), ("none", "1.0.0")])
async def test_another_one_is_told_as_such(schema_id: str, version: str):
    with pytest.raises(SchemaNotFound):
        await get_schema(schema_id, version, catalog=CATALOG)
