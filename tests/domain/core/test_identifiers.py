"""Identifiers, paths and prefixes cannot name a blob outside their own prefix."""

import pytest

from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.scope import (
    MAX_PATH,
    MAX_SEGMENT,
    MAX_SEGMENTS,
    DocumentKey,
    UserScope,
    check_identifier,
    check_not_reserved,
    check_path,
    check_path_prefix,
)
from memnet.domain.core.user_item import ItemKey, ItemKind
from memnet.domain.events.event import PENDING_MARKERS, EventKey

HOSTILE = [
    *("", ".", "..", "...", ".hidden", "-rf", "_x", " a", "a ", "a b", "a\n", "a\r\n", "\na", "a\x00", "a\x00.json"),
    *("a\tb", "a\\b", "..\\a", "%2e%2e", "a%2Fb", "a%00", "~1", "a:b", "a*", "a?b", "a#b", "a&b", "a'b", 'a"b', "a|b"),
    *("a;b", "$a", "a\u00e9", "e\u0301", "\u0430bc", "\uff21", "a\u0660", "a\u00b2", "\u2160", "a\u200b"),
    *("\u202egnp.exe", "\ufeffa", "a" * 129),
    # Azure would store both as "a".
    *("a.", "a..", "a.b."),
]


@pytest.mark.parametrize("value", [*HOSTILE, "a/b", "/", "a/"])
def test_no_identifier(value: str) -> None:
    with pytest.raises(InvalidIdentifier) as refusal:
        check_identifier("tenant_id", value)
    assert refusal.value.details == {"kind": "tenant_id"}


@pytest.mark.parametrize("value", ["a", "0", "A-b_c.d", "a..b", "a-", "a_", "project-alpha.json", "a" * 128])
def test_an_identifier(value: str) -> None:
    assert check_identifier("user_id", value) == value
    assert check_path(value) == value


@pytest.mark.parametrize("segment", HOSTILE)
@pytest.mark.parametrize("form", ["{}", "a/{}/b"])
def test_no_path(segment: str, form: str) -> None:
    with pytest.raises(InvalidIdentifier):
        check_path(form.format(segment))


NO_PATHS = ["/a", "a/", "a//b", "//", "/", "a/../b", "../a", "a/..", "./a", "a/b\n", "/".join("a" * 9)]


@pytest.mark.parametrize("value", [*NO_PATHS, "/".join(["a" * 128] * 4)])
def test_no_path_either(value: str) -> None:
    with pytest.raises(InvalidIdentifier) as refusal:
        check_path(value)
    assert refusal.value.details == {"kind": "path"}


def test_a_client_chooses_no_name_of_the_service() -> None:
    assert check_not_reserved("event_id", "memnet") == "memnet"
    with pytest.raises(InvalidIdentifier) as refusal:
        check_not_reserved("event_id", "memnet-worker")
    assert refusal.value.details == {"kind": "event_id"}


def test_a_path_of_as_many_and_as_long_segments_as_may_be() -> None:
    value = "/".join(["a" * 63] * MAX_SEGMENTS) + "a"
    assert len(value) == MAX_PATH
    assert check_path(value) == value


def test_the_longest_names_are_within_what_azure_takes() -> None:
    longest = "a" * MAX_SEGMENT
    scope = UserScope(longest, longest)
    path = "/".join(["a" * 63] * MAX_SEGMENTS) + "a"
    names = [
        DocumentKey(scope, longest, path).blob_name,
        EventKey(scope, longest).blob_name,
        f"{PENDING_MARKERS}{longest}/{longest}/{longest}/{longest}",
        *(ItemKey(scope, kind, path).blob_name for kind in ItemKind),
    ]
    assert max(map(len, names)) <= 1024


@pytest.mark.parametrize(
    "value", ["", "a", "a/", "a/b", "a.", "tickets/T-", "a" * 128, "a" * 128 + "/", "/".join("a" * 8)]
)
def test_a_prefix_of_some_path(value: str) -> None:
    assert check_path_prefix(value) == value


NO_PREFIXES = ["/", "/a", "a//", "a//b", "../", "a/../", "/".join("a" * 8) + "/", "/".join("a" * 9)]


@pytest.mark.parametrize("value", [*(one for one in HOSTILE[1:] if not one.startswith("a.")), *NO_PREFIXES])
def test_a_prefix_of_no_path(value: str) -> None:
    with pytest.raises(InvalidIdentifier) as refusal:
        check_path_prefix(value)
    assert refusal.value.details == {"kind": "prefix"}


@pytest.mark.parametrize("value", [".", "..", "a/b", "a\n", "", "t1/users/u2", "%2e%2e"])
def test_every_part_of_a_key_is_checked(value: str) -> None:
    with pytest.raises(InvalidIdentifier):
        UserScope(value, "u")
    with pytest.raises(InvalidIdentifier):
        UserScope("t", value)
    with pytest.raises(InvalidIdentifier):
        DocumentKey(UserScope("t", "u"), value, "d.json")


def test_a_key_names_one_blob_and_no_other_key_names_it() -> None:
    keys = [
        DocumentKey(UserScope("t", "u"), "n", "a/b"),
        DocumentKey(UserScope("t", "u"), "n", "a"),
        DocumentKey(UserScope("t", "u"), "a", "n"),
        DocumentKey(UserScope("u", "t"), "n", "a"),
        DocumentKey(UserScope("t", "documents"), "n", "a"),
    ]
    assert len({key.blob_name for key in keys}) == len(keys)
    assert keys[0].blob_name == "tenants/t/users/u/documents/n/a/b"
