"""Check a migration before it runs: its form, and its results for its examples."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from memnet.domain.catalog.migration_model import Migration, Source, Target, place
from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.profile_check import check_family, overlap
from memnet.domain.catalog.schema import Schema
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import MemnetError
from memnet.domain.core.scope import Json
from memnet.domain.core.violations import Problem
from memnet.domain.governance.migration_functions import check_steps, make

Schemas = Mapping[tuple[str, str], Schema]


def check_migration(migration: Migration, schemas: Schemas) -> Iterator[Problem]:
    """Yield every problem; `schemas` are the known ones."""
    parts: list[tuple[str, Source | Target]] = [(f"/sources/{n}", source) for n, source in migration.sources.items()]
    parts += [(f"/targets/{i}", target) for i, target in enumerate(migration.targets)]
    for at, part in parts:
        yield from check_family(at, part)
        if (part.schema_id, part.schema_version) not in schemas:
            yield Problem(f"{at}/schema_version", f"there is no schema {part.schema_id}/{part.schema_version}")
    yield from _check_places(migration, parts)
    yield from _check_variables(migration)
    for index, target in enumerate(migration.targets):
        problems = check_steps(target, migration.sources)
        yield from (Problem(f"/targets/{index}{p.pointer}", p.reason) for p in problems)


def _check_places(migration: Migration, parts: list[tuple[str, Source | Target]]) -> Iterator[Problem]:
    if migration.in_place:
        source, target = next(iter(migration.sources.values())), migration.targets[0]
        if len(migration.sources) > 1 or len(migration.targets) > 1:
            yield Problem("", "migrates in place: it must have one source and one target")
        elif (source.schema_id, source.schema_version) == (target.schema_id, target.schema_version):
            yield Problem("/targets/0/schema_version", "is the source's version: a migration in place must change it")
        elif not source.required:
            yield Problem("/sources", "the source must be required")
        return
    if not any(source.required for source in migration.sources.values()):
        yield Problem("/sources", "at least one is required")
    for (first, a), (second, b) in combinations(parts, 2):
        if overlap(a, b):
            yield Problem(second, f"covers a document of {first}")


def _check_variables(migration: Migration) -> Iterator[Problem]:
    variables = {variable for family in migration.families if (variable := family.variable())}
    if len(variables) > 1:
        yield Problem("", f"has more than one variable: {', '.join(sorted(variables))}")
    # A found document must name all the others: a fixed document does not name the member of a family.
    if variables and any(family.variable() is None for family in migration.families):
        yield Problem("", "if one path has a variable, all must have it")


def check_migration_examples(examples: Json, migration: Migration, schemas: Schemas) -> Iterator[Problem]:
    """Yield where the migration makes something else than [{"sources": {name: document}, "targets": [content]}]."""
    if not isinstance(examples, list):
        yield Problem("", 'must be [{"sources": {...}, "targets": [...]}]')
        return
    for index, example in enumerate(examples):
        yield from (Problem(f"/{index}{p.pointer}", p.reason) for p in _check_example(example, migration, schemas))


def _check_example(example: Json, migration: Migration, schemas: Schemas) -> Iterator[Problem]:
    sources = example.get("sources") if isinstance(example, dict) else None
    targets = example.get("targets") if isinstance(example, dict) else None
    if not isinstance(sources, dict) or not isinstance(targets, list) or len(targets) != len(migration.targets):
        yield Problem("", f'must be {{"sources": {{...}}, "targets": [...]}} with {len(migration.targets)} targets')
        return
    for name, source in migration.sources.items():
        if name in sources or source.required:
            yield from _check_source(sources.get(name), source, schemas, f"/sources/{name}")
    for index, target in enumerate(migration.targets):
        yield from _check_target(sources, targets[index], target, schemas, f"/targets/{index}")


def _check_source(document: Json, source: Source, schemas: Schemas, at: str) -> Iterator[Problem]:
    if not isinstance(document, dict) or ROOT not in document:
        yield Problem(at, 'must be a document with "content"')
        return
    for violation in schemas[source.schema_id, source.schema_version].violations(document[ROOT]):
        yield Problem(f"{at}/{ROOT}{violation.pointer}", f"violates the schema: {violation.message}")


def _check_target(sources: Json, wanted: Json, target: Target, schemas: Schemas, at: str) -> Iterator[Problem]:
    try:
        made = make(target, sources)
    except MemnetError as error:
        yield Problem(at, f"step {error.details.get('op_index')}: {error.message}")
        return
    for violation in schemas[target.schema_id, target.schema_version].violations(made):
        yield Problem(f"{at}{violation.pointer}", f"the result violates the schema: {violation.message}")
    if canonical(made) != canonical(wanted):
        yield Problem(at, f"differs from the result: {canonical(made).decode()}")


def check_unambiguous(migrations: Mapping[str, Migration]) -> Iterator[tuple[str, Problem]]:
    """Yield (migration_id, problem) where two migrations make the same version of a document."""
    steps: dict[tuple[object, ...], str] = {}
    for name, migration in sorted(migrations.items()):
        if migration.in_place:
            target = migration.targets[0]
            made = (*place(target), target.schema_id, target.schema_version)
            if made in steps:
                yield name, Problem("/targets/0", f"is already made by {steps[made]}")
            steps.setdefault(made, name)
