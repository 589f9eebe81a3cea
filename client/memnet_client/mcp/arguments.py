"""The arguments of the tools. None of them says whose memory it is; unknown arguments are refused."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memnet_client.prompt import MIN_CHARS

MAX_MESSAGES = 2000

Binding = Annotated[str, Field(description="A binding of memory://profile, such as user_dynamic.")]
Confidence = Annotated[float | None, Field(ge=0, le=1)]
DocumentId = Annotated[str | None, Field(description="Id within a family, such as a project's.")]


class Arguments(BaseModel):
    """Arguments of a tool: exactly the ones that it lists."""

    model_config = ConfigDict(extra="forbid")


class EvidenceArgument(Arguments):
    """The messages that say it."""

    conversation_id: str
    message_ids: Annotated[list[str], Field(min_length=1)]


class NoArguments(Arguments):
    """No arguments."""


class ContextArguments(Arguments):
    """Arguments of memory_context."""

    text: Annotated[str, Field(description="Topic of the conversation.")] = ""
    max_chars: Annotated[int, Field(ge=MIN_CHARS, le=200_000)] = 12_000
    events: Annotated[int, Field(ge=0, le=50, description="Maximum number of past events.")] = 5


class SearchArguments(Arguments):
    """Arguments of memory_search."""

    query: Annotated[str, Field(min_length=1, max_length=1000)]
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    closed: Annotated[bool, Field(description="Include statements that no longer hold.")] = False
    valid_at: Annotated[str | None, Field(description="RFC 3339 time: what held then.")] = None


class ReadArguments(Arguments):
    """Arguments of memory_read."""

    binding_id: Binding
    id: DocumentId = None
    as_of: Annotated[str | None, Field(description="RFC 3339 time, or a change_id.")] = None


class RememberArguments(Arguments):
    """Arguments of memory_remember."""

    binding_id: Binding
    section: Annotated[str, Field(description="JSON Pointer of a list, such as /preferences.")]
    value: Annotated[str | dict[str, Any], Field(description="A sentence, or an entry as the section keeps it.")]
    evidence: EvidenceArgument | None = None
    confidence: Confidence = None
    id: DocumentId = None


class CorrectArguments(Arguments):
    """Arguments of memory_correct."""

    binding_id: Binding
    path: Annotated[str, Field(pattern="^(/[^/]+)+$", description="JSON Pointer of the entry, such as /preferences/0.")]
    expected: Annotated[Any, Field(description="The entry as memory_read gave it.")]
    value: Annotated[Any, Field(description="The new entry; null removes it.")]
    evidence: EvidenceArgument | None = None
    confidence: Confidence = None
    id: DocumentId = None


class ResolveArguments(Arguments):
    """Arguments of memory_resolve."""

    pending_id: str
    decision: Annotated[
        Literal["confirm", "existing", "both", "reject"] | None,
        Field(description="The user's decision; ignored by a host that asks the user."),
    ] = None
    choice: int = 1
    evidence: EvidenceArgument | None = None


class MessageArgument(Arguments):
    """One message of a conversation. `author` is its role: no argument of a tool has a name of access control."""

    message_id: str
    author: Literal["user", "assistant", "system", "tool"]
    content: str
    timestamp: Annotated[str, Field(description="RFC 3339 time.")]


class HandInArguments(Arguments):
    """Arguments of memory_hand_in."""

    conversation_id: str
    messages: Annotated[list[MessageArgument], Field(min_length=1, max_length=MAX_MESSAGES)]


class ConsolidateArguments(Arguments):
    """Arguments of memory_consolidate."""

    dry_run: Annotated[bool, Field(description="Report what would change, and change nothing.")] = False


class ReplayArguments(Arguments):
    """Arguments of memory_replay."""

    replay_id: str
    wait_seconds: Annotated[int, Field(ge=0, le=25, description="Wait for its end.")] = 0
