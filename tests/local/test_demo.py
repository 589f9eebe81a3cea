"""The whole demo as it is called, against its own real stack."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from local.stack.process import ROOT


def run_demo(*arguments: str, directory: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run it with a temporary directory of its own, which it must leave empty."""
    environment = {
        **os.environ,
        "MEMNET_MODEL_PROVIDERS": "none",
        **settings,
        "TMPDIR": str(directory),
        "PYTHONIOENCODING": "utf-8",
    }
    command = [sys.executable, "-m", "local.demo", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)


def told(output: str) -> str:
    """The output without its line ends, since long lines are broken anywhere."""
    return " ".join(output.split())


HIDDEN = re.compile(r"[0-9a-f]{12}|\betag\b|W/\"", re.IGNORECASE)
"""A hash, a UUID or an ETag."""


def test_the_life_of_one_fact_is_short_and_shows_no_hash(tmp_path: Path) -> None:
    result = run_demo(directory=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) <= 95
    assert max(map(len, lines)) <= 100
    assert not HIDDEN.search(result.stdout)
    output = told(result.stdout)
    for line in (
        "proposed “Lives in Lisbon since January 2026”, confidence 0.75",
        "so it cannot confirm the fact itself: refused",
        "known “Lives in Lisbon since January 2026”, confidence 0.95, confirmed by travel-desk",
        "<memnet-context>",
        "proposed “Lives in Porto since May 2026” in place of “Lives in Lisbon since January 2026”",
        "replaced - “Lives in Lisbon since January 2026” + “Lives in Porto since May 2026”",
        "verified all 4 records",
        "A search finds both before a model has read them.",
        "closed - “I work at Acme.” from 3 June 2026 to 1 July 2026",
        "open + “I left Acme. I work at Northwind now.” since 1 July 2026, in its place",
        "In the next session the agent asks its memory: “Where do you work now?”",
        "“I left Acme. I work at Northwind now.” (entry, said in chat-3, message t2-1)",
        "asked “Earlier: I left Acme. I work at Northwind now. Now: I may be with Contoso by now. Which is right?”",
        "open “I left Acme. I work at Northwind now.”, confirmed by travel-desk; no question waits",
        "“Our release day is Monday.” (disputed)",
        "“Our release day is Friday.” (disputed)",
        "recalled “My tickets go to locker 7.” It has closed what Maya said.",
        "blame memnet-worker wrote it with confidence 0.90, said in mail-1, message m1",
        "plan reopened “My tickets go to my office.” removed “My tickets go to locker 7.” "
        "and 1 event, 1 replay, 1 snapshot",
        "recalled “My tickets go to my office.”, open again; nothing of mail-1 is found",
        "receipt signed",
        "known nothing",
        "http://127.0.0.1:8080/console",
        "docs/quickstart.md",
    ):
        assert line in output, line
    assert [path.name for path in tmp_path.iterdir()] == []


def test_shipped_conversation_shows_everything_and_leaves_nothing(tmp_path: Path) -> None:
    result = run_demo("--full", directory=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    output = told(result.stdout)
    for line in (
        "routed to atlas (alias_match, score 0.94)",
        "Fixed phrases extract memory. Set OPENAI_API_KEY, ",
        "append project_doc atlas /recent_notes -> applied change 1, version 1-",
        "key maya-1-turn-3-1, confidence 0.90, evidence maya-1 m3 + /preferences/0 I prefer short answers",
        "stored encrypted; a worker replays it",
        "s replay succeeded",
        "confirm -> applied change 6, version 6-",
        "+ /durable_facts/1 I moved to Lisbon in January (confidence 0.95",
        "update user_dynamic -> applied change 11, version 11-",
        "- /durable_facts/1 I moved to Lisbon in January (confidence 0.95",
        "known already: nothing is written",
        "routed to no project (ambiguous: atlas or harbor",
        "recalled 0.30 Search got slower again after Friday's release.",
        'record "Minutes were sent." -> mail-1 record "Something else was said." -> 409 EVENT_EXISTS',
        'search "reranker numbers slower" -> 3 events 0.69 Search got slower',
        'user u2 has none search "reranker numbers slower" -> 0 events',
        "patch project_doc -> 412 ETAG_MISMATCH",
        "the audit record of change 5 has actor svc-mail and key mail-newsletter-1",
        "patch project_doc -> replayed change 4, version 4-",
        "patch project_doc -> 409 IDEMPOTENCY_KEY_REUSED",
        "update project_doc -> applied_before change 4, version 4-",
        "update project_doc -> outcome unknown NO_ANSWER another process reads it from JSON, and sends it unchanged: "
        "send -> replayed change 6, version 6-",
        "patch user_static -> 422 PATH_NOT_WRITABLE",
        "patch project_doc -> 422 FIELD_DENIED",
        "not sure enough for /durable_facts/-: redirected to /pending_confirmations "
        "confirm -> 403 PROPOSER_CANNOT_CONFIRM",
        "update project_doc -> dry_run it would change: - /facets/status green + /facets/status amber",
        "read user_dynamic -> 403 TENANT_FORBIDDEN",
        "with update: it is 20 (",
        "not given projects/atlas.json (max_chars_total)",
        'guidance "Answer in Portuguese." until ',
        "41 records for 41 writes that were applied: each is audited once",
        "read user_dynamic -> as of ",
        "append user_dynamic /preferences -> 409 ERASURE_RUNNING",
        "s erasure complete removed audit 4, documents 4, events 7, index documents 7, keys 1,",
        "looked at blobs, index, queues: 2 whole looks found nothing more",
        "genuine: signed by key ",
        "read user_dynamic -> none search -> no events",
        "erase -> complete with the key of before: the same receipt, and nothing is removed",
        "writes 38 applied (1 of them redirected to wait for confirmation), ",
        "refused, 2 replayed, 1 dry run",
        "All checks passed. To try it yourself: make dev",
    ):
        assert line in output, line
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert "\x1b" not in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == []


def test_conversation_of_ones_own_meets_the_limits_and_shows_sessions_in_brief(tmp_path: Path) -> None:
    """More preferences than the profile takes, odd text, and nothing that could be routed."""
    wishes = [f"I prefer number {number}." for number in range(14)]
    facts = [f"I started course number {number}." for number in range(4)] + ["Fine."] * 28
    odd = ["\x1b[31m" + "long " * 2000, "", "\0", "\N{GRINNING FACE}" * 100, "We decided to go.", "Yes."]
    sessions = [wishes, facts, *([text] for text in odd), odd * 2]
    turns = [
        {"role": "user", "content": text, "timestamp": f"2026-02-{day:02}T09:{minute:02}:00Z"}
        for day, texts in enumerate(sessions, 1)
        for minute, text in enumerate(texts)
    ]
    file = tmp_path / "my talk (1).json"
    file.write_text(json.dumps(turns), "utf-8")
    with tempfile.TemporaryDirectory(dir=tmp_path) as directory:
        result = run_demo(str(file), directory=Path(directory))
        assert result.returncode == 0, result.stdout + result.stderr
    output = told(result.stdout)
    assert "64 turns in 9 sessions" in output
    assert "It is a long conversation" in output
    assert "limit max_preferences, allowed 12, found 13, path /content/preferences" in output
    assert "left out I prefer number 1 " in output
    assert "Session 9: 09 February 2026, 09:00 UTC, 12 turns" in output
    assert "events 6 recorded" in output
    assert "recalled " in output
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert "All checks passed." in output
