"""The page report.html of an archive: HTML without a script or anything from elsewhere; every text is escaped."""

from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Any

from memnet.domain.core.scope import Json
from memnet.domain.governance.change_words import shortened
from memnet.domain.governance.report import Change, Newest, Report
from memnet.domain.history.entries import Said
from memnet.domain.history.statements import EntryState

MAX_MESSAGES = 200
MAX_TEXT = 2_000
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 46rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
ul { padding-left: 1.2rem; } li { margin: .6rem 0; } p { margin: .2rem 0; }
.about { font-size: .875rem; }
""".strip()
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_REASONS = {
    "replay_update": "learnt from a conversation",
    "admin_migration": "by an operator",
    "compaction": "upkeep",
    "freshness": "upkeep",
}
"""The reasons of changes that the words of a change do not say."""


def report_lines(report: Report) -> Iterator[bytes]:
    """Yield the lines of the page."""
    for line in _page(report):
        yield line.encode()


def _page(report: Report) -> Iterator[str]:
    user, tenant = escape(report.scope.user_id), escape(report.scope.tenant_id)
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield f"<title>Memory about {user}</title><style>{_STYLE}</style></head><body><main>"
    yield f"<h1>Memory about {user}</h1>"
    yield f"<p>Tenant {tenant}. Exported {escape(_time(report.made_at))} by {escape(report.actor)}.</p>"
    yield from _entries("Remembered", "Nothing is remembered.", report, EntryState.OPEN)
    yield from _entries("No longer true", "Nothing was replaced.", report, EntryState.CLOSED)
    yield from _entries("Waiting for confirmation", "Nothing is waiting.", report, EntryState.WAITING)
    yield from _section("Events", "No event is stored.", report.events, "events.jsonl", _event)
    yield from _conversations(report)
    yield from _section(
        "Reads of conversations, and exports", "No access is recorded.", report.accesses, "accesses.jsonl", _access
    )
    yield from _holds(report)
    yield from _section("Changes", "No change is recorded.", report.changes, "audit/", _change)
    yield from _missing(report)
    yield "</main></body></html>"


def _entries(title: str, nothing: str, report: Report, state: EntryState) -> Iterator[str]:
    found = [(document, said) for document, said in report.entries if said.state is state]
    yield f"<h2>{title}</h2>"
    if not found:
        yield f"<p>{nothing}</p>"
    for (document, section), group in groupby(found, key=lambda one: (one[0], one[1].section)):
        yield f'<h3>{escape(section)} <span class="about">({escape(document)})</span></h3><ul>'
        for _, said in group:
            yield f"<li><p>{_text(said.text)}</p>{_about(*_origin(said))}</li>"
        yield "</ul>"
    if state is EntryState.OPEN and report.entry_count > len(report.entries):
        yield f"<p>{report.entry_count - len(report.entries)} more entries are in documents/.</p>"


def _origin(said: Said) -> Iterator[str]:
    origin, valid = said.origin, said.validity
    if valid.valid_from:
        until = f" until {valid.valid_until[:10]}" if valid.valid_until else ""
        yield f"{'Held' if until else 'Holds'} since {valid.valid_from[:10]}{until}."
    product = f" through {origin.application}" if origin.application else ""
    verb = "Confirmed" if origin.is_confirmed else "Written"
    yield f"{verb} {_time(origin.timestamp)} by {origin.actor}{product}."
    if origin.proposed_by:
        yield f"Proposed by {origin.proposed_by}."
    yield from _source(said.evidence)
    if said.confidence is not None:
        yield f"Confidence {said.confidence:.2f}."


def _source(evidence: Json) -> Iterator[str]:
    if isinstance(evidence, Mapping) and isinstance(evidence.get("conversation_id"), str):
        listed = evidence.get("message_ids")
        messages = ", ".join(map(str, listed)) if isinstance(listed, list) else ""
        yield f"Said in conversation {evidence['conversation_id']}{f', {messages}' if messages else ''}."


def _section(
    title: str, nothing: str, found: Newest[Any], file: str, describe: Callable[[str, Any], str]
) -> Iterator[str]:
    yield f"<h2>{title}</h2>"
    if not found.total:
        yield f"<p>{nothing}</p>"
        return
    if found.total > len(found.rows):
        yield f"<p>The newest {len(found.rows)} of {found.total}; all are in {file}.</p>"
    yield "<ul>"
    for at, row in found.rows:
        yield f"<li>{describe(at, row)}</li>"
    yield "</ul>"


def _event(at: str, event: Any) -> str:
    return f"<p>{_text(event.digest)}</p>{_about(_time(at), f'from {event.service_id}')}"


def _change(at: str, change: Change) -> str:
    product = f" through {change.application}" if change.application else ""
    who = f"{_time(at)}, {change.actor}{product}, {change.document}"
    words = "".join(f"<p>{_text(phrase)}</p>" for phrase in change.words)
    return words + _about(who, *filter(None, [_REASONS.get(change.reason)]))


def _access(at: str, access: Mapping[str, Any]) -> str:
    product = f" through {access['application']}" if access["application"] else ""
    what = f"read conversation {access['conversation_id']}" if "conversation_id" in access else "exported the memory"
    reason = f" Reason: {access['reason']}." if access.get("reason") else ""
    line = f"{_time(at)}: {access['principal']}{product} {what}.{reason}"
    return f"<p>{_text(line)}</p>"


def _conversations(report: Report) -> Iterator[str]:
    def describe(at: str, row: tuple[str, str, int]) -> str:
        conversation_id, product, messages = row
        number = f"{messages} message{'' if messages == 1 else 's'}"
        line = f"{_time(at)}: conversation {conversation_id} with {product}, {number}."
        return f"<p>{_text(line)}</p>"

    nothing = "No conversation is stored."
    if report.conversations_left_out:
        nothing = f"{_are(report.conversations_left_out)} stored and not in this archive."
    yield from _section("Conversations", nothing, report.conversations, "snapshots.jsonl", describe)
    for at, talk in report.talks.rows:
        yield f"<h3>Conversation {escape(talk.conversation_id)}, {escape(_time(at))}</h3><ul>"
        for message in talk.messages[:MAX_MESSAGES]:
            yield f"<li><p>{_text(message.content)}</p>{_about(message.role, _time(message.timestamp))}</li>"
        yield "</ul>"


def _holds(report: Report) -> Iterator[str]:
    yield "<h2>Legal holds</h2>"
    if not report.holds:
        yield "<p>No legal hold: data expires and can be erased.</p>"
    for hold in report.holds:
        whom = "this user" if hold.covers == "user" else "all users of the tenant"
        yield f"<p>Since {escape(_time(hold.at))} nothing about {whom} is deleted.</p>"


def _missing(report: Report) -> Iterator[str]:
    lines = [
        "Encryption keys, signatures of the history, and records that only prevent a request from counting twice.",
        "The reasons of legal holds, and memory about other users.",
        "Backups of the storage, logs, and copies that products made of the memory that they read.",
    ]
    if report.conversations_left_out:
        lines.insert(0, f"{_are(report.conversations_left_out)} NOT in it.")
    yield "<h2>Not in this archive</h2><ul>"
    yield from (f"<li>{escape(line)}</li>" for line in lines)
    yield "</ul>"


def _are(conversations: int) -> str:
    return "1 conversation is" if conversations == 1 else f"{conversations} conversations are"


def _about(*parts: str) -> str:
    return f'<p class="about">{escape(" ".join(parts))}</p>'


def _text(text: str) -> str:
    return escape(shortened(text, MAX_TEXT))


def _time(at: str) -> str:
    """Return a stored time to the minute."""
    return f"{at[:10]} {at[11:16]} UTC"
