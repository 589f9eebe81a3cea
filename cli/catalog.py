"""`memnet profiles`, `prompts`, `cues`, `rankers`, `schemas` and `migrations`: check and release their files."""

import json
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import click
from click.core import ParameterSource

from cli.options import DIRECTORY, FILE, IDENTIFIER, PATH
from cli.output import count
from memnet.catalog import (
    RELEASED,
    CatalogError,
    load_catalog,
    load_cues,
    load_migrations,
    load_prompts,
    load_rankers,
    load_schemas,
    read_released,
)
from memnet.catalog_files import no_faults
from memnet.domain.catalog.catalog import Catalog
from memnet.domain.catalog.explanation import explain
from memnet.domain.catalog.retention_policy import RetentionPolicy
from memnet.domain.catalog.schema import release as released_with
from memnet.settings import ROOT
from memnet_client.mcp.descriptions import find_faults

P = ParamSpec("P")
PROFILES = ROOT / "profiles"
SCHEMAS = ROOT / "schemas"
PROMPTS = ROOT / "prompts"
CUES = ROOT / "cues"
RANKERS = ROOT / "rankers"
MIGRATIONS = ROOT / "migrations"
STARTER = ROOT / "cli" / "starter"
"""The files of a new profile, with NAME for its name."""
CEILINGS = ROOT / "retention" / "ceilings.json"

PROFILES_VARIABLE = "MEMNET_PROFILES_DIR"
SCHEMAS_VARIABLE = "MEMNET_SCHEMAS_DIR"
PROMPTS_VARIABLE = "MEMNET_PROMPTS_DIR"
CUES_VARIABLE = "MEMNET_CUES_DIR"
RANKERS_VARIABLE = "MEMNET_RANKERS_DIR"
MIGRATIONS_VARIABLE = "MEMNET_MIGRATIONS_DIR"


def _directory(default: Path, variable: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Add the argument DIR, by default the service's setting, else the directory of the installation."""
    return click.argument("directory", type=DIRECTORY, default=default, envvar=variable, metavar="[DIR]")


def _option(name: str, default: Path, variable: str, text: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Add an option for a directory, with the same default."""
    return click.option(name, type=DIRECTORY, default=default, envvar=variable, show_envvar=True, help=text)


_schemas_dir = _option("--schemas-dir", SCHEMAS, SCHEMAS_VARIABLE, "The schemas that the files name.")
_prompts_dir = _option("--prompts-dir", PROMPTS, PROMPTS_VARIABLE, "The prompts that the files name.")
_cues_dir = _option("--cues-dir", CUES, CUES_VARIABLE, "The cues that the files name.")
_rankers_dir = _option("--rankers-dir", RANKERS, RANKERS_VARIABLE, "The rankers that the files name.")
_retention_file = click.option(
    "--retention-file",
    type=FILE,
    default=CEILINGS,
    envvar="MEMNET_RETENTION_FILE",
    show_envvar=True,
    help="The limits for the profiles' retention periods.",
)


@click.group()
def profiles() -> None:
    """Profiles: what each agent or product may read and write."""


@click.group()
def prompts() -> None:
    """Prompts: the instructions for the models that extract memory."""


@click.group()
def cues() -> None:
    """Cues: the phrases by which memory is extracted without a model."""


@click.group()
def rankers() -> None:
    """Rankers: the weights by which a recall ranks."""


@click.group()
def schemas() -> None:
    """Schemas: the allowed content of documents."""


@click.group()
def migrations() -> None:
    """Migrations: how documents are converted into other documents. `memnet migrate` runs them."""


def _prints_problems(command: Callable[P, None]) -> Callable[P, None]:
    """Print the problems of the catalog, one a line, and exit with 1."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except CatalogError as error:
            for problem in error.problems:
                click.echo(str(problem))
            raise SystemExit(1) from error

    return run


@profiles.command("check")
@_directory(PROFILES, PROFILES_VARIABLE)
@_schemas_dir
@_prompts_dir
@_cues_dir
@_rankers_dir
@_retention_file
@_prints_problems
def check_profiles(directory: Path, schemas_dir: Path, prompts_dir: Path, retention_file: Path, **named: Path) -> None:
    """Check every profile in DIR, its schemas, prompts, cues and rankers, and its retention periods against the limits.

    No text of a profile or schema may address a model: no URLs, conditions, calls, instructions or hidden characters.

    Prints "ok", the numbers and the directories, or every problem as `file: pointer: reason; remedy`. Exits with 0,
    with 1 if there are problems, or with 2 after a usage error.
    """
    catalog = load_catalog(directory, schemas_dir, prompts_dir, None, retention_file, find_faults, **named)
    _print_ok(catalog, directory, schemas_dir)


@profiles.command("release")
@_directory(PROFILES, PROFILES_VARIABLE)
@_schemas_dir
@_prompts_dir
@_cues_dir
@_rankers_dir
@_prints_problems
def release_profiles(directory: Path, schemas_dir: Path, prompts_dir: Path, **named: Path) -> None:
    """Release every profile version in DIR that is not released yet: from then on it must not change.

    Adds their digests to released.json and changes no entry there. Exits with 1, and changes nothing, if there are
    problems.
    """
    catalog = load_catalog(directory, schemas_dir, prompts_dir, find_faults=find_faults, **named)
    found = catalog.profiles.values()
    _release(directory, {f"{one.profile_id}/{one.version}": one.sha256 for one in found}, "profile")


@profiles.command("new")
@click.argument("name", type=IDENTIFIER)
@click.option("--profiles-dir", type=PATH, default=PROFILES, envvar=PROFILES_VARIABLE, show_envvar=True)
@click.option("--schemas-dir", type=PATH, default=SCHEMAS, envvar=SCHEMAS_VARIABLE, show_envvar=True)
@click.option("--prompts-dir", type=PATH, default=PROMPTS, envvar=PROMPTS_VARIABLE, show_envvar=True)
def new_profile(name: str, profiles_dir: Path, schemas_dir: Path, prompts_dir: Path) -> None:
    """Write the files of a new profile NAME-v1: profile, schema, its examples, and prompt. The checks accept them.

    Exits with 1, and writes nothing, if one of the files exists.
    """
    files = {
        profiles_dir / f"{name}-v1.json": "profile.json",
        schemas_dir / name / "1.0.0.json": "schema.json",
        schemas_dir / name / "1.0.0.examples.json": "examples.json",
        prompts_dir / name / "1.0.0.md": "prompt.md",
    }
    for path in files:
        if path.exists():
            raise click.ClickException(f"{_shown(path)} exists; choose another name")
    for path, template in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((STARTER / template).read_text("utf-8").replace("NAME", name), "utf-8")
        click.echo(f"wrote {_shown(path)}")
    click.echo(
        "Edit the schema first, then its examples, the profile and the prompt. Check them: memnet profiles check"
    )


@profiles.command("explain")
@click.argument("profile_id")
@_option("--profiles-dir", PROFILES, PROFILES_VARIABLE, "The profiles.")
@_schemas_dir
@_prompts_dir
@_cues_dir
@_rankers_dir
@_retention_file
@_prints_problems
def explain_profile(
    profile_id: str, profiles_dir: Path, schemas_dir: Path, prompts_dir: Path, retention_file: Path, **named: Path
) -> None:
    """Explain a profile: who may write, what waits, what happens to contradictions, and what a model reads.

    Exits with 1 if the profiles have problems, or with 2 if there is no such profile.
    """
    catalog = load_catalog(profiles_dir, schemas_dir, prompts_dir, None, retention_file, no_faults, **named)
    profile = catalog.profiles.get(profile_id)
    if profile is None:
        known = ", ".join(catalog.profiles)
        raise click.UsageError(f"no profile {profile_id} in {_shown(profiles_dir)}; there are {known}")
    for sentence in explain(profile, RetentionPolicy(catalog.profiles, catalog.ceilings)):
        click.echo(sentence)


@prompts.command("check")
@_directory(PROMPTS, PROMPTS_VARIABLE)
@_prints_problems
def check_prompts(directory: Path) -> None:
    """Check every prompt in DIR, and that no released version has changed.

    Output and exit code as of `memnet profiles check`.
    """
    click.echo(f"ok: {count(len(load_prompts(directory)), 'prompt')} in {_shown(directory)}")


@prompts.command("release")
@_directory(PROMPTS, PROMPTS_VARIABLE)
@_prints_problems
def release_prompts(directory: Path) -> None:
    """Release every prompt version in DIR that is not released yet, as `memnet profiles release` does."""
    found = load_prompts(directory)
    _release(directory, {"/".join(key): prompt.sha256 for key, prompt in found.items()}, "prompt")


@cues.command("check")
@_directory(CUES, CUES_VARIABLE)
@_prints_problems
def check_cues(directory: Path) -> None:
    """Check the cues of every language in DIR, and that no released version has changed.

    Output and exit code as of `memnet profiles check`.
    """
    click.echo(f"ok: {count(len(load_cues(directory)), 'cue set')} in {_shown(directory)}")


@cues.command("release")
@_directory(CUES, CUES_VARIABLE)
@_prints_problems
def release_cues(directory: Path) -> None:
    """Release every version of cues in DIR that is not released yet, as `memnet profiles release` does."""
    found = load_cues(directory)
    _release(directory, {"/".join(key): one.file.sha256 for key, one in found.items()}, "cue set")


@rankers.command("check")
@_directory(RANKERS, RANKERS_VARIABLE)
@_prints_problems
def check_rankers(directory: Path) -> None:
    """Check every ranker in DIR, and that no released version has changed.

    Output and exit code as of `memnet profiles check`.
    """
    click.echo(f"ok: {count(len(load_rankers(directory)), 'ranker')} in {_shown(directory)}")


@rankers.command("release")
@_directory(RANKERS, RANKERS_VARIABLE)
@_prints_problems
def release_rankers(directory: Path) -> None:
    """Release every version of a ranker in DIR that is not released yet, as `memnet profiles release` does."""
    found = load_rankers(directory)
    _release(directory, {"/".join(key): ranker.file.sha256 for key, ranker in found.items()}, "ranker")


@schemas.command("check")
@_directory(SCHEMAS, SCHEMAS_VARIABLE)
@_option("--profiles-dir", PROFILES, PROFILES_VARIABLE, "Check these profiles against the schemas, too.")
@_prompts_dir
@_cues_dir
@_rankers_dir
@_prints_problems
def check_schemas(directory: Path, profiles_dir: Path, prompts_dir: Path, **named: Path) -> None:
    """Check every schema in DIR, its examples, the versions it extends, and that no released version has changed.

    Checks the profiles, too, unless DIR is given without --profiles-dir. Output and exit code as of `memnet profiles
    check`.
    """
    given = click.get_current_context().get_parameter_source
    if given("directory") is ParameterSource.COMMANDLINE and given("profiles_dir") is not ParameterSource.COMMANDLINE:
        click.echo(f"ok: {count(len(load_schemas(directory, find_faults)), 'schema')} in {_shown(directory)}")
    else:
        catalog = load_catalog(profiles_dir, directory, prompts_dir, find_faults=find_faults, **named)
        _print_ok(catalog, profiles_dir, directory)


@schemas.command("release")
@_directory(SCHEMAS, SCHEMAS_VARIABLE)
@_prints_problems
def release_schemas(directory: Path) -> None:
    """Release every schema version in DIR that is not released yet, as `memnet profiles release` does."""
    found = load_schemas(directory, find_faults)
    _release(directory, {"/".join(key): schema.digest for key, schema in found.items()}, "schema")


@migrations.command("check")
@_directory(MIGRATIONS, MIGRATIONS_VARIABLE)
@_schemas_dir
@_prints_problems
def check_migrations(directory: Path, schemas_dir: Path) -> None:
    """Check every migration in DIR, its results for its examples, and that no released one has changed.

    Output and exit code as of `memnet profiles check`.
    """
    click.echo(f"ok: {count(len(load_migrations(directory, schemas_dir)), 'migration')} in {_shown(directory)}")


@migrations.command("release")
@_directory(MIGRATIONS, MIGRATIONS_VARIABLE)
@_schemas_dir
@_prints_problems
def release_migrations(directory: Path, schemas_dir: Path) -> None:
    """Release every migration in DIR that is not released yet, as `memnet profiles release` does."""
    found = load_migrations(directory, schemas_dir)
    _release(directory, {name: migration.digest() for name, migration in found.items()}, "migration")


def _print_ok(catalog: Catalog, profiles_dir: Path, schemas_dir: Path) -> None:
    found = count(len(catalog.profiles), "profile"), count(len(catalog.schemas), "schema")
    click.echo(f"ok: {found[0]} in {_shown(profiles_dir)}, {found[1]} in {_shown(schemas_dir)}")


def _shown(path: Path) -> str:
    """Return the path relative to the working directory if it is below it."""
    absolute, here = path.resolve(), Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(absolute)


def _release(directory: Path, digests: Mapping[str, str], noun: str) -> None:
    """Add new digests to released.json, atomically, and print them."""
    before = read_released(directory)
    after = released_with(before, digests)
    added = sorted(after.keys() - before.keys())
    if added:
        draft = directory / f"{RELEASED}.new"
        draft.write_text(json.dumps(after, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        draft.replace(directory / RELEASED)
    for name in added:
        click.echo(f"released {name} {after[name]}")
    click.echo(f"ok: {count(len(added), noun)} released, {len(before)} before")
