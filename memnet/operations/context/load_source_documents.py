"""Find the documents that a replay may propose changes to."""

import orjson

from memnet.domain.catalog.path_policy import ROOT
from memnet.domain.catalog.profile import Binding, Profile
from memnet.domain.context.context import AssembleContext, is_unreadable
from memnet.domain.context.routing import MAX_TEXT
from memnet.domain.core.errors import HistoryCorrupt, ProfileForbidden
from memnet.domain.core.scope import Actor
from memnet.domain.replay.extraction import SourceDocument
from memnet.domain.replay.injected_context import strip_messages
from memnet.domain.replay.snapshot import Snapshot
from memnet.operations.context.assemble_context import assemble_context
from memnet.service import Service


async def load_source_documents(snapshot: Snapshot, service: Service, *, actor: Actor) -> list[SourceDocument]:
    """Return the profile's writable documents, those of the conversation's project or the like among them.

    Which one that is, is routed by what the user said, and by nothing that was put into the conversation from memory.
    A document that does not exist is shown with its binding's initial content. Raises ProfileNotFound,
    ProfileForbidden, HistoryCorrupt if a document cannot be read, Unavailable.
    """
    profile = service.catalog.profile(snapshot.profile_id)
    if not profile.admits(actor.principal):
        raise ProfileForbidden(f"The profile does not admit the worker's principal, {actor.principal}.")
    said = [message.content for message in strip_messages(snapshot.messages) if message.role == "user"]
    assembled = await assemble_context(
        AssembleContext(
            scope=snapshot.scope,
            actor=actor,
            profile_id=snapshot.profile_id,
            text="\n".join(said)[:MAX_TEXT],
            explicit_ids={},
        ),
        service,
        as_stored=True,
    )
    if any(map(is_unreadable, assembled.dropped_bindings)):
        raise HistoryCorrupt()
    found = {document.binding_id: document for document in assembled.documents}
    shown = []
    for binding in profile.document_bindings:
        variable = binding.variable()
        if not _is_writable(binding, profile) or not (variable is None or variable in assembled.selected):
            continue
        key = binding.resolve(snapshot.scope, assembled.selected.get(variable or ""))
        there = found.get(binding.binding_id)
        etag = there.etag if there else None
        document = orjson.loads(there.document) if there else None
        content = document[ROOT] if document else binding.initial_content or {}
        schema = (document["schema_id"], document["schema_version"]) if document else None
        shown.append(SourceDocument(binding.binding_id, key, etag, content, schema))
    return shown


def _is_writable(binding: Binding, profile: Profile) -> bool:
    return binding.write_mode != "read_only" and bool(profile.writable_path_rules.get(binding.binding_id))
