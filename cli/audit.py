"""`memnet audit`: check a user's history, and rebuild every version of it, from storage alone."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from cli import storage
from memnet.domain.document import UserScope
from memnet.domain.errors import InvalidIdentifier
from memnet.domain.history import Rebuilt
from memnet.domain.json_text import canonical
from memnet.operations.rebuild_documents import rebuild_documents
from memnet.wiring import Services

F = TypeVar("F", bound=Callable[..., Any])


def _of_a_user(command: F) -> F:
    tenant = click.option("--tenant", required=True, help="The tenant's id.")
    user = click.option("--user", required=True, help="The user's id.")
    return tenant(user(command))


@click.group()
def audit() -> None:
    """Audit records: does every history hold, and what did the documents say.

    The storage is that of MEMNET_STORAGE_URL (and MEMNET_STORAGE_KEY), else that of the local stack that runs here.
    """


@audit.command()
@_of_a_user
def verify(tenant: str, user: str) -> None:
    """Check every chain of records of a user, and each document against its records.

    Prints one line a document: name, number of changes, "ok" or the first change that does not hold and why. Exits
    with 0, or 1 if anything is broken or cannot be read.
    """
    found = _rebuild(tenant, user)
    rows = [(_name(rebuilt), _changes(len(rebuilt.versions)), rebuilt.fault or "ok") for rebuilt in found]
    _print_columns(rows)
    _conclude(found, tenant, user)


@audit.command()
@_of_a_user
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the versions here, as NAMESPACE/PATH/SEQUENCE.json; must be empty or not exist.",
)
def rebuild(tenant: str, user: str, out: Path | None) -> None:
    """Rebuild every version of a user's documents from the records.

    Without --out, prints one line a version: document, sequence, recorded time, ETag, characters. A version that the
    API served is written byte for byte as it was in `document`; a deletion leaves no file. Exits with 0, or 1 if a
    history is broken: then the versions before the first fault are still there.
    """
    if out is not None and out.exists() and any(out.iterdir()):
        raise click.BadParameter(f"{out} is not empty", param_hint="--out")
    found = _rebuild(tenant, user)
    if out is None:
        _print_columns([row for rebuilt in found for row in _version_rows(rebuilt)])
    else:
        written = _write(found, out)
        click.echo(f"{written} file{'' if written == 1 else 's'} below {out}")
    for rebuilt in found:
        if rebuilt.fault:
            click.echo(f"{_name(rebuilt)}: {rebuilt.fault}", err=True)
    _conclude(found, tenant, user)


def _rebuild(tenant: str, user: str) -> Sequence[Rebuilt]:
    try:
        scope = UserScope(tenant, user)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from error

    async def operation(services: Services) -> Sequence[Rebuilt]:
        return await rebuild_documents(scope, documents=services.documents, audit=services.audit)

    return storage.run(operation)


def _conclude(found: Sequence[Rebuilt], tenant: str, user: str) -> None:
    """The last line, and the exit code."""
    broken = sum(rebuilt.fault is not None for rebuilt in found)
    changes = _changes(sum(len(rebuilt.versions) for rebuilt in found))
    documents = f"{len(found)} document{'' if len(found) == 1 else 's'}"
    if not found:
        click.echo(f"nothing is stored for user {user} of tenant {tenant}")
    elif broken:
        click.echo(f"broken: {broken} of {documents}")
        raise SystemExit(1)
    else:
        click.echo(f"ok: {documents}, {changes}")


def _version_rows(rebuilt: Rebuilt) -> Sequence[tuple[str, ...]]:
    return [
        (
            _name(rebuilt),
            str(version.sequence),
            version.timestamp,
            version.etag.strip('"'),
            "deleted" if version.document is None else f"{len(canonical(version.document).decode())} characters",
        )
        for version in rebuilt.versions
    ]


def _write(found: Sequence[Rebuilt], out: Path) -> int:
    """Write the versions; return how many. What has no name of its own goes under its document's internal id."""
    names: set[str] = set()
    written = 0
    for rebuilt in found:
        name = _name(rebuilt) if _name(rebuilt) not in names else f"{_name(rebuilt)}.{rebuilt.doc_id}"
        names.add(name)
        for version in rebuilt.versions:
            if version.document is not None:
                file = out / name / f"{version.sequence}.json"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(canonical(version.document))
                written += 1
    return written


def _name(rebuilt: Rebuilt) -> str:
    key = rebuilt.key
    return f"unknown/{rebuilt.doc_id}" if key is None else f"{key.namespace}/{key.path}"


def _changes(number: int) -> str:
    return f"{number} change{'' if number == 1 else 's'}"


def _print_columns(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())
