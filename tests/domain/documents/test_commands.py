"""A request's own identity: what a retry may change and still be the same request."""

import dataclasses
from typing import Any

import pytest
from pydantic import ValidationError

from memnet.domain.core.access import Reason
from memnet.domain.core.canonical_json import parse
from memnet.domain.core.evidence import MAX_MESSAGE_IDS, Evidence
from memnet.domain.core.scope import DocumentKey, ETag, UserScope
from memnet.domain.documents import commit
from memnet.domain.documents.commands import IfAbsent, IfMatch
from tests.domain.samples import EVIDENCE, KEY, NOW, delete_command, op, patch_command, replace_command

SET = op("add", "/content/n", value=1)


def test_what_the_request_hash_ignores() -> None:
    command = patch_command(SET, evidence=EVIDENCE)
    ignored: list[dict[str, Any]] = [
        {"precondition": IfMatch(ETag('"5-0123456789abcdef"'))},
        {"dry_run": True},
        {"idempotency_key": "another"},
        {"ops": [dict(reversed(SET.items()))]},
        {"ops": [parse(b'{ "value": 1,\n "op": "\\u0061dd", "path": "/content/n" }')]},
        {"evidence": dict(reversed(EVIDENCE.items()))},
    ]
    for members in ignored:
        assert dataclasses.replace(command, **members).request_hash() == command.request_hash()


def test_what_changes_the_request_hash() -> None:
    patch = patch_command(SET)
    ops = [
        [SET, SET],
        [op("add", "/content/n", value=True)],
        [op("add", "/content/n", value=1.0)],
        [SET | {"x": 1}],
        [],
    ]
    variants: list[Any] = [dataclasses.replace(patch, ops=other) for other in ops]
    changed: list[dict[str, Any]] = [{"profile_id": "b", "binding_id": "p"}, {"profile_id": "pb", "binding_id": ""}]
    changed += [{"binding_id": "b2"}, {"reason": Reason.REPLAY_UPDATE}, {"evidence": {}}]
    changed += [{"confidence": 0.0}, {"source_time": NOW}]
    variants += [dataclasses.replace(patch, **members) for members in changed]
    put = replace_command({"n": 1})
    variants += [put, replace_command({"n": 1}, note=""), replace_command({"n": 1}, evidence={})]
    variants += [replace_command({"n": 2}), replace_command({"n": 1}, schema_id="any1", schema_version=".0.0")]
    variants += [delete_command(IfAbsent()), delete_command(IfAbsent(), note="x")]
    assert len({command.request_hash() for command in [patch, *variants]}) == len(variants) + 1


def test_evidence_names_a_bounded_number_of_messages() -> None:
    Evidence(message_ids=["m"] * MAX_MESSAGE_IDS)
    with pytest.raises(ValidationError):
        Evidence(message_ids=["m"] * (MAX_MESSAGE_IDS + 1))


def test_a_key_belongs_to_one_document_and_one_principal() -> None:
    keys = [
        KEY,
        DocumentKey(KEY.scope, "n", "d2.json"),
        DocumentKey(KEY.scope, "n2", "d.json"),
        DocumentKey(UserScope("t1", "u2"), "n", "d.json"),
        DocumentKey(UserScope("t2", "u1"), "n", "d.json"),
    ]
    hashes = {commit.key_hash(key, "svc-a", "k") for key in keys}
    others = {commit.key_hash(KEY, *own) for own in [("svc-a", "k2"), ("svc-b", "k"), ("svc-a\nk", ""), ("", "svc-ak")]}
    assert len(hashes | others) == len(keys) + 4
