"""Types of JSON values that several areas share."""

from typing import Any

Record = dict[str, Any]
"""One audit record, as memnet.domain.documents.audit_record builds it."""
