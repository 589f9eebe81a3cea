"""The agent card: what other agents may ask of a user's memory, and where."""

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

VERSION = "0.1.0"
PROTOCOL = "1.0"
TEXT, JSON = "text/plain", "application/json"


def agent_card(url: str) -> AgentCard:
    """Return the card of the agent at `url`, which ends with the user's path."""
    return AgentCard(
        name="memnet",
        description="Governed long-term memory of one user.",
        version=VERSION,
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version=PROTOCOL)
            for binding in ("JSONRPC", "HTTP+JSON")
        ],
        capabilities=AgentCapabilities(streaming=False, push_notifications=False),
        security_schemes={"bearer": SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="bearer"))},
        security_requirements=[SecurityRequirement(schemes={"bearer": StringList()})],
        default_input_modes=[TEXT, JSON],
        default_output_modes=[TEXT, JSON],
        skills=[
            AgentSkill(
                id="recall",
                name="Recall",
                description="Returns the memory about the user that fits a text. The input is text.",
                tags=["memory"],
                examples=["Which chart should the report have?"],
                output_modes=[TEXT],
            ),
            AgentSkill(
                id="remember",
                name="Remember",
                description=(
                    "Adds an entry to a list of a document. The input is data with skill, binding, section, entry, "
                    "and optionally ids, evidence and confidence. Adding an entry twice has no further effect."
                ),
                tags=["memory"],
                input_modes=[JSON],
                output_modes=[JSON],
            ),
            AgentSkill(
                id="learn_from_conversation",
                name="Learn from a conversation",
                description=(
                    "Extracts memory from a conversation. The input is data with skill and messages, and optionally "
                    "conversation_id. The task is the extraction; it requires input while a proposal or a conflict "
                    "is open."
                ),
                tags=["memory"],
                input_modes=[JSON],
                output_modes=[JSON],
            ),
            AgentSkill(
                id="consolidate",
                name="Consolidate",
                description=(
                    "Lets statements that say the same become one, which cites the sources of all. The input is data "
                    "with skill, and optionally dry_run, which reports what would change. The caller needs a role for "
                    "maintenance. Repeating it has no further effect."
                ),
                tags=["memory"],
                input_modes=[JSON],
                output_modes=[JSON],
            ),
        ],
    )
