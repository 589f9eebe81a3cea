"""`memnet audit`: verify a user's history, sign it, and rebuild every version of it, from storage alone."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from cli import storage
from cli.blame import blame
from cli.options import FILE, IDENTIFIER, NEW_FILE, optional_user, read_keys, user_options
from cli.output import count, document_of, exit_unless, print_columns, user_of
from memnet.domain.core.canonical_json import canonical
from memnet.domain.core.scope import DocumentKey, UserScope
from memnet.domain.core.signature import PublicKey, to_pem
from memnet.domain.documents.audit_record import Version
from memnet.domain.history.checkpoint_verification import CheckpointReport
from memnet.domain.history.reconstruction import VerifiedHistory, Visit
from memnet.operations.history.sign_checkpoints import read_newest_checkpoint, sign_checkpoint, sign_checkpoints
from memnet.operations.history.verify_history import rebuild_documents, verify_history
from memnet.service import Service


@click.group()
def audit() -> None:
    """Audit records: verify that histories are intact, sign checkpoints of them, and rebuild earlier versions."""


@audit.command()
@user_options
@click.option(
    "--keys",
    "public_keys",
    type=FILE,
    help="Check signatures with these keys instead of the vault's: the answer of GET /v1/keys, or a PEM file.",
)
@click.option(
    "--expect-checkpoint",
    type=FILE,
    help="A checkpoint from `memnet audit checkpoint`: it must be stored, and the documents must not be older.",
)
def verify(scope: UserScope, public_keys: Path | None, expect_checkpoint: Path | None) -> None:
    """Check a user's chains of records, each document against its records, and all against the signed checkpoints.

    Prints one line per document: name, number of changes, and "ok" or the first broken change and the reason; then one
    line about the checkpoints. Exits with 0, or 1 if anything is broken, cannot be read or cannot be checked.
    """
    keys = None if public_keys is None else read_keys(public_keys)
    expected = expect_checkpoint.read_bytes().strip() if expect_checkpoint else None
    checkpoints, found = storage.run(
        lambda service: verify_history(scope, service, public_keys=keys, expected=expected)
    )
    print_columns([(_name(one.doc_id, one.key), count(one.changes, "change"), one.fault or "ok") for one in found])
    if found or checkpoints.count:
        click.echo(f"checkpoints: {_describe(checkpoints)}")
    if checkpoints.fault and all(one.fault is None for one in found):
        click.echo("broken: the checkpoints")
        raise SystemExit(1)
    _conclude(found, scope)


@audit.command()
@user_options
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the versions here, as NAMESPACE/PATH/SEQUENCE.json; must be empty or not exist.",
)
def rebuild(scope: UserScope, out: Path | None) -> None:
    """Rebuild every version of a user's documents from the records.

    Without --out, prints one line per version: document, sequence, recorded time, ETag, characters. A file has exactly
    the bytes that the API returned as `document`; a deletion has no file. Exits with 0, or 1 if a history is broken:
    then the versions before the first broken change are rebuilt.
    """
    if out is not None and out.exists() and any(out.iterdir()):
        raise click.BadParameter(f"{out} is not empty", param_hint="--out")
    versions = _Rows() if out is None else _Files(out)
    found = storage.run(lambda service: rebuild_documents(scope, service, begin=versions.begin))
    versions.report(found)
    for one in found:
        if one.fault:
            click.echo(f"{_name(one.doc_id, one.key)}: {one.fault}", err=True)
    _conclude(found, scope)


@audit.command()
@click.option("--tenant", type=IDENTIFIER, help="The tenant's id.")
@click.option("--user", type=IDENTIFIER, help="The user's id.")
@click.option(
    "--accept-current-state", is_flag=True, help="Sign this user's documents even if they contradict the checkpoints."
)
def sign(tenant: str | None, user: str | None, accept_current_state: bool) -> None:
    """Sign a checkpoint, the latest change of each document, for one user or for all whose documents changed.

    A worker does the same for all every hour. Exits with 0, or 1 if documents contradict the last checkpoint: then
    nothing is signed for that user. Once the cause is known, --accept-current-state signs the documents as they are;
    `memnet audit verify` continues to report what the earlier checkpoints show.
    """
    scope = optional_user(tenant, user)
    if scope is not None:
        click.echo(storage.run(lambda service: sign_checkpoint(scope, service, accept=accept_current_state)))
        return
    if accept_current_state:
        raise click.UsageError("--accept-current-state is for one user")
    report = storage.run(sign_checkpoints)
    click.echo(
        f"{report.users} users, {report.signed} signed, {report.unchanged} unchanged, {report.postponed} postponed, "
        f"{report.broken} broken"
    )
    exit_unless(not report.broken)


@audit.command()
@user_options
@click.option("--out", type=NEW_FILE, help="Write it to this file instead of printing it.")
def checkpoint(scope: UserScope, out: Path | None) -> None:
    """Print a user's latest signed checkpoint. Keep it where writers to the storage cannot change it.

    `memnet audit verify --expect-checkpoint` reads it. Exits with 0, or 1 if there is none or it cannot be read.
    """
    found = storage.run(lambda service: read_newest_checkpoint(scope, records=service.records))
    if found is None:
        raise click.ClickException(f"no checkpoint is signed yet for {user_of(scope)}")
    if out is None:
        click.echo(found.data)
    else:
        out.write_bytes(found.data + b"\n")
        click.echo(f"checkpoint {found.sequence} of {found.signed_at} in {out}")


@audit.command("keys")
@click.option("--rotate", is_flag=True, help="Create a new version of the key first; the older ones stay valid.")
def keys_(rotate: bool) -> None:
    """Print the public keys that verify the signatures, in PEM, each below its id; the oldest first.

    `memnet audit verify --keys` reads this output, and so does any other tool for Ed25519.
    """

    async def operation(service: Service) -> Sequence[PublicKey]:
        if rotate:
            await service.signing.rotate()
        return await service.signing.public_keys()

    found = storage.run(operation)
    for key in found:
        click.echo(f"# {key.key_id}\n{to_pem(key)}", nl=False)
    if not found:
        raise click.ClickException("there is no key yet; the first signature creates one")


audit.add_command(blame)


def _describe(report: CheckpointReport) -> str:
    if report.fault:
        return report.fault
    if report.newest is None:
        return "none signed yet"
    since = count(report.since, "change")
    return f"{report.count}, the latest of {report.newest.signed_at}, {since} since then unsigned, ok"


def _conclude(found: Sequence[VerifiedHistory], scope: UserScope) -> None:
    """Print the last line, and exit with 1 if a history is broken."""
    broken = sum(one.fault is not None for one in found)
    documents = count(len(found), "document")
    if not found:
        click.echo(f"nothing is stored for {user_of(scope)}")
    elif broken:
        click.echo(f"broken: {broken} of {documents}")
        raise SystemExit(1)
    else:
        click.echo(f"ok: {documents}, {count(sum(one.changes for one in found), 'change')}")


class _Rows:
    """Prints a row for each version, sorted by document."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Sequence[str]]] = {}

    def begin(self, doc_id: str, key: DocumentKey | None) -> Visit:
        # A document that changes meanwhile is visited again from its first version.
        rows = self._rows[doc_id] = []

        def visit(version: Version) -> None:
            content = version.document
            size = "deleted" if content is None else f"{len(canonical(content).decode())} characters"
            rows.append((_name(doc_id, key), str(version.sequence), version.timestamp, version.etag.strip('"'), size))

        return visit

    def report(self, found: Sequence[VerifiedHistory]) -> None:
        print_columns([row for one in found for row in self._rows.get(one.doc_id, ())])


class _Files:
    """Writes each version to a file. A second document with the same name has its internal id in its directory."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._counts = Counter[str]()
        self._owners: dict[str, str] = {}

    def begin(self, doc_id: str, key: DocumentKey | None) -> Visit:
        name = _name(doc_id, key)
        if self._owners.setdefault(name, doc_id) != doc_id:
            name = f"{name}.{doc_id}"
        self._counts[doc_id] = 0

        def visit(version: Version) -> None:
            if version.document is not None:
                file = self._out / name / f"{version.sequence}.json"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(canonical(version.document))
                self._counts[doc_id] += 1

        return visit

    def report(self, _: Sequence[VerifiedHistory]) -> None:
        click.echo(f"{count(self._counts.total(), 'file')} below {self._out}")


def _name(doc_id: str, key: DocumentKey | None) -> str:
    return f"unknown/{doc_id}" if key is None else document_of(key)
