"""The cache of recent documents: what it keeps, and its bound."""

from typing import Any

import pytest

from memnet.domain.core.scope import DocumentKey, StorageETag, UserScope
from memnet.ports import StoredBlob
from memnet.stores.document_cache import ENTRY_BYTES, DocumentCache


def key(name: str) -> DocumentKey:
    return DocumentKey(UserScope("t1", "u1"), "user", name)


def document(size: int) -> StoredBlob:
    return StoredBlob(b"x" * size, StorageETag('"1"'))


def kept(cache: DocumentCache, *names: str) -> list[str]:
    return [name for name in names if cache.recall(key(name)) is not None]


def test_what_is_remembered_is_recalled_until_forgotten() -> None:
    cache = DocumentCache(10_000)
    one = document(10)
    cache.remember(key("a"), one)
    assert cache.recall(key("a")) is one
    cache.forget(key("a"))
    cache.forget(key("a"))
    assert cache.recall(key("a")) is None


def test_the_least_recently_used_goes_first() -> None:
    cache = DocumentCache(2 * (ENTRY_BYTES + 2 * 10))
    cache.remember(key("a"), document(10))
    cache.remember(key("b"), document(10))
    cache.recall(key("a"))
    cache.remember(key("c"), document(10))
    assert kept(cache, "a", "b", "c") == ["a", "c"]


def test_replacing_and_forgetting_give_their_bytes_back() -> None:
    cache = DocumentCache(2 * (ENTRY_BYTES + 2 * 10))
    for _ in range(5):
        cache.remember(key("a"), document(10))
    cache.remember(key("b"), document(10))
    assert kept(cache, "a", "b") == ["a", "b"]
    cache.forget(key("b"))
    cache.remember(key("c"), document(10))
    assert kept(cache, "a", "c") == ["a", "c"]


@pytest.mark.parametrize("max_bytes", [0, 1000])
def test_an_entry_larger_than_the_bound_is_not_kept(max_bytes: Any) -> None:
    cache = DocumentCache(max_bytes)
    cache.remember(key("a"), document(2000))
    assert kept(cache, "a") == []


def test_a_document_that_outgrew_the_bound_leaves_no_old_version() -> None:
    cache = DocumentCache(ENTRY_BYTES + 2 * 10)
    cache.remember(key("a"), document(10))
    cache.remember(key("a"), document(11))
    assert cache.recall(key("a")) is None
