"""Why a document changes."""

from enum import StrEnum


class Reason(StrEnum):
    """Why a document changes; recorded in every audit record."""

    LIVE_UPDATE = "live_update"
    REPLAY_UPDATE = "replay_update"
    ADMIN_MIGRATION = "admin_migration"
    COMPACTION = "compaction"
    FRESHNESS = "freshness"
    CONFIRMATION = "confirmation"
    REJECTION = "rejection"
