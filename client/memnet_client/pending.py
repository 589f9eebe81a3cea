"""Calls on what waits for confirmation."""

import hashlib
import json
from collections.abc import Mapping
from typing import Literal

from memnet_client import requests
from memnet_client.errors import IdempotencyKeyReused
from memnet_client.results import applied_before, change_of
from memnet_client.steps import Json, Request, Steps, send
from memnet_client.user_calls import UserCalls
from memnet_client.values import Change, Evident, Page, Pages, PendingItem, evidence_json, pending_item

Take = Literal["proposed", "existing", "both"]
CONFIRMED = 0.95
"""Confidence of what a person confirmed, unless the caller gives another."""


class PendingItems(UserCalls):
    """Calls on pending items."""

    def pending(self) -> Pages[PendingItem]:
        """List what waits for confirmation in all of the user's documents."""

        def page(cursor: str | None) -> Steps[Page[PendingItem]]:
            body = (yield from send(requests.list_pending(self.root, cursor=cursor), self.retry)).body
            return Page([pending_item(row) for row in body["pending"]], body["next_cursor"])

        return page

    def confirm(
        self,
        item: PendingItem,
        *,
        evidence: Evident = None,
        confidence: float = CONFIRMED,
        value: Json = None,
        take: Take = "proposed",
        choice: int | None = None,
        apart: str | None = None,
        key: str | None = None,
        etag: str | None = None,
        dry_run: bool = False,
    ) -> Steps[Change]:
        """Confirm a pending item: what the answer takes is written, with this confidence and evidence.

        `take`: of an item that contradicts an entry, which is right: the proposal, the existing entry, or both.
        `choice`: the index in `item.choices` of the proposal, if there are several. `apart`: with both, what sets the
        proposal apart; the default is its value.

        `value` is written instead of the proposed one; `etag` confirms on that version only. The default key is made
        from the item and the answer, so a repeated answer takes effect once. Raises ProposerCannotConfirm,
        PendingTargetChanged, PendingItemNotFound and the other refusals. Of two answers one is applied; the details of
        the other's error show what was decided.
        """
        body = {"namespace": item.namespace, "path": item.path, "confidence": confidence}
        brought = {"evidence": evidence_json(evidence) or None, "value": value}
        body |= {name: given for name, given in brought.items() if given is not None}
        chosen = {"take": take if take != "proposed" else None, "choice": choice, "apart": apart}
        answer = {name: given for name, given in chosen.items() if given is not None}
        body |= answer
        request = requests.confirm_pending(
            self.root, item.pending_id, key=key or _key(item, answer), etag=etag, body=body, dry_run=dry_run
        )
        return (yield from self._decide(request))

    def reject(
        self, item: PendingItem, *, note: str | None = None, key: str | None = None, etag: str | None = None
    ) -> Steps[Change]:
        """Reject a pending item: it is removed, its history remains. Its proposer may withdraw it.

        Raises PendingItemNotFound and the other refusals.
        """
        body = {"namespace": item.namespace, "path": item.path} | ({"note": note} if note else {})
        request = requests.reject_pending(
            self.root, item.pending_id, key=key or f"reject:{item.pending_id}", etag=etag, body=body
        )
        return (yield from self._decide(request))

    def _decide(self, request: Request) -> Steps[Change]:
        try:
            return change_of((yield from send(request, self.retry)))
        except IdempotencyKeyReused as error:
            return applied_before(error)


def _key(item: PendingItem, answer: Mapping[str, Json]) -> str:
    """Return the key of an answer: another answer to the same question is another request."""
    if not answer:
        return f"confirm:{item.pending_id}"
    return f"confirm:{item.pending_id}:{hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:16]}"
