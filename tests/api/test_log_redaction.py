"""Records hold no text of an exception and no value that a library has logged, whatever handles them."""

import asyncio
import gc
import io
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from memnet import log_redaction
from memnet.domain.core.job import JobKind
from memnet.log_redaction import WITHHELD, LogSafe, exportable_message

MEMORY = "Jane prefers tea"


@pytest.fixture
def log(restored_logging: None) -> Iterator[io.StringIO]:
    """What a handler that knows nothing of this writes, while every library talks as much as it can."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
    log_redaction.install("debug")
    logging.getLogger().setLevel(logging.DEBUG)
    logging.getLogger().addHandler(handler)
    yield written
    logging.getLogger().removeHandler(handler)


def fail() -> None:
    try:
        raise KeyError(MEMORY)
    except KeyError as cause:
        raise ValueError(f"what is {MEMORY}") from cause


@pytest.mark.parametrize("name", ["memnet.operations.events.write_event", "azure.core", "uvicorn.error"])
def test_an_exception_is_logged_by_its_type_and_its_frames(log: io.StringIO, name: str) -> None:
    try:
        fail()
    except ValueError:
        logging.getLogger(name).exception("it failed")
    told = log.getvalue()
    assert MEMORY not in told
    assert "ValueError" in told
    assert "in fail" in told


def test_messages_of_the_service_are_logged_whole(log: io.StringIO) -> None:
    logging.getLogger("memnet.models").warning("provider %d: %s", 1, "APIConnectionError")
    assert log.getvalue() == "memnet.models WARNING provider 1: APIConnectionError\n"


@pytest.mark.parametrize("name", ["azure.servicebus._pyamqp", "memnetx", "root", "py.warnings"])
def test_a_library_s_message_is_logged_by_origin_without_its_values(log: io.StringIO, name: str) -> None:
    logging.getLogger(name).debug("frame %s of %r", MEMORY, {"token": MEMORY})
    logging.getLogger(name).debug("%(token)s", {"token": MEMORY})
    logging.getLogger(name).error(f"could not send {MEMORY}")
    logging.getLogger(name).error(ValueError(MEMORY))
    words, named, text, error = log.getvalue().splitlines()
    assert words.startswith(f"{name} DEBUG test_log_redaction.py:")
    assert words.endswith(" frame %s of %r")
    assert named.endswith(" %(token)s")
    assert text.endswith(f" {WITHHELD}")
    assert error.endswith(f" {WITHHELD}")
    assert MEMORY not in log.getvalue()


def test_libraries_are_heard_from_warnings_on(restored_logging: None) -> None:
    log_redaction.install("debug")
    for name in ("azure.core.pipeline", "openai", "httpx", "asyncio", "some.library"):
        assert not logging.getLogger(name).isEnabledFor(logging.INFO)
        assert logging.getLogger(name).isEnabledFor(logging.WARNING)
    assert logging.getLogger("memnet.requests").isEnabledFor(logging.DEBUG)
    assert logging.getLogger("uvicorn.error").isEnabledFor(logging.INFO)
    assert not logging.getLogger("uvicorn.error").isEnabledFor(logging.DEBUG)
    log_redaction.install("error")
    assert not logging.getLogger("memnet.requests").isEnabledFor(logging.WARNING)
    assert not logging.getLogger("azure").isEnabledFor(logging.WARNING)


async def test_uncaught_exceptions_go_to_the_log(log: io.StringIO) -> None:
    class Lost:
        def __del__(self) -> None:
            fail()

    async def lose() -> None:
        fail()

    try:
        fail()
    except ValueError as error:
        sys.excepthook(ValueError, error, error.__traceback__)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    Lost()
    await asyncio.wait([asyncio.create_task(lose())])
    gc.collect()
    await asyncio.sleep(0)
    assert log.getvalue().count("\nValueError\n") == 4
    assert MEMORY not in log.getvalue()


def test_a_warning_of_python_goes_to_the_log(log: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        log_redaction.install("info")
        warnings.warn(MEMORY, stacklevel=1)
    assert "py.warnings WARNING" in log.getvalue()
    assert MEMORY not in log.getvalue()


def test_a_record_that_cannot_be_written_is_not_printed(log: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger("memnet").info("one %s of %s", MEMORY)
    assert MEMORY not in log.getvalue() + capsys.readouterr().err


@dataclass(frozen=True)
class Report:
    """The report of a timer."""

    done: int
    kind: JobKind | None = None


@pytest.mark.parametrize(
    ("message", "values", "exported"),
    [
        ("nothing else", (), "nothing else"),
        ("%s is %d of %.1f", (JobKind.REPLAY, 3, 4.5), "replay is 3 of 4.5"),
        ("%s: %s", (LogSafe("sweep"), Report(7)), "sweep: Report(done=7, kind=None)"),
        ("%s", ({MEMORY: MEMORY},), "…"),
        ("%s and %s", (MEMORY, ["x"]), "… and …"),
        ("%s", (Report(1, MEMORY),), "…"),  # type: ignore[arg-type]
        ("%d tries", (MEMORY,), "%d tries"),
        ("%(who)s %(times)d", ({"who": MEMORY, "times": 2},), "… 2"),
        ("%s %s", ("one",), "%s %s"),
        (ValueError(MEMORY), (), WITHHELD),
    ],
)
def test_an_exported_message_has_only_numbers_enum_members_and_own_words(
    log: io.StringIO, message: object, values: tuple[object, ...], exported: str
) -> None:
    record = logging.getLogger("memnet").makeRecord("memnet", logging.INFO, "f", 1, message, values, None)
    assert exportable_message(record) == exported


def test_ctrl_c_is_no_failure(log: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert log.getvalue() == ""
    assert "KeyboardInterrupt" in capsys.readouterr().err
