"""What a listing with `include=snapshots,versions,deleted` says of one row.

Source: List Blobs (REST API, Azure Storage), "Response body". A snapshot has a `Snapshot`; a blob of an account with
versioning has a `VersionId`, and the current version `IsCurrentVersion`; what soft delete keeps has `Deleted`, and
below `Properties` `RemainingRetentionDays`.
"""

from datetime import datetime, timedelta

from azure.storage.blob import BlobProperties


def copy_of(blob: BlobProperties) -> str:
    """The query parameter that names this version or snapshot; empty for the current blob, which is named without."""
    if blob.snapshot is not None:
        return f"snapshot={blob.snapshot}"
    if blob.version_id is not None and not blob.is_current_version:
        return f"versionid={blob.version_id}"
    return ""


def kept_until(blob: BlobProperties, now: datetime) -> datetime | None:
    """Until when a soft-deleted blob can be recovered at most; None for one that is not deleted.

    The listing tells whole days, so the day that has begun counts in full.
    """
    return now + timedelta(days=(blob.remaining_retention_days or 0) + 1) if blob.deleted else None
