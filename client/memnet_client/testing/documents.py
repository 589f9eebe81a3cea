"""Documents: list, get, patch, replace, delete, and their audit records."""

from memnet_client.testing.call import READERS, Answer, Call, check_identifier, checked_place, need
from memnet_client.testing.claimants import code_of
from memnet_client.testing.commits import Decision, Write, commit, target
from memnet_client.testing.json_patch import ROOT, Json, canonical
from memnet_client.testing.patches import Patch, check_size, content_of, decide_patch
from memnet_client.testing.refusals import Refusal
from memnet_client.testing.rules import Profile, covers
from memnet_client.testing.state import Document, Version, moment_of, text_of

ROLE_OF_REASON = {
    "live_update": "Memory.Write",
    "replay_update": "Memory.Replay",
    "admin_migration": "Memory.Admin",
}


def list_documents(call: Call) -> Answer:
    """List the existing documents by name."""
    namespace, prefix = call.query("namespace"), call.query("prefix") or ""
    if namespace is not None:
        check_identifier("namespace", namespace)
    start = f"{namespace}/{prefix}" if namespace is not None else prefix
    rows = [
        {
            "namespace": place[0],
            "path": place[1],
            "etag": document.newest.etag,
            "updated_at": document.newest.timestamp,
            "size": len(canonical(document.newest.view[ROOT])),
            "sequence": document.newest.sequence,
        }
        for place, document in sorted(call.memory.documents.items())
        if document.exists and "/".join(place).startswith(start)
    ]
    return call.page("documents", rows)


def get_document(call: Call) -> Answer:
    """Get the newest version or, with as_of, an earlier one."""
    as_of, stored = call.query("as_of"), call.memory.documents.get(call.place())
    if stored is None or (as_of is None and not stored.exists):
        raise Refusal("DOCUMENT_NOT_FOUND", "There is no such document.")
    version = stored.newest if as_of is None else version_at(stored, as_of)
    return call.conditional(version.etag, {"etag": version.etag, "document": version.view})


def version_at(stored: Document, as_of: str) -> Version:
    """Return the version at a time or a change_id. Raises Refusal VERSION_NOT_FOUND."""
    number = as_of.rpartition("-")[2]
    if len(number) == 12 and number.isdecimal():
        found = [one for one in stored.versions if as_of == f"{stored.doc_id}-{one.sequence:012d}"]
    else:
        until = text_of(moment_of(as_of))
        found = [one for one in stored.versions if one.timestamp <= until]
    if not found or found[-1].view is None:
        raise Refusal("VERSION_NOT_FOUND", "The document did not exist at that time.")
    return found[-1]


def patch_document(call: Call) -> Answer:
    """Apply a JSON Patch, or create the document from the binding's initial content."""
    place, precondition, key, dry_run = call.place(), call.precondition(), call.key(), call.flag("dry_run")
    body = call.body
    need({ROLE_OF_REASON[body["reason"]]}, call.identity)
    if any(op.get("op") in ("test", "copy", "move") for op in body["ops"]):
        need(READERS, call.identity)
    profile, binding = governed(call, body, place)
    patch = Patch(
        profile=profile,
        binding=binding,
        ops=body["ops"],
        reason=body["reason"],
        principal=call.principal,
        evidence=body.get("evidence"),
        confidence=body.get("confidence"),
        source_time=body.get("source_time"),
        person=call.person,
        claimed_by=code_of(call, body.get("claimant"), profile, [body["binding_id"]], "/claimant"),
    )
    write = Write(call.identity, key, ["PATCH", body], precondition, dry_run)
    return commit(call.world, target(call, place), write, lambda stored: decide_patch(call.world, patch, stored))


def replace_document(call: Call) -> Answer:
    """Replace a whole document, or create it."""
    place, precondition, key, dry_run = call.place(), call.precondition(), call.key(), call.flag("dry_run")
    body = call.body
    profile, binding = governed(call, body, place)
    sent = body["document"]
    schema = (sent["schema_id"], sent["schema_version"])
    ops = [{"op": "add", "path": f"/{ROOT}", "value": sent["content"]}]

    def decide(stored: Document | None) -> Decision:
        if schema != (binding["schema_id"], binding["schema_version"]):
            raise Refusal("BINDING_MISMATCH", "The binding is for documents of another schema or version.")
        check_size(profile, binding, sent["content"], content_of(stored, binding) if stored else None)
        profile.check_denied(ops)
        return Decision(
            content=sent["content"],
            ops=ops,
            reason="admin_migration",
            schema=schema,
            profile=profile,
            binding_id=binding["binding_id"],
            evidence=body.get("evidence"),
            note=body.get("reason"),
        )

    write = Write(call.identity, key, ["PUT", body], precondition, dry_run)
    return commit(call.world, target(call, place), write, decide)


def delete_document(call: Call) -> Answer:
    """Delete a document; its history stays."""
    place, precondition, key = call.place(), call.precondition(), call.key()
    if precondition == "*":
        raise Refusal("INVALID_PRECONDITION", "A delete requires If-Match.")
    note = call.query("reason")

    def decide(stored: Document | None) -> Decision:
        view: Json = stored.newest.view if stored else {}
        ops = [{"op": "remove", "path": f"/{ROOT}"}]
        schema = (view["schema_id"], view["schema_version"])
        return Decision(content=None, ops=ops, reason="admin_migration", schema=schema, note=note, deleted=True)

    write = Write(call.identity, key, ["DELETE", note], precondition, call.flag("dry_run"))
    return commit(call.world, target(call, place), write, decide)


def list_audit(call: Call) -> Answer:
    """List the records document by document, the oldest of each first."""
    namespace, path = call.query("namespace"), call.query("path")
    if path is not None and namespace is None:
        raise Refusal("MALFORMED_REQUEST", "A path needs its namespace.")
    if namespace is not None:
        checked_place(namespace, path or "any")
    wanted = (namespace, path)
    rows = [
        record
        for place, document in sorted(call.memory.documents.items())
        if all(asked in (None, own) for asked, own in zip(wanted, place, strict=True))
        for record in document.records
    ]
    return call.page("records", rows)


def governed(call: Call, body: Json, place: tuple[str, str]) -> tuple[Profile, Json]:
    """Return profile and binding of a write. Raises Refusal for another document or principal."""
    profile = call.profile(body["profile_id"])
    binding = profile.binding(body["binding_id"])
    if not covers(binding, place):
        raise Refusal("BINDING_MISMATCH", "This binding is for another document.", binding_id=binding["binding_id"])
    return profile, binding
