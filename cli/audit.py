"""`memnet audit`: check a user's history, sign it, and rebuild every version of it, from storage alone."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from cli import storage
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.errors import InvalidIdentifier
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.core.signature import PublicKey, PublicKeys, by_id, from_pem, to_pem
from memnet.domain.documents.audit_record import Version
from memnet.domain.history.checkpoint import Checkpoint
from memnet.domain.history.checkpoint_verification import CheckpointReport
from memnet.domain.history.reconstruction import VerifiedHistory, Visit
from memnet.operations.history.sign_checkpoints import (
    Signed,
    SignReport,
    read_newest_checkpoint,
    sign_checkpoint,
    sign_checkpoints,
)
from memnet.operations.history.verify_history import Begin, rebuild_documents, verify_history
from memnet.service import Service

F = TypeVar("F", bound=Callable[..., Any])
Place = tuple[str, DocumentKey | None]
"""A document: its internal id, and where it is."""


def _of_a_user(command: F) -> F:
    tenant = click.option("--tenant", required=True, help="The tenant's id.")
    user = click.option("--user", required=True, help="The user's id.")
    return tenant(user(command))


@click.group()
def audit() -> None:
    """Audit records: does every history hold, which part of it is signed, and what did the documents say.

    Storage and vault are those of MEMNET_STORAGE_URL and MEMNET_VAULT_URL (and what belongs to them), else those of
    the local stack that runs here.
    """


@audit.command()
@_of_a_user
@click.option(
    "--public-key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Check signatures with the keys in this PEM file, which `memnet audit keys` printed, and ask no vault.",
)
@click.option(
    "--expect-checkpoint",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A head that was kept elsewhere: it must be among the stored ones, and the documents must hold it.",
)
def verify(tenant: str, user: str, public_key: Path | None, expect_checkpoint: Path | None) -> None:
    """Check every chain of records of a user, each document against its records, and all against the signed heads.

    Prints one line a document: name, number of changes, "ok" or the first change that does not hold and why; and one
    line about the heads. Exits with 0, or 1 if anything is broken, cannot be read or cannot be checked.
    """
    scope, keys = _scope(tenant, user), _public_keys(public_key)
    expected = expect_checkpoint.read_bytes().strip() if expect_checkpoint else None

    async def operation(service: Service) -> tuple[CheckpointReport, Sequence[VerifiedHistory]]:
        return await verify_history(scope, service, public_keys=keys, expected=expected)

    heads, found = storage.run(operation)
    _print_columns([(_name(rebuilt), _changes(rebuilt.changes), _verdict(rebuilt)) for rebuilt in found])
    if found or heads.count:
        click.echo(f"heads: {_told(heads)}")
    if all(rebuilt.fault is None for rebuilt in found) and heads.fault:
        click.echo("broken: the heads")
        raise SystemExit(1)
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
    rows: dict[Place, list[tuple[str, ...]]] = {}
    files: dict[Place, int] = {}
    found = _rebuild(tenant, user, _rows_in(rows) if out is None else _files_in(out, files))
    if out is None:
        _print_columns([row for one in found for row in rows.get((one.doc_id, one.key), ())])
    else:
        written = sum(files.values())
        click.echo(f"{written} file{'' if written == 1 else 's'} below {out}")
    for rebuilt in found:
        if rebuilt.fault:
            click.echo(f"{_name(rebuilt)}: {rebuilt.fault}", err=True)
    _conclude(found, tenant, user)


@audit.command()
@click.option("--tenant", help="The tenant's id.")
@click.option("--user", help="The user's id.")
@click.option(
    "--accept-current-state", is_flag=True, help="Sign for this user what does not follow from the newest head, too."
)
def sign(tenant: str | None, user: str | None, accept_current_state: bool) -> None:
    """Sign a head, the newest change of each document, for one user or, without options, all whose documents changed.

    A worker does the same for all every hour. Exits with 0, or 1 if documents do not follow from what was signed
    before: then nothing is signed for that user. Once the reason is known, --accept-current-state starts again from
    what is stored; `memnet audit verify` continues to report what the earlier heads show.
    """
    if (tenant is None) != (user is None):
        raise click.UsageError("--tenant and --user go together")
    if accept_current_state and user is None:
        raise click.UsageError("--accept-current-state is for one user")
    scope = None if tenant is None or user is None else _scope(tenant, user)

    async def operation(service: Service) -> SignReport | Signed:
        if scope is None:
            return await sign_checkpoints(service)
        return await sign_checkpoint(scope, service, accept=accept_current_state)

    done = storage.run(operation)
    if isinstance(done, Signed):
        click.echo(done)
        return
    click.echo(
        f"{done.users} users, {done.signed} signed, {done.unchanged} unchanged, {done.postponed} postponed, "
        f"{done.broken} broken"
    )
    if done.broken:
        raise SystemExit(1)


@audit.command()
@_of_a_user
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write it here instead of printing it.")
def checkpoint(tenant: str, user: str, out: Path | None) -> None:
    """Print a user's newest signed head, to be kept where nobody who can write to the storage can reach it.

    `memnet audit verify --expect-checkpoint` takes it. Exits with 0, or 1 if there is none or it cannot be read.
    """
    scope = _scope(tenant, user)

    async def operation(service: Service) -> Checkpoint | None:
        return await read_newest_checkpoint(scope, records=service.records)

    found = storage.run(operation)
    if found is None:
        raise click.ClickException(f"nothing was signed yet for user {user} of tenant {tenant}")
    if out is None:
        click.echo(found.data)
    else:
        out.write_bytes(found.data + b"\n")
        click.echo(f"head {found.sequence} of {found.signed_at} in {out}")


@audit.command("keys")
@click.option("--rotate", is_flag=True, help="Make a new version of the key first; the older ones stay valid.")
def keys_(rotate: bool) -> None:
    """Print the public keys that verify the signatures, in PEM, each below its id; the oldest first.

    `memnet audit verify --public-key` takes what this prints, and so does any other tool that knows Ed25519.
    """

    async def operation(service: Service) -> Sequence[PublicKey]:
        if rotate:
            await service.signing.rotate()
        return await service.signing.public_keys()

    found = storage.run(operation)
    for key in found:
        click.echo(f"# {key.key_id}\n{to_pem(key)}", nl=False)
    if not found:
        raise click.ClickException("no key was made yet; the first signature makes one")


def _public_keys(file: Path | None) -> PublicKeys | None:
    if file is None:
        return None
    try:
        return by_id(from_pem(file.read_text("utf-8")))
    except ValueError as error:
        raise click.BadParameter(f"{file}: {error}", param_hint="--public-key") from error


def _scope(tenant: str, user: str) -> UserScope:
    try:
        return UserScope(tenant, user)
    except InvalidIdentifier as error:
        raise click.UsageError(error.message) from error


def _told(heads: CheckpointReport) -> str:
    """What is to be said of the heads, what they do not cover included."""
    if heads.fault:
        return heads.fault
    if heads.newest is None:
        return "none; nothing was signed yet"
    found = f"{heads.count}, the newest of {heads.newest.signed_at}, {_changes(heads.since)} since then unsigned"
    return f"{found}, ok"


def _rebuild(tenant: str, user: str, begin: Begin) -> Sequence[VerifiedHistory]:
    scope = _scope(tenant, user)

    async def operation(service: Service) -> Sequence[VerifiedHistory]:
        return await rebuild_documents(scope, service, begin=begin)

    return storage.run(operation)


def _verdict(rebuilt: VerifiedHistory) -> str:
    return rebuilt.fault or "ok"


def _conclude(found: Sequence[VerifiedHistory], tenant: str, user: str) -> None:
    """The last line, and the exit code."""
    broken = sum(rebuilt.fault is not None for rebuilt in found)
    changes = _changes(sum(rebuilt.changes for rebuilt in found))
    documents = f"{len(found)} document{'' if len(found) == 1 else 's'}"
    if not found:
        click.echo(f"nothing is stored for user {user} of tenant {tenant}")
    elif broken:
        click.echo(f"broken: {broken} of {documents}")
        raise SystemExit(1)
    else:
        click.echo(f"ok: {documents}, {changes}")


def _rows_in(rows: dict[Place, list[tuple[str, ...]]]) -> Begin:
    """Put a row for each version into `rows`."""

    def begin(doc_id: str, key: DocumentKey | None) -> Visit:
        own = rows[doc_id, key] = []

        def visit(version: Version) -> None:
            data = version.document
            told = "deleted" if data is None else f"{len(canonical(data).decode())} characters"
            own.append((_named(doc_id, key), str(version.sequence), version.timestamp, version.etag.strip('"'), told))

        return visit

    return begin


def _files_in(out: Path, files: dict[Place, int]) -> Begin:
    """Write each version below `out`, and count the files in `files`.

    A second document with the same name goes under its internal id.
    """
    names: dict[str, Place] = {}

    def begin(doc_id: str, key: DocumentKey | None) -> Visit:
        place, name = (doc_id, key), _named(doc_id, key)
        if names.setdefault(name, place) != place:
            name = f"{name}.{doc_id}"
        files[place] = 0

        def visit(version: Version) -> None:
            if version.document is not None:
                file = out / name / f"{version.sequence}.json"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(canonical(version.document))
                files[place] += 1

        return visit

    return begin


def _name(rebuilt: VerifiedHistory) -> str:
    return _named(rebuilt.doc_id, rebuilt.key)


def _named(doc_id: str, key: DocumentKey | None) -> str:
    return f"unknown/{doc_id}" if key is None else f"{key.namespace}/{key.path}"


def _changes(number: int) -> str:
    return f"{number} change{'' if number == 1 else 's'}"


def _print_columns(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())
