"""What a worker sets for its whole process is taken back after each test."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def record_factory() -> Iterator[None]:
    """The factory of log records."""
    before = logging.getLogRecordFactory()
    yield
    logging.setLogRecordFactory(before)
