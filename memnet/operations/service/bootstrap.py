"""Check every prerequisite of the service, and create those that it can create."""

from memnet.domain.catalog.catalog import Catalog
from memnet.domain.core.errors import CatalogConflict, Unavailable
from memnet.domain.core.prerequisite import BootstrapReport, Finding, PrerequisiteStatus
from memnet.domain.events.index_layout import mismatch
from memnet.operations.catalog import register_catalog
from memnet.ports import IndexMissing, Prerequisites, StoreConflict
from memnet.service import Service
from memnet.stores import CatalogTexts, Search, ensure_index

INDEX = "search: index of events"
CATALOG = "catalog: versions used before"


async def bootstrap(
    service: Service, *, apply: bool, prerequisites: Prerequisites, texts: CatalogTexts
) -> BootstrapReport:
    """Check every prerequisite; with `apply`, first create the container and the index if they are missing.

    Nothing is deleted or changed, so it can run at any time. It raises nothing: a failure is in the findings.
    """
    created: list[str] = []
    container = await prerequisites.container.check()
    if apply and _can_be_created(container):
        try:
            await prerequisites.container.create()
            created.append(container.subject)
        except Unavailable:
            pass  # the next check reports why
        container = await prerequisites.container.check()
    findings = [container, *[await prerequisite.check() for prerequisite in prerequisites.others]]
    findings.append(await _catalog(service.catalog, texts))
    index = await _index(service.search)
    if apply and _can_be_created(index):
        try:
            await ensure_index(service.search, service.ids)
            created.append(index.subject)
        except (Unavailable, StoreConflict):
            pass
        index = await _index(service.search)
    findings.append(index)
    return BootstrapReport(tuple(findings), tuple(created))


async def _catalog(catalog: Catalog, texts: CatalogTexts) -> Finding:
    """Check that the text of each used version of the catalog is unchanged."""
    try:
        await register_catalog(catalog, texts=texts, create=False)
    except CatalogConflict as error:
        return Finding(CATALOG, PrerequisiteStatus.WRONG, error.message)
    except Unavailable:
        return Finding(CATALOG, PrerequisiteStatus.UNKNOWN, "the storage must respond first")
    return Finding(CATALOG, PrerequisiteStatus.READY)


def _can_be_created(finding: Finding) -> bool:
    return finding.creatable and finding.standing is PrerequisiteStatus.MISSING


async def _index(search: Search) -> Finding:
    """Check that the serving index exists and has the current definition."""
    try:
        layout = await search.register.recent()
        if layout is None:
            return Finding(INDEX, PrerequisiteStatus.MISSING, "no event has been indexed yet", creatable=True)
        if problem := mismatch(layout, search.model, search.dimensions):
            return Finding(INDEX, PrerequisiteStatus.WRONG, problem)
        is_current = await search.index.matches(layout.serving)
    except IndexMissing:
        return Finding(INDEX, PrerequisiteStatus.WRONG, "the serving index does not exist: run memnet search reindex")
    except Unavailable as error:
        silent = "search service" if error.details.get("dependency") == "search" else "storage"
        return Finding(INDEX, PrerequisiteStatus.UNKNOWN, f"the {silent} must respond first")
    if not is_current:
        problem = f"{layout.serving.name} has an outdated definition: run memnet search reindex"
        return Finding(INDEX, PrerequisiteStatus.WRONG, problem)
    return Finding(INDEX, PrerequisiteStatus.READY, layout.serving.name)
