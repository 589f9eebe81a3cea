"""Looking at what the service needs, and making what it can."""

from collections.abc import Callable
from typing import Any

import pytest

from memnet.adapters.memory.event_index import MemoryEventIndex
from memnet.adapters.memory.ids import SequentialIds
from memnet.adapters.memory.prerequisites import MemoryPrerequisite
from memnet.domain.catalog.catalog import TextKind, TextName
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.prerequisite import BootstrapReport, PrerequisiteStatus
from memnet.domain.events.index_layout import LAYOUT, IndexVersion, Layout, dump_layout
from memnet.operations.service import bootstrap as module
from memnet.operations.service.bootstrap import INDEX, bootstrap
from memnet.ports import Prerequisites
from memnet.stores import CatalogTexts, ErasureStore, Search, SearchRegister
from tests.domain.samples import CATALOG
from tests.memory_blobs import memory_blobs
from tests.services import service_of


class World:
    """A container that is missing, a queue that is there, and a search service without an index."""

    def __init__(self) -> None:
        self.container = MemoryPrerequisite("container", PrerequisiteStatus.MISSING, creatable=True)
        self.queue = MemoryPrerequisite("queue")
        self.texts = CatalogTexts(memory_blobs())
        self.index, self.register, self.ids = (
            MemoryEventIndex(),
            SearchRegister(memory_blobs(), fresh_seconds=0),
            SequentialIds(),
        )

    async def run(self, *, apply: bool) -> BootstrapReport:
        prerequisites = Prerequisites(self.container, [self.queue])
        return await bootstrap(
            service_of(
                search=Search(self.index, self.register, ErasureStore(memory_blobs())), catalog=CATALOG, ids=self.ids
            ),
            apply=apply,
            prerequisites=prerequisites,
            texts=self.texts,
        )

    async def standing(self, subject: str) -> tuple[PrerequisiteStatus, str]:
        report = await self.run(apply=False)
        (finding,) = [finding for finding in report.findings if finding.subject == subject]
        return finding.standing, finding.detail


@pytest.fixture
def world() -> World:
    return World()


def subjects(findings: object) -> list[str]:
    return [finding.subject for finding in findings]  # type: ignore[attr-defined]


async def test_a_check_changes_nothing_and_lists_what_can_be_created(world: World) -> None:
    for _ in range(2):
        report = await world.run(apply=False)
        assert not report.ready
        assert subjects(report.to_create) == ["container", INDEX]
        assert (report.by_hand, report.created) == ([], ())
    assert await world.register.recent() is None


async def test_missing_prerequisites_are_created_once(world: World) -> None:
    made = await world.run(apply=True)
    assert (made.ready, made.created) == (True, ("container", INDEX))
    layout = await world.register.recent()
    again = await world.run(apply=True)
    assert (again.ready, again.created, again.to_create) == (True, (), [])
    assert await world.register.recent() == layout


@pytest.mark.parametrize(
    "standing",
    [PrerequisiteStatus.MISSING, PrerequisiteStatus.WRONG, PrerequisiteStatus.DENIED, PrerequisiteStatus.UNREACHABLE],
)
async def test_what_the_service_cannot_create_is_left_to_an_operator(
    world: World, standing: PrerequisiteStatus
) -> None:
    world.queue.standing = standing
    report = await world.run(apply=True)
    assert not report.ready
    assert subjects(report.by_hand) == ["queue"]
    assert world.queue.standing is standing


async def test_a_container_that_cannot_be_created_stays_missing(world: World) -> None:
    world.container.refuses = True
    report = await world.run(apply=True)
    assert not report.ready
    assert report.created == (INDEX,)
    assert subjects(report.to_create) == ["container"]


async def test_a_denied_container_is_not_created(world: World) -> None:
    world.container.standing = PrerequisiteStatus.DENIED
    report = await world.run(apply=True)
    assert subjects(report.by_hand) == ["container"]
    assert "container" not in report.created


async def serve(world: World, version: IndexVersion) -> None:
    await world.register.write(LAYOUT, dump_layout(Layout(version)), replaces=None)


async def test_a_missing_serving_index_is_not_created_empty(world: World) -> None:
    """An empty one would look whole, and find nothing: the events have to go back into it."""
    await serve(world, IndexVersion("events-1"))
    assert await world.standing(INDEX) == (
        PrerequisiteStatus.WRONG,
        "the serving index does not exist: run memnet search reindex",
    )
    report = await world.run(apply=True)
    assert (report.ready, report.created) == (False, ("container",))


async def test_an_outdated_index_definition_is_reported(world: World) -> None:
    await world.index.create(IndexVersion("events-1", "model", 3))
    await serve(world, IndexVersion("events-1"))
    standing, detail = await world.standing(INDEX)
    assert standing is PrerequisiteStatus.WRONG
    assert "events-1 has an outdated definition" in detail


async def test_an_index_for_other_embeddings_is_reported(world: World) -> None:
    await world.index.create(IndexVersion("events-1", "model", 3))
    await serve(world, IndexVersion("events-1", "model", 3))
    standing, detail = await world.standing(INDEX)
    assert standing is PrerequisiteStatus.WRONG
    assert "configured is no embeddings" in detail


@pytest.mark.parametrize(("dependency", "reported"), [("search", "search service"), ("blob_storage", "storage")])
async def test_an_unavailable_index_is_unknown(
    world: World, monkeypatch: pytest.MonkeyPatch, dependency: str, reported: str
) -> None:
    def failing(_: object) -> Callable[..., object]:
        async def fail(*_: object) -> None:
            raise Unavailable(dependency=dependency)

        return fail

    await serve(world, IndexVersion("events-1"))
    if dependency == "search":
        monkeypatch.setattr(world.index, "matches", failing(0))
    else:
        monkeypatch.setattr(world.register, "recent", failing(0))
    assert await world.standing(INDEX) == (PrerequisiteStatus.UNKNOWN, f"the {reported} must respond first")
    assert not (await world.run(apply=True)).ready


async def test_a_changed_catalog_text_is_named(world: World) -> None:
    assert await world.standing(module.CATALOG) == (PrerequisiteStatus.READY, "")
    name = TextName(TextKind.SCHEMA, "memory.project", "1.0.0")
    assert await world.texts.read(name) is None
    await world.texts.create(name, b"{}")
    standing, detail = await world.standing(module.CATALOG)
    assert standing is PrerequisiteStatus.WRONG
    assert detail.startswith("Used before with a different text: schema memory.project 1.0.0. Raise the version")


async def test_without_the_storage_the_catalog_is_unknown(world: World, monkeypatch: Any) -> None:
    async def read(name: TextName) -> bytes | None:
        raise Unavailable

    monkeypatch.setattr(world.texts, "read", read)
    assert (await world.standing(module.CATALOG))[0] is PrerequisiteStatus.UNKNOWN
