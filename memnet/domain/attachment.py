"""What imports leave below `imports/` of a user: how it is named, and what may stand under each name.

    {archive}/manifest                 what the archive was
    {archive}/runs/{moment}-{id}       who had it imported, and when
    {archive}/audit/{change_id}        an old record of it
    {archive}/baselines/{change_id}    what stands there for older ones
    {archive}/earlier/{of}/…           what it brought along of an earlier import, the one of the archive `of`

An archive is named by its SHA-256. What stands below `earlier` is what an archive says; the rest this service has
written itself. An archive can bring along nothing else, and never under its own name.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import orjson

from memnet.domain import baseline as baselines
from memnet.domain.archive import read_manifest, refuse
from memnet.domain.audit import read_record
from memnet.domain.audit_values import is_sealed, values_hash
from memnet.domain.document import UserScope
from memnet.domain.envelope import Record
from memnet.domain.errors import ArchiveRefused, HistoryBroken, InvalidIdentifier
from memnet.domain.json_text import canonical, digest
from memnet.domain.timestamps import to_text

EARLIER = "earlier"
_MOMENT = "%Y%m%dT%H%M%S.%fZ"
_SHA256 = "[0-9a-f]{64}"
_FORM = re.compile(
    rf"(?P<archive>{_SHA256})/({EARLIER}/(?P<of>{_SHA256})/)?"
    r"(?P<part>manifest|runs/(?P<moment>[0-9]{8}T[0-9]{6}\.[0-9]{6}Z)-[0-9a-f-]{36}"
    r"|(audit|baselines)/(?P<doc_id>[A-Za-z0-9][A-Za-z0-9._-]{0,99})-(?P<sequence>[0-9]{12,19}))",
    re.ASCII,
)
_RUN = frozenset({"archive_sha256", "imported_at", "principal", "source", "target"})
_TEXTS = ("timestamp", "tenant_id", "user_id", "namespace", "path", "actor", "schema_id", "schema_version")


class Part(StrEnum):
    """What an attachment is."""

    MANIFEST = "manifest"
    RUNS = "runs"
    AUDIT = "audit"
    BASELINES = "baselines"


@dataclass(frozen=True, slots=True)
class Attachment:
    """The name of one, taken apart."""

    name: str
    archive: str
    """The archive that was imported."""
    of: str
    """The archive that it tells of: the same, or one that was imported earlier elsewhere."""
    part: Part
    at: str = ""
    """When a run was."""
    doc_id: str = ""
    """Of which document it is: of an old record or a baseline."""
    sequence: int = 0

    @property
    def is_earlier(self) -> bool:
        """Whether it is what an archive says, and not what was written here."""
        return self.of != self.archive

    @property
    def rest(self) -> str:
        """The name within what belongs to the archive `of`."""
        return self.name.removeprefix(f"{self.archive}/{EARLIER}/" if self.is_earlier else "").partition("/")[2]


@dataclass(frozen=True, slots=True)
class Dated:
    """How old an old record or a baseline says that it is, and by whose rule it goes."""

    at: str
    profile_id: str | None


def parse(name: str) -> Attachment | None:
    """Take a name apart; None for one that memnet does not give."""
    found = _FORM.fullmatch(name)
    if found is None or found["of"] == found["archive"]:
        return None
    part = Part(found["part"].partition("/")[0])
    attachment = Attachment(name, found["archive"], found["of"] or found["archive"], part)
    if part is Part.RUNS:
        try:
            moment = datetime.strptime(found["moment"], _MOMENT).replace(tzinfo=UTC)
        except ValueError:
            return None
        return replace(attachment, at=to_text(moment))
    if part is Part.MANIFEST:
        return attachment
    return replace(attachment, doc_id=found["doc_id"], sequence=int(found["sequence"]))


def run_name(now: datetime, unique: str) -> str:
    """What a run that begins now is kept as; names sort by time."""
    return f"{Part.RUNS}/{now.astimezone(UTC).strftime(_MOMENT)}-{unique}"


def fits(attachment: Attachment, data: bytes) -> bool:
    """Whether these bytes can stand under that name: in their one form, and telling of what the name says."""
    try:
        if attachment.part is Part.MANIFEST:
            # The hash of a manifest names its archive: so nobody can make up another one.
            return digest(data) == attachment.of and read_manifest(data) is not None
        if attachment.part is Part.RUNS:
            return _is_run(attachment, orjson.loads(data), data)
        return _dated(attachment, data) is not None
    except (ArchiveRefused, InvalidIdentifier, ValueError, KeyError, TypeError):
        return False


def dated(attachment: Attachment, data: bytes) -> Dated:
    """The age of an old record or a baseline. Raises HistoryBroken if the bytes are none of that name."""
    try:
        found = _dated(attachment, data)
    except (ValueError, KeyError, TypeError):
        found = None
    if found is None:
        raise HistoryBroken("A stored record of an import cannot be read.", record=attachment.name)
    return found


def carried(attachment: Attachment, archive: str) -> str:
    """The name under which the archive brings it along, one step deep however often it was brought along before.

    Raises ArchiveRefused if it names the archive itself, which can know of no import of its own.
    """
    if archive in (attachment.archive, attachment.of):
        refuse("it tells of its own import")
    return f"{archive}/{EARLIER}/{attachment.of}/{attachment.rest}"


def by_archive(names: Iterable[Attachment]) -> Mapping[str, Mapping[str, list[Attachment]]]:
    """What was imported, by the archive and by what it tells of."""
    found: dict[str, dict[str, list[Attachment]]] = {}
    for name in names:
        found.setdefault(name.archive, {}).setdefault(name.of, []).append(name)
    return found


def _is_run(attachment: Attachment, members: Any, data: bytes) -> bool:
    if not isinstance(members, dict) or members.keys() != _RUN or canonical(members) != data:
        return False
    for whose in ("source", "target"):
        UserScope(**members[whose])
    named = {"archive_sha256": attachment.of, "imported_at": attachment.at}
    return named.items() <= members.items() and isinstance(members["principal"], str)


def _dated(attachment: Attachment, data: bytes) -> Dated | None:
    if attachment.part is Part.BASELINES:
        baseline = baselines.load(data)
        own = baseline is not None and (baseline.doc_id, baseline.sequence) == (attachment.doc_id, attachment.sequence)
        return Dated(baseline.timestamp, baseline.profile_id) if own and baseline is not None else None
    record = read_record(data)
    return (
        None if record is None or not _is_of(attachment, record) else Dated(record["timestamp"], record["profile_id"])
    )


def _is_of(attachment: Attachment, record: Record) -> bool:
    """Whether a record is that of the name, open, and has what every record has.

    It asks for nothing that a chain does not ask for: what was imported can be exported again.
    """
    place = (record["doc_id"], record["sequence"], record["change_id"])
    return (
        not is_sealed(record)
        and record["values_hash"] == values_hash(record)
        and place == (attachment.doc_id, attachment.sequence, f"{attachment.doc_id}-{attachment.sequence:012d}")
        and all(isinstance(record[name], str) for name in _TEXTS)
        and isinstance(record["profile_id"], str | None)
    )
