"""`memnet audit blame` on Azurite: who wrote each value, for people and as JSON."""

import json

import pytest

from tests.cli.conftest import OF_USER, Memnet

DOCUMENT = "user/user_dynamic.json"


@pytest.mark.usefixtures("history")
def test_each_value_is_printed_with_its_change_and_the_values_before(memnet: Memnet) -> None:
    result = memnet("audit", "blame", *OF_USER, DOCUMENT, "--pointer", "/content/preferences")
    assert result.exit_code == 0, result.output
    first, *rest = result.stdout.splitlines()
    assert first.startswith("/content/preferences")
    assert any("svc-a at " in line and "live_update" in line for line in rest)
    assert rest[-1].endswith(("value", "values"))


@pytest.mark.usefixtures("history")
def test_the_values_are_printed_as_the_api_returns_them(memnet: Memnet) -> None:
    result = memnet("audit", "blame", *OF_USER, DOCUMENT, "--json")
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert rows[0]["pointer"] == "/content"
    assert {row["recorded_by"] for row in rows} == {"svc-a"}
    (then,) = {row["change_id"] for row in rows if row["sequence"] == 1}
    earlier = memnet("audit", "blame", *OF_USER, DOCUMENT, "--json", "--as-of", then)
    assert {json.loads(line)["sequence"] for line in earlier.stdout.splitlines()} == {1}


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((DOCUMENT, "--pointer", "/content/nothing"), "no value at this pointer, pointer: /content/nothing"),
        (("user/none.json",), "DOCUMENT_NOT_FOUND"),
        ((DOCUMENT, "--pointer", "/updated_by"), "MALFORMED_REQUEST"),
        ((DOCUMENT, "--pointer", "/content/~2"), "MALFORMED_REQUEST"),
        ((DOCUMENT, "--as-of", "yesterday"), "MALFORMED_REQUEST: as_of must be"),
    ],
)
def test_what_is_not_there_exits_with_1(memnet: Memnet, arguments: tuple[str, ...], code: str) -> None:
    result = memnet("audit", "blame", *OF_USER, *arguments)
    assert result.exit_code == 1
    assert code in result.stderr


@pytest.mark.usefixtures("history")
def test_a_document_without_a_path_is_refused(memnet: Memnet) -> None:
    result = memnet("audit", "blame", *OF_USER, "no-path")
    assert result.exit_code == 2
    assert "must have a namespace and a path" in result.stderr
