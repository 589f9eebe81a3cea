"""Assembling: one wave of reads, a second one for what is routed to, the most important first."""

from typing import Any

import pytest

from memnet.adapters.process.no_semantic_router import NoSemanticRouter
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.context.context import AssembleContext
from memnet.domain.core.errors import InvalidIdentifier, ProfileForbidden, ProfileNotFound
from memnet.domain.core.scope import DocumentKey
from memnet.operations.context import assemble_context
from tests.domain.samples import CATALOG
from tests.memory_blobs import storage_of
from tests.operations.service_scenario import ALICE, ALPHA, BOB, DYNAMIC, PROFILE, SCOPE, STATIC, Service, note
from tests.services import service_of

INDEX = [
    {"project_id": "alpha", "aliases": ["Apollo"], "keywords": ["retrieval"]},
    {"project_id": "beta", "aliases": ["Borealis"], "keywords": ["retrieval"]},
    {"project_id": "gone", "aliases": ["Vanished"]},
]


class Similarities:
    """A router with fixed scores."""

    def __init__(self, *scores: float) -> None:
        self.scores = scores
        self.asked: list[Any] = []

    async def score(self, text: Any, candidates: Any) -> Any:
        self.asked.append((text, tuple(candidates)))
        return self.scores


@pytest.fixture
async def filled(service: Any) -> Any:
    """What a user of the starter profile has: both documents about the user, two projects."""
    content = {"profile": {}, "projects_index": INDEX}
    await service.replace(content, key=STATIC, binding_id="user_static", schema_id="memory.user.static")
    await service.patch({"op": "add", "path": "/content/preferences/-", "value": "Short answers."}, key=DYNAMIC)
    for name in ("alpha", "beta"):
        await service.patch(note(f"about {name}"), key=DocumentKey(SCOPE, "projects", f"{name}.json"))
    await service.background.drain()
    service.documents.calls.clear()
    service.documents.most_in_flight = 0
    return service


async def assemble(
    service: Service, text: str = "", *, router: Any = None, catalog: Catalog = CATALOG, **members: Any
) -> Any:
    chosen: dict[str, Any] = {
        "scope": SCOPE,
        "actor": ALICE,
        "profile_id": PROFILE,
        "text": text,
        "explicit_ids": {},
    } | members
    return await assemble_context(
        AssembleContext(**chosen | members),
        service_of(documents=service.documents, catalog=catalog, semantic_router=router or NoSemanticRouter()),
    )


def bindings(answer: Any) -> list[str]:
    return [document.binding_id for document in answer.documents]


def dropped(answer: Any) -> dict[str, str]:
    return {row["binding_id"]: row["reason"] for row in answer.dropped_bindings}


async def test_without_a_project_one_wave(filled: Any) -> None:
    answer = await assemble(filled, "hello")
    assert bindings(answer) == ["user_static", "user_dynamic"]
    assert dropped(answer) == {"project_doc": "not_routed"}
    assert answer.selected == {}
    assert answer.routing_debug["reason"] == "no_match"
    assert (filled.documents.calls, filled.documents.most_in_flight) == ({"get": 2}, 2)


async def test_with_an_explicit_project_one_wave_and_no_routing(filled: Any) -> None:
    answer = await assemble(filled, "about Borealis", explicit_ids={"project_id": "alpha"})
    assert bindings(answer) == ["user_static", "user_dynamic", "project_doc"]
    assert answer.selected == {"project_id": "alpha"}
    assert answer.routing_debug == {"deterministic_score": 1.0, "semantic_score": None, "reason": "explicit_id"}
    assert (filled.documents.calls, filled.documents.most_in_flight) == ({"get": 3}, 3)


async def test_a_routed_project_takes_a_second_wave(filled: Any) -> None:
    answer = await assemble(filled, "How is apollo going?")
    assert bindings(answer) == ["user_static", "user_dynamic", "project_doc"]
    assert answer.selected == {"project_id": "alpha"}
    assert answer.routing_debug["reason"] == "alias_match"
    assert b"about alpha" in answer.documents[2].document
    assert (filled.documents.calls, filled.documents.most_in_flight) == ({"get": 3}, 2)


async def test_unsure_means_no_project(filled: Any) -> None:
    answer = await assemble(filled, "retrieval is slow")
    assert (answer.selected, dropped(answer)) == ({}, {"project_doc": "not_routed"})
    assert answer.routing_debug["reason"] == "ambiguous"
    assert answer.routing_debug["candidates"] == ["alpha", "beta"]


async def test_meaning_is_asked_only_where_words_are_not_enough(filled: Any) -> None:
    router = Similarities(0.1, 0.9)
    answer = await assemble(filled, "retrieval is slow", router=router)
    assert answer.selected == {"project_id": "beta"}
    assert answer.routing_debug["semantic_score"] == 0.9
    assert router.asked == [("retrieval is slow", ("alpha, Apollo, retrieval", "beta, Borealis, retrieval"))]
    for text in ["apollo", "hello", ""]:
        await assemble(filled, text, router=router)
    assert len(router.asked) == 1
    assert (await assemble(filled, "retrieval", router=Similarities(0.5, 0.5))).selected == {}


async def test_a_project_without_a_document_is_selected_and_not_found(filled: Any) -> None:
    answer = await assemble(filled, "the vanished one")
    assert answer.selected == {"project_id": "gone"}
    assert list(answer.dropped_bindings) == [
        {"binding_id": "project_doc", "namespace": "projects", "path": "gone.json", "reason": "document_not_found"}
    ]


async def test_a_deleted_document_is_not_found(filled: Any) -> None:
    await filled.delete((await filled.head(ALPHA)).commit.etag)
    assert dropped(await assemble(filled, "apollo")) == {"project_doc": "document_not_found"}


async def test_an_unreadable_document_is_left_out_and_the_others_are_there(filled: Any) -> None:
    storage = storage_of(filled.documents)
    for key in (DYNAMIC, ALPHA):
        storage.overwrite(key.blob_name, b"{")
    answer = await assemble(filled, explicit_ids={"project_id": "alpha"})
    assert bindings(answer) == ["user_static"]
    assert dropped(answer) == dict.fromkeys(("user_dynamic", "project_doc"), "document_unreadable")
    # Nothing is routed by a document that cannot be read.
    storage.overwrite(STATIC.blob_name, b"[]")
    assert (await assemble(filled, "apollo")).selected == {}


async def test_a_new_user_has_nothing_and_that_is_no_error(service: Any) -> None:
    answer = await assemble(service, "apollo")
    assert bindings(answer) == []
    assert dropped(answer) == {
        "user_static": "document_not_found",
        "user_dynamic": "document_not_found",
        "project_doc": "not_routed",
    }


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({"max_docs": 2}, ["user_static", "user_dynamic"]),
        ({"max_chars_total": 1}, []),
        ({"max_chars_total": 10_000}, ["user_static", "user_dynamic", "project_doc"]),
    ],
)
async def test_what_does_not_fit_is_dropped_from_the_end(filled: Any, limits: Any, kept: Any) -> None:
    answer = await assemble(filled, "apollo", **limits)
    assert bindings(answer) == kept
    assert len(answer.documents) + len(answer.dropped_bindings) == 3
    assert answer.selected == {"project_id": "alpha"}


@pytest.mark.parametrize("value", ["../beta", "a/b", "", ".", "a\n", "{project_id}", "a" * 129])
async def test_an_explicit_id_cannot_leave_its_place(filled: Any, value: Any) -> None:
    with pytest.raises(InvalidIdentifier):
        await assemble(filled, explicit_ids={"project_id": value})
    assert filled.documents.calls == {}


async def test_hints_that_are_no_variable_are_not_for_us(filled: Any) -> None:
    answer = await assemble(filled, "apollo", explicit_ids={"channel": "e mail / chat", "ticket_id": "../x"})
    assert answer.selected == {"project_id": "alpha"}


async def test_the_profile_must_exist_and_admit(filled: Any) -> None:
    with pytest.raises(ProfileNotFound):
        await assemble(filled, profile_id="unknown")
    closed = CATALOG.profile(PROFILE).model_copy(update={"allowed_principals": ("svc-bob",)})
    catalog = Catalog({PROFILE: closed}, CATALOG.schemas)
    with pytest.raises(ProfileForbidden):
        await assemble(filled, catalog=catalog)
    assert bindings(await assemble(filled, catalog=catalog, actor=BOB)) == ["user_static", "user_dynamic"]


async def test_a_profile_without_routing(filled: Any) -> None:
    plain = CATALOG.profile(PROFILE).model_copy(update={"routing": None})
    answer = await assemble(filled, "apollo", catalog=Catalog({PROFILE: plain}, CATALOG.schemas))
    assert (answer.selected, answer.routing_debug["reason"]) == ({}, "profile_has_no_routing")
