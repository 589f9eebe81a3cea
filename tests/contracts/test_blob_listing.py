"""Listings of the Azure adapter: the rows that a page may have, broken pages, and how long a page holds the loop."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import pytest

from memnet.adapters.azure.blob_listing import SLICE_BYTES, parse_listing
from memnet.domain.core.errors import InvalidCursor, Unavailable
from memnet.paging import PAGE_SIZE
from memnet.ports import ListedBlob
from tests.contracts.scripted_server import answer
from tests.contracts.test_azure_blob_storage import against
from tests.turns import counted_turns

TIME = "<Last-Modified>Wed, 09 Sep 2026 13:04:05 GMT</Last-Modified>"
PROPERTIES = f"<Properties>{TIME}<Etag>0x8D</Etag></Properties>"
DOCUMENT_TYPE = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>'


def page(rows: str, marker: str = "", head: str = "\ufeff<?xml version='1.0' encoding='utf-8'?>") -> bytes:
    return (
        f'{head}<EnumerationResults ServiceEndpoint="http://a/" ContainerName="c"><Prefix>p</Prefix>'
        f"<Blobs>{rows}</Blobs><NextMarker>{marker}</NextMarker></EnumerationResults>"
    ).encode()


def blob(name: str, metadata: str = "", properties: str = PROPERTIES) -> str:
    return f"<Blob><Name>{name}</Name>{properties}<Metadata>{metadata}</Metadata></Blob>"


@pytest.mark.parametrize("tag", ["0x8D", "&quot;0x8D&quot;"])
async def test_a_row_has_its_name_tag_time_and_metadata(tag: Any) -> None:
    properties = f"<Properties>\n  {TIME}\n<Etag>{tag}</Etag><Cache-Control /></Properties>"
    found = await parse_listing(page(blob("a/文档 &amp; b", "\n<size>1</size><empty />", properties), "m&amp;1"))
    moment = datetime(2026, 9, 9, 13, 4, 5, tzinfo=UTC)
    assert found.blobs == [ListedBlob("a/文档 & b", '"0x8D"', moment, {"size": "1", "empty": ""})]  # type: ignore[arg-type]
    assert (found.folders, found.marker) == ([], "m&1")


async def test_names_that_xml_does_not_allow_are_decoded_and_others_are_not() -> None:
    folder = '<BlobPrefix><Name Encoded="true">a%EF%BF%BE%2F</Name></BlobPrefix>'
    rows = blob("100%25").replace("<Name>", '<Name Encoded="true">') + blob("100%25") + folder
    found = await parse_listing(page(rows))
    assert [row.name for row in found.blobs] == ["100%", "100%25"]
    assert found.folders == ["a\ufffe/"]


async def test_metadata_named_like_the_elements_of_a_listing_is_metadata() -> None:
    names = ("Name", "Blob", "Etag", "Metadata", "NextMarker", "Snapshot", "Deleted")
    found = await parse_listing(page(blob("a", "".join(f"<{name}>x</{name}>" for name in names)) + blob("b")))
    assert [(row.name, row.etag, row.metadata, row.copy, row.deleted_days) for row in found.blobs] == [
        ("a", '"0x8D"', dict.fromkeys(names, "x"), "", None),
        ("b", '"0x8D"', {}, "", None),
    ]
    assert found.marker == ""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html><body>Sign in to the network</body></html>",
        b'{"error": "no"}',
        page(blob("a"))[:-30],
        page(blob("a")) + b"<more/>",
        page("", head=DOCUMENT_TYPE),
        page(blob("&a;"), head=DOCUMENT_TYPE),
        page(blob("\0")),
        page("<Blob><Name>a</Name></Blob>"),
        page("<BlobPrefix/>"),
        page(blob("a", properties=PROPERTIES.replace("Sep", "XII"))),
        page(blob("a", properties=PROPERTIES.replace("13:04:05", "13:04"))),
        page(blob("%FF").replace("<Name>", '<Name Encoded="true">')),
    ],
)
async def test_a_page_that_is_no_listing_is_unavailable(body: Any) -> None:
    async with against(answer(200, body=body)) as (container, _):
        for call in (
            container.list("p", limit=1, cursor=None),
            container.list_folders("p", limit=1, cursor=None),
        ):
            with pytest.raises(Unavailable):
                await call


@pytest.mark.parametrize("code", ["OutOfRangeInput", "InvalidQueryParameterValue"])
async def test_a_marker_that_the_service_refuses_is_an_invalid_cursor(code: Any) -> None:
    async with against(answer(200, body=page("", "m/1 +")), answer(400, code)) as (container, server):
        first = await container.list("a/", limit=2, cursor=None, metadata=True)
        with pytest.raises(InvalidCursor):
            await container.list("a/", limit=2, cursor=first.next_cursor, metadata=True)
        assert parse_qs(server.asked[1][0].partition("?")[2]) == {
            "restype": ["container"],
            "comp": ["list"],
            "prefix": ["a/"],
            "maxresults": ["2"],
            "include": ["metadata"],
            "marker": ["m/1 +"],
        }


async def test_other_tasks_run_while_a_page_is_parsed() -> None:
    names = [f"tenants/t1/users/u{number}/documents/user/文档{number}" for number in range(PAGE_SIZE)]
    body = page("".join(blob(name, "<size>1</size>") for name in names))
    async with counted_turns() as turns:
        found = await parse_listing(body)
    assert turns.count > len(body) // SLICE_BYTES > 10
    assert [row.name for row in found.blobs] == names
