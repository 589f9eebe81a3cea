"""What the Azure adapters make of a storage that keeps versions, snapshots and soft-deleted blobs.

The emulator has neither versions nor soft delete. The answers here are shaped as List Blobs (REST API), "Response
body", and "Soft delete for blobs" of Azure's documentation show them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from memnet.adapters.azure.blob_storage import AzureBlobStorage, open_container
from memnet.adapters.azure.prerequisites import DeletionCheck
from memnet.adapters.memory.clock import FrozenClock
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.prerequisite import PrerequisiteStatus
from memnet.domain.core.scope import StorageETag, UserScope
from memnet.domain.governance.erasure import Found
from memnet.stores import Blobs, UserStorage
from tests.contracts.scripted_server import ScriptedServer, answer, scripted_server
from tests.contracts.test_azure_blob_storage import KEY

ONE = UserScope("t1", "u1")
NAME = f"{ONE.prefix}documents/a.json"
FIRST, SECOND = "2026-01-01T00:00:00.1234567Z", "2026-01-02T00:00:00.1234567Z"
ALIVE = f"<VersionId>{SECOND}</VersionId><IsCurrentVersion>true</IsCurrentVersion>"
DELETED = "<Deleted>true</Deleted>"
LEFT = (
    "<DeletedTime>Thu, 01 Jan 2026 00:00:00 GMT</DeletedTime><RemainingRetentionDays>{}</RemainingRetentionDays>"
).format


def row(marks: str = "", properties: str = "", name: str = NAME) -> str:
    return (
        f"<Blob><Name>{name}</Name>{marks}<Properties><Last-Modified>Thu, 01 Jan 2026 00:00:00 GMT</Last-Modified>"
        f"<Etag>0x8D</Etag><Content-Length>2</Content-Length><BlobType>BlockBlob</BlobType>{properties}</Properties>"
        "</Blob>"
    )


def listing(*rows: str) -> bytes:
    body = (
        '<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="http://a/" ContainerName="c">'
        f"<Prefix/><Blobs>{''.join(rows)}</Blobs><NextMarker/></EnumerationResults>"
    )
    return answer(200, body=body.encode(), **{"Content-Type": "application/xml"})


@asynccontextmanager
async def against(*script: bytes) -> AsyncIterator[tuple[AzureBlobStorage, ScriptedServer, FrozenClock]]:
    clock = FrozenClock()
    async with (
        scripted_server(*script) as server,
        open_container(server.url, account_key=KEY, timeout_seconds=10, clock=clock, backoff_seconds=0.01) as container,
    ):
        yield container, server, clock


async def test_every_copy_is_listed_and_named() -> None:
    rows = (
        row(ALIVE),
        row(f"<VersionId>{FIRST}</VersionId>"),
        row(f"<Snapshot>{FIRST}</Snapshot>"),
        row(f"<Snapshot>{SECOND}</Snapshot>{DELETED}", LEFT(6)),
        row(f"<VersionId>{FIRST}</VersionId>{DELETED}", LEFT(0)),
        row(DELETED),
    )
    async with against(listing(*rows)) as (container, server, clock):
        found = (await UserStorage(Blobs(container, clock)).list(ONE, limit=9, cursor=None)).items
        assert [(one.copy, one.kept_until and one.kept_until - clock.now()) for one in found] == [
            ("", None),
            (f"versionid={FIRST}", None),
            (f"snapshot={FIRST}", None),
            (f"snapshot={SECOND}", timedelta(days=7)),
            (f"versionid={FIRST}", timedelta(days=1)),
            ("", timedelta(days=1)),
        ]
        assert "include=snapshots,versions,deleted" in server.asked[0][0].replace("%2C", ",")


@pytest.mark.parametrize("code", [202, 404])
async def test_a_copy_is_deleted_by_its_own_name_without_what_only_a_blob_takes(code: Any) -> None:
    """x-ms-delete-snapshots on the request for a snapshot or version is answered with 400 (Delete Blob)."""
    async with against(answer(code, None if code == 202 else "BlobNotFound")) as (container, server, clock):
        found = Found(NAME, StorageETag('"0x8D"'), f"versionid={FIRST}")
        await UserStorage(Blobs(container, clock)).delete(ONE, found, known_at=clock.now())
        ((line, headers, _),) = server.asked
        assert line == f"DELETE /account/container/{NAME}?versionid={FIRST}"
        assert not {"x-ms-delete-snapshots", "if-match"} & set(headers)


@pytest.mark.parametrize("refusal", [answer(403, "AuthorizationPermissionMismatch"), answer(404, "ContainerNotFound")])
async def test_a_copy_that_may_not_be_deleted_is_a_failure(refusal: Any) -> None:
    """Storage Blob Data Contributor may not delete versions."""
    async with against(refusal) as (container, _, clock):
        found = Found(NAME, StorageETag('"0x8D"'), f"versionid={FIRST}")
        with pytest.raises(Unavailable):
            await UserStorage(Blobs(container, clock)).delete(ONE, found, known_at=clock.now())


PROBE = "bootstrap/deletion"
CREATED, GONE = answer(201, ETag='"0x1"'), answer(202)


@pytest.mark.parametrize(
    ("rows", "standing", "message"),
    [
        ([], PrerequisiteStatus.READY, ""),
        ([row(f"<Snapshot>{FIRST}</Snapshot>{DELETED}", LEFT(6), PROBE)], PrerequisiteStatus.READY, "soft delete"),
        ([row(f"<VersionId>{FIRST}</VersionId>", name=PROBE)], PrerequisiteStatus.WRONG, "versioning"),
        ([row(f"<VersionId>{FIRST}</VersionId>{DELETED}", LEFT(6), PROBE)], PrerequisiteStatus.WRONG, "versioning"),
    ],
)
async def test_bootstrap_reports_what_a_deletion_leaves(rows: Any, standing: Any, message: Any) -> None:
    async with against(answer(200), CREATED, GONE, listing(*rows)) as (container, server, _):
        finding = await DeletionCheck(container).check()
        assert (finding.standing, finding.detail.startswith(message)) == (standing, True)
        assert [line.split("?")[0].split(" ")[0] for line, _, _ in server.asked] == ["GET", "PUT", "DELETE", "GET"]
