"""Read profiles/, schemas/, prompts/, cues/, rankers/ and migrations/ into one frozen Catalog, or report every fault.

profiles/<profile_id>.json                     with `extends`, joined with its base
profiles/released.json                         {"<profile_id>/<version>": SHA-256}: what must not change
schemas/<schema_id>/<version>.json             a JSON Schema, Draft 2020-12
schemas/<schema_id>/<version>.examples.json    {"valid": [...], "invalid": [...]}: contents it must accept or refuse
schemas/released.json                          as for profiles
prompts/<prompt_id>/<version>.md               the instructions of a model that extracts memory
prompts/released.json                          as for profiles
cues/<language>/<version>.json                 the phrases by which memory is extracted without a model
cues/released.json                             as for profiles
rankers/<ranker_id>/<version>.json             the weights and constants by which a recall ranks
rankers/released.json                          as for profiles
retention/ceilings.json                        limits of what profiles may say about retention
migrations/<migration_id>.json                 which documents become which
migrations/<migration_id>.examples.json        [{"sources": {...}, "targets": [...]}]: the expected results
migrations/released.json                       {"<migration_id>": SHA-256}
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from memnet.catalog_files import (
    EXAMPLES,
    FindFaults,
    Reading,
    folders,
    no_faults,
    read_digests,
    read_part,
)
from memnet.catalog_files import RELEASED as RELEASED
from memnet.catalog_files import CatalogError as CatalogError
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.cue_set import CueFile, CueSet, check_cues
from memnet.domain.catalog.migration_model import Migration
from memnet.domain.catalog.prompt import Prompt, read_prompt
from memnet.domain.catalog.ranker import Ranker, RankerFile, check_default_ranker, check_named_rankers, check_ranker
from memnet.domain.catalog.retention_policy import Ceilings
from memnet.domain.catalog.rule_types import ProfilePart
from memnet.domain.catalog.rules_check import CatalogNames, check_ceilings, check_rules
from memnet.domain.catalog.schema import (
    InvalidSchema,
    Schema,
    check_examples,
    check_released,
    check_schema,
    referenced,
    schema_uri,
)
from memnet.domain.catalog.turn_check import check_turns
from memnet.domain.core.scope import SEGMENT, Json
from memnet.domain.core.violations import Problem
from memnet.domain.governance.migration_check import check_migration, check_migration_examples, check_unambiguous
from memnet.profile_files import read_profiles

CUES = Path(__file__).parents[1] / "cues"
"""The cues that ship."""
RANKERS = Path(__file__).parents[1] / "rankers"
"""The rankers that ship."""
SchemaKey = tuple[str, str]
PromptKey = tuple[str, str]
CuesKey = tuple[str, str]
RankerKey = tuple[str, str]
T = TypeVar("T")
P = TypeVar("P", bound=ProfilePart)


def load_catalog(
    profiles_dir: Path,
    schemas_dir: Path,
    prompts_dir: Path,
    migrations_dir: Path | None = None,
    retention_file: Path | None = None,
    find_faults: FindFaults = no_faults,
    *,
    cues_dir: Path = CUES,
    rankers_dir: Path = RANKERS,
) -> Catalog:
    """Read and check everything; without `migrations_dir` there are no migrations, without `retention_file` no limits.

    `find_faults` checks the texts of profiles and schemas, which models read. Raises CatalogError with every problem of
    every file.
    """
    reading = Reading(find_faults)
    schemas, unusable = _read_schemas(reading, schemas_dir)
    prompts, unreadable = _read_prompts(reading, prompts_dir)
    cues, broken = _read_cues(reading, cues_dir)
    rankers, faulty = _read_rankers(reading, rankers_dir)
    reading.report(rankers_dir, *check_default_ranker(rankers.keys() | faulty))
    named = CatalogNames(prompts.keys() | unreadable, {key: found.forms for key, found in cues.items()}, broken)
    files = read_profiles(reading, profiles_dir, schemas, unusable, named)
    migrations = {} if migrations_dir is None else _read_migrations(reading, migrations_dir, schemas)
    ceilings = Ceilings() if retention_file is None else _read_ceilings(reading, retention_file)
    for profile in files.profiles.values():
        rules = (*check_rules(profile, ceilings), *check_turns(profile, files.profiles))
        files.report(profile, *rules, *check_named_rankers(profile, rankers.keys() | faulty))
    reading.stop()
    return Catalog(files.profiles, schemas, prompts, migrations, ceilings, cues, rankers)


def load_schemas(schemas_dir: Path, find_faults: FindFaults = no_faults) -> Mapping[SchemaKey, Schema]:
    """Read and check the schemas alone. Raises CatalogError with every problem of every file."""
    return _checked(lambda reading: _read_schemas(reading, schemas_dir)[0], find_faults)


def load_prompts(prompts_dir: Path) -> Mapping[PromptKey, Prompt]:
    """Read and check the prompts alone. Raises CatalogError with every problem of every file."""
    return _checked(lambda reading: _read_prompts(reading, prompts_dir)[0])


def load_cues(cues_dir: Path) -> Mapping[CuesKey, CueSet]:
    """Read and check the cues alone. Raises CatalogError with every problem of every file."""
    return _checked(lambda reading: _read_cues(reading, cues_dir)[0])


def load_rankers(rankers_dir: Path) -> Mapping[RankerKey, Ranker]:
    """Read and check the rankers alone. Raises CatalogError with every problem of every file."""
    return _checked(lambda reading: _read_rankers(reading, rankers_dir)[0])


def load_migrations(migrations_dir: Path, schemas_dir: Path) -> Mapping[str, Migration]:
    """Read and check the migrations and the schemas they name. Raises CatalogError with every problem of every file."""
    return _checked(lambda reading: _read_migrations(reading, migrations_dir, _read_schemas(reading, schemas_dir)[0]))


def read_released(directory: Path) -> dict[str, str]:
    """Return the SHA-256 values in the released.json of a directory, by name; empty without that file.

    Raises CatalogError.
    """
    return _checked(lambda reading: read_digests(reading, directory))


def _checked(read: Callable[[Reading], T], find_faults: FindFaults = no_faults) -> T:
    """Return what was read. Raises CatalogError with every problem."""
    reading = Reading(find_faults)
    found = read(reading)
    reading.stop()
    return found


def _read_ceilings(reading: Reading, path: Path) -> Ceilings:
    ceilings = read_part(reading, path, Ceilings, "file of limits")
    if ceilings is None:
        return Ceilings()
    reading.report(path, *check_ceilings(ceilings))
    return ceilings


def _read_migrations(reading: Reading, directory: Path, schemas: Mapping[SchemaKey, Schema]) -> dict[str, Migration]:
    migrations: dict[str, Migration] = {}
    paths: dict[str, Path] = {}
    digests: dict[str, str] = {}
    for path in reading.files(directory):
        if path.name == RELEASED or path.name.endswith(EXAMPLES):
            continue
        paths[path.stem] = path
        migration = read_part(reading, path, Migration, "migration")
        if migration is None:
            continue
        digests[path.stem] = migration.digest()
        problems = list(check_migration(migration, schemas))
        if migration.migration_id != path.stem:
            problems.append(Problem("/migration_id", f'must be "{path.stem}", as the file\'s name says'))
        reading.report(path, *problems)
        if not problems:
            migrations[path.stem] = migration
    for name, problem in check_unambiguous(migrations):
        reading.report(paths[name], problem)
    _read_migration_examples(reading, directory, migrations, paths, schemas)
    released = read_digests(reading, directory)
    reading.report(
        directory / RELEASED, *check_released(released, digests, paths.keys() - digests.keys(), kind="migration")
    )
    return migrations


def _read_migration_examples(
    reading: Reading,
    directory: Path,
    migrations: Mapping[str, Migration],
    paths: Collection[str],
    schemas: Mapping[SchemaKey, Schema],
) -> None:
    for path in reading.files(directory):
        name = path.name.removesuffix(EXAMPLES)
        if not path.name.endswith(EXAMPLES):
            continue
        if name not in paths:
            reading.report(path, Problem("", "are examples of no migration"))
        elif name in migrations and (examples := reading.json(path)) is not None:
            reading.report(path, *check_migration_examples(examples, migrations[name], schemas))


def _read_schemas(reading: Reading, directory: Path) -> tuple[dict[SchemaKey, Schema], frozenset[SchemaKey]]:
    """The usable schemas, and the keys of those with faults."""
    bodies = dict(_bodies(reading, directory))
    registered = {schema_uri(*key): body for key, (_, body) in bodies.items() if isinstance(body, dict)}
    faultless = {}
    for key, (path, body) in bodies.items():
        problems = check_schema(*key, body, registered) if body is not None else []
        reading.report(path, *problems)
        reading.report_texts(path, body)
        if body is not None and not problems:
            faultless[key] = body
    sound = _sound(faultless)
    schemas = dict(_compiled(reading, {key: bodies[key] for key in sound}))
    for key, schema in schemas.items():
        path = bodies[key][0].with_name(bodies[key][0].stem + EXAMPLES)
        if path.exists() and (examples := reading.json(path)) is not None:
            reading.report(path, *check_examples(examples, schema))
    unusable = frozenset(bodies.keys() - schemas.keys())
    _check_digests(reading, directory, {key: schema.digest for key, schema in schemas.items()}, unusable, "schema")
    return schemas, unusable


def _bodies(reading: Reading, directory: Path) -> Iterator[tuple[SchemaKey, tuple[Path, Json]]]:
    for path in reading.files(directory):
        if path.name != RELEASED:
            reading.report(path, Problem("", "is not in the directory of its schema_id"))
    for folder in folders(directory):
        for path in reading.files(folder):
            if path.name.endswith(EXAMPLES):
                if not path.with_name(path.name.removesuffix(EXAMPLES) + ".json").exists():
                    reading.report(path, Problem("", "are examples of no schema"))
            elif not (SEGMENT.fullmatch(folder.name) and SEGMENT.fullmatch(path.stem)):
                reading.report(path, Problem("", f"schema_id and version must match {SEGMENT.pattern}"))
            else:
                yield (folder.name, path.stem), (path, reading.json(path))


def _read_prompts(reading: Reading, directory: Path) -> tuple[dict[PromptKey, Prompt], frozenset[PromptKey]]:
    """The usable prompts, and the keys of those with faults."""
    prompts: dict[PromptKey, Prompt] = {}
    unreadable: set[PromptKey] = set()
    for path in reading.files(directory):
        if path.name != RELEASED:
            reading.report(path, Problem("", "is no prompt: a prompt is <prompt_id>/<version>.md"))
    for folder in folders(directory):
        for path in reading.files(folder, ".md"):
            key = (folder.name, path.stem)
            if not all(map(SEGMENT.fullmatch, key)):
                reading.report(path, Problem("", f"prompt_id and version must match {SEGMENT.pattern}"))
                continue
            found = _prompt(reading, path, key)
            if found is None:
                unreadable.add(key)
            else:
                prompts[key] = found
    _check_digests(reading, directory, {key: prompt.sha256 for key, prompt in prompts.items()}, unreadable, "prompt")
    return prompts, frozenset(unreadable)


def _prompt(reading: Reading, path: Path, key: PromptKey) -> Prompt | None:
    try:
        found = read_prompt(*key, path.read_bytes())
    except OSError as error:
        found = Problem("", f"cannot be read: {error.strerror}")
    if isinstance(found, Problem):
        reading.report(path, found)
        return None
    return found


def _read_cues(reading: Reading, directory: Path) -> tuple[dict[CuesKey, CueSet], frozenset[CuesKey]]:
    """The usable cues, and the keys of those with faults."""
    files, broken = _read_files(reading, directory, CueFile, check_cues, ("language", "file of cues"))
    found = {key: CueSet(*key, file) for key, file in files.items()}
    _check_digests(reading, directory, {key: cues.file.sha256 for key, cues in found.items()}, broken, "cues")
    return found, broken


def _read_rankers(reading: Reading, directory: Path) -> tuple[dict[RankerKey, Ranker], frozenset[RankerKey]]:
    """The usable rankers, and the keys of those with faults."""
    files, broken = _read_files(reading, directory, RankerFile, check_ranker, ("ranker_id", "ranker"))
    found = {key: Ranker(*key, file) for key, file in files.items()}
    _check_digests(reading, directory, {key: ranker.file.sha256 for key, ranker in found.items()}, broken, "ranker")
    return found, broken


def _read_files(
    reading: Reading,
    directory: Path,
    model: type[P],
    check: Callable[[P], Iterable[Problem]],
    nouns: tuple[str, str],
) -> tuple[dict[tuple[str, str], P], frozenset[tuple[str, str]]]:
    """The sound files <name>/<version>.json, and the keys of the others; `nouns` are those of the name and a file."""
    found: dict[tuple[str, str], P] = {}
    broken: set[tuple[str, str]] = set()
    for folder in folders(directory):
        for path in reading.files(folder):
            key = (folder.name, path.stem)
            if not all(map(SEGMENT.fullmatch, key)):
                reading.report(path, Problem("", f"{nouns[0]} and version must match {SEGMENT.pattern}"))
                continue
            file = read_part(reading, path, model, nouns[1])
            problems = [] if file is None else list(check(file))
            reading.report(path, *problems)
            if file is None or problems:
                broken.add(key)
            else:
                found[key] = file
    return found, frozenset(broken)


def _check_digests(
    reading: Reading,
    directory: Path,
    digests: Mapping[tuple[str, str], str],
    broken: Collection[tuple[str, str]],
    kind: str,
) -> None:
    """Report the released versions that were changed or removed."""
    names, unusable = {"/".join(key): digest for key, digest in digests.items()}, {"/".join(key) for key in broken}
    released = read_digests(reading, directory)
    reading.report(directory / RELEASED, *check_released(released, names, unusable, kind=kind))


def _sound(bodies: dict[SchemaKey, dict[str, Any]]) -> list[SchemaKey]:
    """Those that refer, directly or not, to nothing outside: what refers to a faulty schema is not compiled."""
    sound = {schema_uri(*key): key for key in bodies}
    while True:
        broken = [uri for uri, key in sound.items() if referenced(bodies[key]) - sound.keys()]
        if not broken:
            return list(sound.values())
        for uri in broken:
            del sound[uri]


def _compiled(reading: Reading, sound: Mapping[SchemaKey, tuple[Path, Json]]) -> Iterator[tuple[SchemaKey, Schema]]:
    registered = {schema_uri(*key): body for key, (_, body) in sound.items()}
    for key, (path, body) in sound.items():
        try:
            yield key, Schema.compile(*key, body, registered)
        except InvalidSchema as error:
            reading.report(path, *error.problems)
