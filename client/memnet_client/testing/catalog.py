"""Profiles, schemas, statistics, reindexing and health."""

from memnet_client.testing.call import Answer, Call, check_identifier
from memnet_client.testing.json_patch import Json, digest
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.rules import Profile

SHOWN = ("binding_id", "namespace", "path", "path_template", "schema_id", "schema_version", "max_chars")
SHOWN_TOO = ("read_priority", "write_mode")


def list_profiles(call: Call) -> Answer:
    """List the profiles that the caller may see."""
    rows = [_row(one) for _, one in sorted(call.world.profiles.items()) if _is_shown(call, one)]
    return call.page("profiles", rows)


def get_profile(call: Call) -> Answer:
    """Get a profile with its defaults."""
    found = call.world.profiles.get(check_identifier("profile_id", call.path["profile_id"]))
    if found is None:
        raise Refusal("PROFILE_NOT_FOUND", "There is no such profile.")
    if not _is_shown(call, found):
        raise Refusal("PROFILE_FORBIDDEN", "This principal is not in the profile's allowed_principals.")
    return call.conditional(found.etag, {"etag": found.etag, "profile": found.body})


def get_schema(call: Call) -> Answer:
    """Get a version of a schema that was given to the fake."""
    named = tuple(check_identifier(name, call.path[name]) for name in ("schema_id", "schema_version"))
    body = call.world.schemas.get((named[0], named[1]))
    if body is None:
        raise Refusal("SCHEMA_NOT_FOUND", "There is no such schema, or not this version of it.")
    etag = f'"{digest(body)}"'
    shown = {"etag": etag, "schema_id": named[0], "schema_version": named[1], "schema": body}
    return call.conditional(etag, shown)


def reindex_events(call: Call) -> Answer:
    """Start a reindexing, which has succeeded when it is read."""
    call.world.check_writable(call.path["tenant_id"])
    now = call.world.ticks.now()
    call.tenant.reindexing = {
        "reindex_id": call.world.ticks.new_id(),
        "status": "running",
        "events": sum(len(memory.events) for memory in call.tenant.users.values()),
        "snapshots": 0,
        "waiting": 0,
        "removed": 0,
        "started_at": now,
        "updated_at": now,
    }
    return Answer(dict(call.tenant.reindexing), 202, {"Location": call.request.url.path})


def get_reindexing(call: Call) -> Answer:
    """Get the latest reindexing."""
    if call.tenant.reindexing is None:
        raise Refusal("REINDEX_NOT_FOUND", "The events of this tenant have never been reindexed.")
    call.tenant.reindexing["status"] = "succeeded"
    return Answer(dict(call.tenant.reindexing))


def get_statistics(call: Call) -> Answer:
    """Get statistics without requests: the fake measures nothing."""
    minutes = call.query("minutes") or "60"
    if not minutes.isdecimal() or not 1 <= int(minutes) <= 60:
        raise Refusal("MALFORMED_REQUEST", "The query parameter minutes must be 1 to 60.", param="minutes")
    now = call.world.ticks.now()
    none: Json = {"waiting": 0, "oldest_at": None, "oldest_age_seconds": 0.0}
    jobs = {kind: none for kind in ("replay", "conflict", "retraction", "reindex")}
    requests = {"since": now, "until": now, "operations": [], "by_minute": []}
    backlog = {"jobs": jobs, "events_to_index": none, "complete": True}
    return Answer({"scope": "process", "requests": requests, "backlog": backlog})


def health_live(call: Call) -> Answer:
    """Answer that the process serves requests."""
    return Answer({"status": "ok"})


def health_ready(call: Call) -> Answer:
    """Answer that all dependencies are there."""
    checks = dict.fromkeys(("storage", "issuer", "search", "vault", "queue"), "ok")
    return Answer({"status": "ok", "checks": checks})


def _is_shown(call: Call, profile: Profile) -> bool:
    return bool({"Memory.Admin", "Memory.Audit"} & call.identity.roles) or profile.admits(call.principal)


def _row(profile: Profile) -> Json:
    bindings = [{name: one[name] for name in (*SHOWN, *SHOWN_TOO)} for one in profile.body["document_bindings"]]
    named = {
        "profile_id": profile.profile_id,
        "version": profile.body["version"],
        "extends": profile.body["extends"],
        "etag": profile.etag,
    }
    return {**named, "document_bindings": bindings}
