"""What an exception says stays out of the workers' logs, whoever formats them."""

import logging

import pytest

from workers import textless_logs

SECRET = "Maya's doctor is called Quist"


@pytest.fixture
def installed() -> None:
    textless_logs.install()
    textless_logs.install()


def test_a_logged_exception_is_its_type_and_place(installed: None, caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger("memnet.any").exception("it failed: %s", "the job")
    (record,) = caplog.records
    told = logging.Formatter().format(record)
    assert SECRET not in told
    assert told.startswith("it failed: the job error=ValueError at ")
    assert told.count("error=") == 1


def test_a_line_without_an_exception_stays_as_it_is(installed: None, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("memnet.any").warning("plain %s", 1)
    assert [record.getMessage() for record in caplog.records] == ["plain 1"]
