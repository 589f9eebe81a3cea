"""The blob: what is written is what is read, and nothing else is."""

from typing import Any

import orjson
import pytest

from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import HistoryCorrupt, MemnetError
from memnet.domain.documents.audit_record import record_bytes
from memnet.domain.documents.envelope import dump, load
from tests.domain.samples import History, op


def changes(count: int) -> History:
    history = History()
    for number in range(count):
        history.patch(op("add", "/content/n", value=number))
    return history


def test_what_is_dumped_is_what_is_loaded() -> None:
    history = changes(3)
    history.delete()
    for version in history.versions:
        assert dump(load(version)) == version
        assert load(version).content is not load(version).content or load(version).deleted
    assert b'"content"' not in history.versions[-1].replace(b'"content_', b"").split(b'"commit"')[0]
    assert record_bytes(history.records[0]) == canonical(history.records[0])


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"5", b"{}", b'{"commit":{}}', b'{"commit":{"outbox":[5],"sequence":1}}', b"\xff"],
)
def test_other_bytes_are_no_document(data: Any) -> None:
    with pytest.raises(HistoryCorrupt):
        load(data)


def test_a_blob_with_a_damaged_commit_is_no_document() -> None:
    members = orjson.loads(changes(1).versions[0])
    for damage in [
        {"sequence": "1"},
        {"outbox": [{}]},
        {"outbox": [{"change_id": 5}]},
        {"outbox": 5},
        {"receipts": [[1]]},
        {"receipts": [5]},
        {"position": 5},
        {"position": [1]},
        {"position": [1, "0"]},
        {"position": [1, 0, 0]},
    ]:
        with pytest.raises(MemnetError):
            load(orjson.dumps(members | {"commit": members["commit"] | damage}))
