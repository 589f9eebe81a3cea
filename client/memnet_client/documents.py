"""Calls on one user's documents: read, change and append."""

import copy
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from memnet_client import requests
from memnet_client.difference import DEPTH, difference
from memnet_client.errors import (
    ConflictNotResolved,
    DocumentExists,
    DocumentNotFound,
    ETagMismatch,
    IdempotencyKeyReused,
    MalformedRequest,
)
from memnet_client.profile import at, entry_id, fill, same, template_of
from memnet_client.randomness import new_id, now
from memnet_client.results import applied_before, change_of
from memnet_client.steps import Budget, Json, Request, Retry, Steps, send
from memnet_client.user_calls import UserCalls
from memnet_client.values import Change, Document, Evident, Page, Pages, evidence_json

KNOWN_DOCUMENTS = 32
"""Documents that a user object keeps to ask for them by their ETag."""


class Known:
    """The newest version of the documents that were read last, by their place."""

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}
        self._lock = threading.Lock()

    def get(self, place: str) -> Document | None:
        """Return the version that was read last."""
        with self._lock:
            return self._documents.get(place)

    def put(self, place: str, document: Document | None) -> None:
        """Remember a version; None forgets it."""
        with self._lock:
            self._documents.pop(place, None)
            if document is not None:
                self._documents[place] = document
            if len(self._documents) > KNOWN_DOCUMENTS:
                del self._documents[next(iter(self._documents))]


class Documents(UserCalls):
    """Calls on documents."""

    def __init__(self, tenant: str, user_id: str, profile_id: str, retry: Retry, profiles: dict[str, Json]) -> None:
        super().__init__(tenant, user_id, profile_id, retry, profiles)
        self._known = Known()

    def documents(self, *, namespace: str | None = None, prefix: str | None = None) -> Pages[Json]:
        """List the user's documents by name."""

        def page(cursor: str | None) -> Steps[Page[Json]]:
            request = requests.list_documents(self.root, namespace=namespace, prefix=prefix, cursor=cursor)
            body = (yield from send(request, self.retry)).body
            return Page(body["documents"], body["next_cursor"])

        return page

    def read(self, /, binding: str, *, as_of: str | None = None, **ids: str) -> Steps[Document | None]:
        """Get the current version of a document or, with `as_of`, an earlier one; None if there is none.

        `as_of` is an RFC 3339 time or a change_id, and requires a role for histories. A version that was read before
        is requested by its ETag.
        """
        _, place = yield from self.place(binding, ids)
        return (yield from self._read(place, Budget(self.retry.deadline), as_of))

    def _read(self, place: tuple[str, str], budget: Budget, as_of: str | None = None) -> Steps[Document | None]:
        known = None if as_of else self._known.get("/".join(place))
        request = requests.get_document(self.root, *place, as_of=as_of, known=known.etag if known else None)
        try:
            answer = yield from send(request, self.retry, budget)
        except DocumentNotFound:
            self._known.put("/".join(place), None)
            return None
        if answer.status != 304:
            known = Document(*place, answer.body["etag"], answer.body["document"])
            if not as_of:
                self._known.put("/".join(place), known)
        assert known is not None
        return replace(known, envelope=copy.deepcopy(known.envelope))

    def update(
        self,
        /,
        binding: str,
        change: Callable[[Json], Json | None],
        *,
        key: str | None = None,
        evidence: Evident = None,
        confidence: float | None = None,
        source_time: str | None = None,
        claimant: str | None = None,
        reason: str = "live_update",
        dry_run: bool = False,
        depth: int = DEPTH,
        **ids: str,
    ) -> Steps[Change]:
        """Change a document: read it, let `change` edit a copy of its content or return another, and write it.

        `change` runs again on the newest version when another writer was faster, so it must be pure. A document that
        does not exist begins with the profile's initial content. `key` names the intention: whatever becomes of a
        process, the change takes effect once under it. Without a key the client makes one. A value `depth` levels
        below the content is replaced as a whole, so that a change of a large value is one operation. `claimant`: the
        user of the tenant who states it, in a workspace.

        Raises ConflictNotResolved, OutcomeUnknown, and the refusals of the service.
        """
        described, place = yield from self.place(binding, ids)
        intention = key or new_id()
        budget = Budget(self.retry.deadline)
        for rebases in range(self.retry.rebases + 1):
            head = yield from self._read(place, budget)
            base = head.content if head else described.get("initial_content") or {}
            wanted = copy.deepcopy(base)
            returned = change(wanted)
            ops = difference(base, wanted if returned is None else returned, depth=depth)
            if not ops:
                return Change("unchanged", head.etag if head else None, rebases=rebases)
            request = self._patch(
                binding, place, ops, head.etag if head else requests.CREATE, intention,
                evidence, confidence, source_time, claimant, reason, dry_run,
            )  # fmt: skip
            try:
                answer = yield from send(request, self.retry, budget)
            except (ETagMismatch, DocumentExists, DocumentNotFound):
                wait = self.retry.rebase_wait(rebases)
                if budget.left <= wait.spread:
                    break
                budget.spend((yield wait))
                continue
            except IdempotencyKeyReused as error:
                # A refused attempt leaves its key unused. So this intention took effect before, in another form.
                if key is None:
                    raise
                return applied_before(error, rebases)
            return replace(change_of(answer), rebases=rebases)
        raise ConflictNotResolved(
            "CONFLICT_NOT_RESOLVED",
            f"Other writers were faster {rebases + 1} times. Nothing was written.",
            details={"binding_id": binding, "key": intention},
        )

    def append(
        self,
        /,
        binding: str,
        section: str,
        entry: Json,
        *,
        same: Callable[[Json, Json], bool] = same,
        key: str | None = None,
        evidence: Evident = None,
        confidence: float | None = None,
        source_time: str | None = None,
        claimant: str | None = None,
        reason: str = "live_update",
        dry_run: bool = False,
        **ids: str,
    ) -> Steps[Change]:
        """Add an entry to the list at `section`, for example /preferences, unless the list or a pending item has it.

        Where the profile says how a text becomes an entry of the section, `entry` may be the text alone. `same` decides
        whether two entries say the same. Raises what `update` raises, and MalformedRequest if there is no such list.
        """
        # Two claimants who say the same make two statements; the service knows which are whose.
        is_same = same if claimant is None else _different
        profile = yield from self.profile()
        wanted = _entry(profile, binding, section, entry, evidence_json(evidence), confidence, source_time)
        pending = (profile.get("pending_sections") or {}).get(binding)
        waiting: list[str] = []

        def add(content: Json) -> None:
            entries = at(content, section)
            if not isinstance(entries, list):
                raise MalformedRequest("MALFORMED_REQUEST", f"{section} is not a list.", details={"path": section})
            items = at(content, pending) if pending else []
            waiting[:] = [item["id"] for item in items if _proposes(item, section, wanted, is_same)]
            if not waiting and not any(is_same(there, wanted) for there in entries):
                entries.append(wanted)

        result = yield from self.update(
            binding, add, key=key, evidence=evidence, confidence=confidence, source_time=source_time,
            claimant=claimant, reason=reason, dry_run=dry_run, depth=DEPTH, **ids,
        )  # fmt: skip
        return replace(result, waiting=tuple(waiting)) if result.status == "unchanged" else result

    def patch(
        self,
        /,
        binding: str,
        ops: Sequence[Json],
        *,
        etag: str | None,
        key: str,
        evidence: Evident = None,
        confidence: float | None = None,
        source_time: str | None = None,
        claimant: str | None = None,
        reason: str = "live_update",
        dry_run: bool = False,
        **ids: str,
    ) -> Steps[Change]:
        """Send JSON Patch operations (RFC 6902) for exactly this version; `etag` None creates the document.

        Paths begin with /content. `claimant`: the user of the tenant who states it, in a workspace. Nothing is rebased.
        Raises ETagMismatch, DocumentExists, ClaimantNotFound, and the other refusals.
        """
        _, place = yield from self.place(binding, ids)
        request = self._patch(
            binding, place, ops, etag, key, evidence, confidence, source_time, claimant, reason, dry_run
        )
        return change_of((yield from send(request, self.retry)))

    def _patch(
        self,
        binding: str,
        place: tuple[str, str],
        ops: Sequence[Json],
        etag: str | None,
        key: str,
        evidence: Evident,
        confidence: float | None,
        source_time: str | None,
        claimant: str | None,
        reason: str,
        dry_run: bool,
    ) -> Request:
        return requests.patch_document(
            self.root,
            *place,
            etag=etag,
            key=key,
            profile_id=self.profile_id,
            binding_id=binding,
            ops=ops,
            reason=reason,
            evidence=evidence_json(evidence),
            confidence=confidence,
            source_time=source_time,
            claimant=claimant,
            dry_run=dry_run,
        )

    def replace(
        self,
        /,
        binding: str,
        content: Json,
        *,
        etag: str | None,
        key: str | None = None,
        reason: str | None = None,
        evidence: Evident = None,
        dry_run: bool = False,
        **ids: str,
    ) -> Steps[Change]:
        """Replace a whole document as an administrator; `etag` None creates it. Raises the service's refusals."""
        described, place = yield from self.place(binding, ids)
        document = {name: described[name] for name in ("schema_id", "schema_version")} | {"content": content}
        request = requests.replace_document(
            self.root,
            *place,
            etag=etag,
            key=key or new_id(),
            profile_id=self.profile_id,
            binding_id=binding,
            document=document,
            reason=reason,
            evidence=evidence_json(evidence),
            dry_run=dry_run,
        )
        return change_of((yield from send(request, self.retry)))

    def delete(
        self, /, binding: str, *, etag: str, key: str | None = None, reason: str | None = None, dry_run: bool = False,
        **ids: str,
    ) -> Steps[Change]:  # fmt: skip
        """Delete a document as an administrator; its history remains. Raises the service's refusals."""
        _, place = yield from self.place(binding, ids)
        request = requests.delete_document(
            self.root, *place, etag=etag, key=key or new_id(), reason=reason, dry_run=dry_run
        )
        return change_of((yield from send(request, self.retry)))


def _entry(
    profile: Json, binding: str, section: str, entry: Json, evidence: Json, confidence: float | None, time: str | None
) -> Json:
    template = template_of(profile, binding, section)
    if template is None or not isinstance(entry, str):
        return entry
    said_at = time or now()
    values = {"$id": entry_id(section, entry), "$text": entry, "$evidence": evidence, "$time": said_at}
    values |= {"$confidence": 1.0 if confidence is None else confidence, "$date": said_at[: len("2026-02-14")]}
    # A text alone gives no value to these. The service writes the code of a claimant.
    return fill(template, values | dict.fromkeys(("$said", "$topic", "$claimant")))


def _different(_there: Json, _wanted: Json) -> bool:
    return False


def _proposes(item: Json, section: str, wanted: Json, same: Callable[[Json, Json], bool]) -> bool:
    target = item.get("target") or {}
    return str(target.get("path", "")).startswith(f"/content{section}/") and same(target.get("value"), wanted)
