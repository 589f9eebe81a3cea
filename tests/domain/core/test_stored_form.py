"""Stored bytes of another form are one error, which names what cannot be read."""

import pytest

from memnet.domain.core.errors import HistoryCorrupt
from memnet.domain.documents import envelope
from memnet.domain.governance import retraction
from memnet.domain.governance.withdrawn import load_closed
from memnet.domain.replay import conflict, replay

OTHER_FORMS = (b"", b"\xff", b"[]", b"{}", b"null", b'"text"', b'{"tenant_id":"no/id","user_id":"u"}')
SOURCES = (b'{"sources":[{"retraction_id":"one","source":"text"}]}', b'{"sources":[{"retraction_id":"one"}]}')


@pytest.mark.parametrize("data", OTHER_FORMS)
@pytest.mark.parametrize("load", [envelope.load, retraction.load, conflict.load, replay.load, load_closed])
def test_bytes_of_another_form_are_corrupt(load: object, data: bytes) -> None:
    assert callable(load)
    with pytest.raises(HistoryCorrupt, match="cannot be read"):
        load(data)


@pytest.mark.parametrize("data", SOURCES)
def test_closed_sources_of_another_form_are_corrupt(data: bytes) -> None:
    with pytest.raises(HistoryCorrupt, match="cannot be read"):
        load_closed(data)
