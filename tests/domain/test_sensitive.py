"""Secrets are told by their names and their forms, and left out; what is not seen is found."""

import subprocess
import sys

import pytest

from memnet.domain.sensitive import is_sensitive, without_secrets
from memnet.domain.unseen import holds_unseen, without_unseen


def test_a_long_text_of_half_secrets_is_read_once() -> None:
    """Read anew from every beginning of a token it would take an hour."""
    program = "from memnet.domain.sensitive import is_sensitive; assert not is_sensitive('eyJ-' * 500_000)"
    subprocess.run([sys.executable, "-c", program], timeout=120, check=True)


@pytest.mark.parametrize(
    "text",
    [
        "My password is hunter2.",
        "the PASSWORDS are in the vault",
        "it's the api-key of staging",
        "API_KEY=abc",
        "my PIN is easy",
        "my pin is 4711",
        "pin: 4711",
        "use card 4111 1111 1111 1111",
        "use card 4111-1111-1111-1111 now",
        "IBAN please",
        "DE89 3704 0044 0532 0130 00",
        "078-05-1120",
        "sk-abcdefghijklmnopqrstuv",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJhbGciOiJI.eyJzdWIiOiIx.abc",
        "-----BEGIN RSA PRIVATE KEY-----",
        "https://maya:hunter2@example.com/",
    ],
)
def test_what_names_or_looks_like_a_secret_is_sensitive(text: str) -> None:
    assert is_sensitive(text)


@pytest.mark.parametrize(
    "text",
    [
        "The launch is on 20 March.",
        "We pin the version to 1.2.3.",
        "Pinning is fine, and so is a spinning wheel.",
        "Ticket 4111 1111 1111 1112 is open.",
        "The run took 1234567890123456789012345 steps.",
        "https://example.com/a:b@c",
        "Call 030 1234567.",
        "",
    ],
)
def test_other_texts_are_not(text: str) -> None:
    assert not is_sensitive(text)


def test_a_profile_adds_names_and_its_pointers_are_none() -> None:
    denied = ("pin", "bank_account", "/timeline/*/internal")

    assert is_sensitive("We pin it.", denied)
    assert is_sensitive("his bank account", denied)
    assert is_sensitive("his bank-accounts", denied)
    assert not is_sensitive("an internal timeline", denied)
    assert not is_sensitive("bankaccountant", denied)


def test_the_sentences_without_secrets_stay() -> None:
    text = "The launch moved. My password is x! It is in March?\nThe pin code is 1.\nThanks"

    assert without_secrets(text) == "The launch moved. It is in March? Thanks"
    assert without_secrets("The launch moved.", ["launch"]) == ""


@pytest.mark.parametrize("text", ["a\x00", "a\u202eb", "a\u200bb", "\ufeff", "\U000e0041", "\ue000", "\ufe01", "\x85"])
def test_characters_that_nobody_sees_are_found_and_taken_out(text: str) -> None:
    assert holds_unseen(text)
    assert not holds_unseen(without_unseen(text))


def test_joiners_belong_within_words_and_emoji_but_not_in_rows() -> None:
    assert not holds_unseen("\u0645\u06cc\u200c\u062e 👩\u200d👩 ❤\ufe0f")
    assert holds_unseen("a\u200c\u200d\u200cb")


def test_what_is_left_stands_in_one_line() -> None:
    assert without_unseen(" a\n\tb\x00c ") == "a b c"
