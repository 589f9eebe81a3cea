"""Put a whole content in place: migrations and administration."""

from memnet.domain.documents import content_rules
from memnet.domain.documents.commands import ReplaceDocument, WriteResult
from memnet.domain.documents.envelope import Envelope
from memnet.domain.documents.write_decision import Decision, decide_replacement
from memnet.operations.documents.commit_change import commit_change
from memnet.service import Service


async def replace_document(command: ReplaceDocument, service: Service) -> WriteResult:
    """Replace or create the document, exactly once, and return the new version's ETag.

    Raises ProfileNotFound, ProfileForbidden, BindingNotFound, BindingMismatch, and what `commit_change` and
    `domain.draft.decide_replacement` raise; then nothing has changed.
    """
    rules = service.catalog.governance(command.profile_id, command.binding_id, command.actor, command.key)

    def decide(head: Envelope | None) -> Decision:
        draft = decide_replacement(command, rules, head)
        # Not within the draft: a migration carries over what is stored, whatever it is.
        content_rules.check_content(command.content, rules.profile.sensitive_content)
        remarks = {"note": command.note, "evidence": command.evidence}
        content_rules.check_remarks(remarks, rules.profile.sensitive_content)
        return draft

    return await commit_change(command, decide, service)
