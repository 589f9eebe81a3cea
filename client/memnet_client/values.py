"""The values that calls take and return. `raw` is always the service's JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from memnet_client import outline, prompt
from memnet_client.steps import Json, Steps

T = TypeVar("T")

FINAL = frozenset({"succeeded", "partial", "failed", "retracted"})
"""The statuses of a replay that has ended."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a memory comes from: messages of a conversation."""

    conversation_id: str
    message_ids: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the evidence as a request has it."""
        return {"conversation_id": self.conversation_id, "message_ids": list(self.message_ids)}


Evident = Evidence | Mapping[str, Json] | None
"""Evidence in either form, or none."""


def evidence_json(evidence: Evident) -> Json:
    """Return evidence in either form as JSON."""
    return evidence.to_json() if isinstance(evidence, Evidence) else evidence and dict(evidence)


@dataclass(frozen=True, slots=True)
class Document:
    """One version of a document. `content` is the caller's own copy."""

    namespace: str
    path: str
    etag: str
    envelope: Json
    """The whole document: `schema_id`, `updated_at`, `updated_by`, `content` and more."""

    @property
    def content(self) -> Json:
        """The content, as the document's schema describes it."""
        return self.envelope["content"]


@dataclass(frozen=True, slots=True)
class Export:
    """An exported user."""

    data: bytes
    """The ZIP file."""
    sha256: str
    """The SHA-256 of the archive's manifest, which names the archive."""
    left_out: str | None
    """What is stored and not in it, such as "conversations=1"; None: nothing."""


@dataclass(frozen=True, slots=True)
class Change:
    """The result of a write.

    `applied`: now. `replayed`: by an earlier attempt of the same request. `applied_before`: under the same key in
    another form, for example before a restart. `unchanged`: there was nothing to write. `dry_run`: nothing written.
    """

    status: Literal["applied", "replayed", "applied_before", "unchanged", "dry_run"]
    etag: str | None = None
    change_id: str | None = None
    sequence: int | None = None
    redirected: tuple[Json, ...] = ()
    """Proposals that wait for confirmation because of their confidence, each with its `pending_id`."""
    settled: tuple[Json, ...] = ()
    """The verdict on each statement: `op_index`, `verdict`, `entry_id`, and if known `replaces`, `replaced_by` or
    `pending_id`."""
    document: Json = None
    """The resulting document of a dry run, if the token may read it."""
    rebases: int = 0
    """Times that the change was computed again because another writer was faster."""
    waiting: tuple[str, ...] = ()
    """Ids of pending items that propose the same already; then nothing was written."""

    @property
    def pending_ids(self) -> tuple[str, ...]:
        """The ids of the pending items that hold what was proposed."""
        proposed = [*self.redirected, *(one for one in self.settled if "pending_id" in one)]
        return (*dict.fromkeys(str(one["pending_id"]) for one in proposed), *self.waiting)

    @property
    def visible(self) -> Literal["now", "after_confirmation"]:
        """When a read shows the change."""
        return "after_confirmation" if self.pending_ids else "now"


@dataclass(frozen=True, slots=True)
class Context:
    """The memory that fits a conversation."""

    raw: Json

    @property
    def documents(self) -> list[Json]:
        """The documents, most important first, each with `binding_id`, `etag` and `document`."""
        return list(self.raw["documents"])

    @property
    def events(self) -> list[Json]:
        """The events, best first."""
        return list(self.raw.get("events") or ())

    @property
    def dropped(self) -> list[Json]:
        """The bindings that were left out, each with a `reason`."""
        return list(self.raw["dropped_bindings"])

    @property
    def selected(self) -> Mapping[str, str]:
        """The id that was chosen for each family of documents, by its variable."""
        return {name: value for name, value in self.raw["selected"].items() if value is not None}

    @property
    def clarification(self) -> Json:
        """The oldest question that only the user can answer, with its `choices`; None: there is none."""
        return self.raw.get("clarification")

    def as_prompt(self, format: prompt.Format | None = None, max_chars: int | None = None) -> str:
        """Return the memory as text for a model, between the markers that keep it from being learnt again.

        Without arguments it is the service's own text, in the format and budget that `assemble` named. Otherwise the
        same memory is written again: in `format` (bullets by default), with its markers in at most `max_chars`
        characters. Raises ValueError for an unknown format or a limit below 300.
        """
        if format is None and max_chars is None:
            return str(self.raw["prompt"])
        if max_chars is not None and max_chars < prompt.MIN_CHARS:
            raise ValueError(f"max_chars must be at least {prompt.MIN_CHARS}")
        parts = outline.outline(self.raw, outline.views_of(self.parts))
        return outline.render(parts, format or "bullets", len, max_chars).text

    @property
    def parts(self) -> list[Json]:
        """The parts of the prompt in order, each with `name`, `tokens` and whether entries were `dropped`."""
        return list(self.raw["prompt_parts"])


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a question found."""

    raw: Json

    @property
    def text(self) -> str:
        """The lines for a model, between the markers that keep them from being learnt again; empty without a result."""
        return str(self.raw["text"])

    @property
    def results(self) -> list[Json]:
        """What is in the text, best first: each with `text`, `score`, `kind` and where it was said."""
        return list(self.raw["results"])

    @property
    def left_out(self) -> list[Json]:
        """What was found and is not in the text, each with a `reason`."""
        return list(self.raw["left_out"])

    @property
    def degraded(self) -> list[str]:
        """Why results may be missing, such as "search"; empty if nothing was unavailable."""
        return list(self.raw["degraded"])


@dataclass(frozen=True, slots=True)
class PendingItem:
    """A proposed memory that waits for confirmation."""

    namespace: str
    path: str
    etag: str
    raw: Json
    existing: Json = None
    """Of a question: the open entry that it contradicts, with pointer, evidence and confidence; None: it is not open
    any more, or the item is no question."""

    @property
    def pending_id(self) -> str:
        """Its id."""
        return str(self.raw["id"])

    @property
    def binding_id(self) -> str:
        """The binding it was proposed under."""
        return str(self.raw["binding_id"])

    @property
    def text(self) -> str:
        """The proposal in words."""
        return str(self.raw["text"])

    @property
    def confidence(self) -> float | None:
        """The proposer's confidence, 0 to 1."""
        return self.raw.get("confidence")  # type: ignore[no-any-return]

    @property
    def proposed_by(self) -> str:
        """The principal that proposed it; it cannot confirm it."""
        return str(self.raw["proposed_by"])

    @property
    def question(self) -> str | None:
        """The question, if it contradicts an open entry."""
        return self.raw.get("question")  # type: ignore[no-any-return]

    @property
    def choices(self) -> list[str]:
        """The answers to the question: the open entry first, then the proposed ones. They quote what was said."""
        return list(self.raw.get("choices") or ())

    @property
    def decides(self) -> str | None:
        """Who decides: "user", "tenant", or None for everyone who may confirm."""
        return self.raw.get("decides")  # type: ignore[no-any-return]


def pending_item(row: Json) -> PendingItem:
    """Return the item of a row of a list."""
    return PendingItem(row["namespace"], row["path"], row["etag"], row["item"], row["existing"])


@dataclass(frozen=True, slots=True)
class TenantQuestion:
    """A question about a user that the tenant decides."""

    user_id: str
    item: PendingItem
    existing: Json
    """The open entry that the item contradicts, with pointer, evidence and confidence; None: it is not open now."""


@dataclass(frozen=True, slots=True)
class FoundEvent:
    """An event that a search found. Its digest may quote the user: treat it as data."""

    raw: Json

    @property
    def event_id(self) -> str:
        """Its id."""
        return str(self.raw["event_id"])

    @property
    def timestamp(self) -> str:
        """When it happened, RFC 3339."""
        return str(self.raw["timestamp"])

    @property
    def digest(self) -> str:
        """Its text."""
        return str(self.raw["digest"])

    @property
    def score(self) -> float | None:
        """How well it fits the query; None in a list without a query."""
        return self.raw.get("score")  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """A message that a search found. Its text quotes somebody: treat it as data."""

    raw: Json

    @property
    def conversation_id(self) -> str:
        """Its conversation."""
        return str(self.raw["conversation_id"])

    @property
    def message_id(self) -> str:
        """Its id in the conversation."""
        return str(self.raw["message_id"])

    @property
    def speaker(self) -> str:
        """The name of who speaks, or the role."""
        return str(self.raw["speaker"])

    @property
    def said_at(self) -> str:
        """When it was said, RFC 3339."""
        return str(self.raw["said_at"])

    @property
    def text(self) -> str:
        """What was said, without recalled memory and sensitive sentences."""
        return str(self.raw["text"])

    @property
    def score(self) -> float:
        """How well it fits the query."""
        return float(self.raw["score"])


@dataclass(frozen=True, slots=True)
class ReplayState:
    """A replay: the extraction of memory from one submitted conversation."""

    raw: Json

    @property
    def replay_id(self) -> str:
        """Its id."""
        return str(self.raw["replay_id"])

    @property
    def snapshot_id(self) -> str:
        """The id of the submitted conversation's snapshot."""
        return str(self.raw["snapshot_id"])

    @property
    def status(self) -> str:
        """queued, running, succeeded, partial, failed or retracted."""
        return str(self.raw["status"])

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.status in FINAL

    @property
    def patches(self) -> list[Json]:
        """The proposed patches with their results; empty until there are any."""
        return list(self.raw.get("patches") or ())


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list. `cursor` is None on the last one."""

    rows: list[T]
    cursor: str | None


Pages = Callable[[str | None], Steps[Page[T]]]
"""A list: a function from a cursor (None: from the start) to the steps that get the page."""


def every(pages: Pages[T]) -> Steps[list[T]]:
    """Get all rows of a list, page by page."""
    page = yield from pages(None)
    rows = [*page.rows]
    while page.cursor is not None:
        page = yield from pages(page.cursor)
        rows += page.rows
    return rows


Message = Mapping[str, Any]
"""One message: `message_id`, `role` (user, assistant, system, tool), `content` and `timestamp` (RFC 3339).

`name` says who speaks, if the role does not.
"""

Turn = Mapping[str, Any]
"""One turn: its `messages`, a `turn_id` or a `timestamp`, and perhaps a `topic`, `metadata` and a `claimant`.

In a turn, `message_id` and `timestamp` of a message may be missing.
"""
