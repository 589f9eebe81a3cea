"""Make one governed change durable, also on a document that another release has written."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.errors import BindingMismatch
from memnet.domain.documents.commands import WriteCommand, WriteResult
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.write_decision import Decision
from memnet.operations.catalog.read_schema import read_schema
from memnet.operations.documents.commit_change import commit_change
from memnet.service import Service


async def commit_governed(
    command: WriteCommand, decide: Callable[[Catalog, Envelope | None], Decision], service: Service
) -> WriteResult:
    """Apply `command`, whose outcome `decide` works out by the catalog from the newest version, exactly once.

    A document under a schema version that is not in the catalog is decided a second time, with the text of that version
    from the container. Raises what `decide` and `commit_change` raise; then nothing has changed.
    """

    async def commit(known: Catalog) -> WriteResult:
        return await commit_change(command, partial(decide, known), service)

    try:
        return await commit(service.catalog)
    except BindingMismatch as mismatch:
        stored = mismatch.details.get("schema_id"), mismatch.details.get("schema_version")
        schemas = service.catalog.schemas
        if None not in stored:
            schemas = await read_schema(str(stored[0]), str(stored[1]), schemas, texts=service.documents.texts)
        if schemas is service.catalog.schemas:
            raise
    return await commit(replace(service.catalog, schemas=schemas))
