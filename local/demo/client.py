"""The memory service as one principal sees it over HTTP, and a tally of all that was asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientError, ClientSession

from local.demo.subject import PROFILE


class Unexpected(Exception):
    """The service answered otherwise than the story says; the demo has failed."""


def hold(condition: bool, otherwise: str) -> None:
    """Raise Unexpected, saying `otherwise`, unless the condition holds."""
    if not condition:
        raise Unexpected(otherwise)


@dataclass(frozen=True, slots=True)
class Answer:
    """A status, the headers (names in lower case) and the JSON body."""

    status: int
    headers: Mapping[str, str]
    body: Any

    @property
    def code(self) -> str:
        """The error code, empty if it is no error."""
        return str(self.body["error"]["code"]) if self.status >= 400 else ""

    @property
    def details(self) -> Mapping[str, Any]:
        """What the error says beyond its message."""
        found: Mapping[str, Any] = self.body["error"]["details"]
        return found

    @property
    def replayed(self) -> bool:
        """Whether the service says that it answers a repetition."""
        return self.headers.get("idempotency-replayed") == "true"

    def expect(self, *statuses: int, code: str = "") -> "Answer":
        """Return the answer itself. Raises Unexpected if it has another status or error code."""
        if self.status not in statuses or self.code != code:
            wanted = " or ".join(map(str, statuses)) + (f" {code}" if code else "")
            raise Unexpected(f"expected {wanted}, got {self.status}: {self.body}")
        return self


@dataclass(slots=True)
class Tally:
    """What the demo's writes came to. `applied` counts redirected ones, too: they are changes."""

    requests: int = 0
    applied: int = 0
    redirected: int = 0
    refused: int = 0
    replayed: int = 0
    dry_runs: int = 0

    def count_write(self, answer: Answer) -> None:
        """Count the outcome of a PATCH or PUT."""
        if answer.status >= 400:
            self.refused += 1
        elif answer.body.get("dry_run"):
            self.dry_runs += 1
        elif answer.replayed:
            self.replayed += 1
        else:
            self.applied += 1
            self.redirected += bool(answer.body.get("redirected"))


@dataclass(frozen=True, slots=True)
class Patch:
    """A PATCH as it is sent, so that it can be sent again. `etag` None: create the document."""

    path: str
    """Namespace and path, with a slash between them."""
    binding_id: str
    ops: list[dict[str, Any]]
    etag: str | None
    key: str
    evidence: dict[str, Any] | None = None
    confidence: float | None = None
    source_time: str | None = None

    @property
    def request(self) -> str:
        """What is asked, in a few words."""
        return f"PATCH {self.path}"

    def body(self) -> dict[str, Any]:
        """The request's body."""
        members = {
            "profile_id": PROFILE,
            "binding_id": self.binding_id,
            "ops": self.ops,
            "reason": "live_update",
            "evidence": self.evidence,
            "confidence": self.confidence,
            "source_time": self.source_time,
        }
        return {name: value for name, value in members.items() if value is not None}

    def headers(self) -> dict[str, str]:
        """The headers that make it conditional and safe to repeat."""
        precondition = {"If-None-Match": "*"} if self.etag is None else {"If-Match": self.etag}
        return {**precondition, "Idempotency-Key": self.key}


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A confirmation of a pending item as it is sent."""

    path: str
    """Namespace and path of the document, with a slash between them."""
    pending_id: str
    key: str
    evidence: dict[str, Any]
    confidence: float

    @property
    def request(self) -> str:
        """What is asked, in a few words."""
        return "POST pending/…:confirm"

    def body(self) -> dict[str, Any]:
        """The request's body."""
        namespace, _, path = self.path.partition("/")
        return {"namespace": namespace, "path": path, "confidence": self.confidence, "evidence": self.evidence}


@dataclass(frozen=True, slots=True)
class MemoryClient:
    """One principal's calls about one user."""

    http: ClientSession
    root: str
    """The user's URL: https://…/v1/tenants/{tenant_id}/users/{user_id}."""
    principal: str
    token: str = field(repr=False)
    tally: Tally

    async def get(self, path: str, *, as_of: str | None = None) -> Answer:
        """Read a document."""
        return await self._send("GET", f"/documents/{path}", params={"as_of": as_of} if as_of else {})

    async def patch(self, patch: Patch, *, dry_run: bool = False) -> Answer:
        """Send a PATCH."""
        params = {"dry_run": "true"} if dry_run else {}
        answer = await self._send(
            "PATCH", f"/documents/{patch.path}", body=patch.body(), headers=patch.headers(), params=params
        )
        self.tally.count_write(answer)
        return answer

    async def pending(self) -> list[dict[str, Any]]:
        """Read what waits for confirmation in all documents. Raises Unexpected if it is refused."""
        rows: list[dict[str, Any]] = []
        params: dict[str, str] = {}
        while True:
            page = (await self._send("GET", "/pending", params=params)).expect(200).body
            rows += page["pending"]
            if page["next_cursor"] is None:
                return rows
            params = {"cursor": page["next_cursor"]}

    async def confirm(self, sent: Confirmation) -> Answer:
        """Confirm a pending item."""
        path, headers = f"/pending/{sent.pending_id}:confirm", {"Idempotency-Key": sent.key}
        answer = await self._send("POST", path, body=sent.body(), headers=headers)
        self.tally.count_write(answer)
        return answer

    async def put(self, path: str, *, binding_id: str, document: dict[str, Any], key: str, reason: str) -> Answer:
        """Create a document as a whole."""
        body = {"profile_id": PROFILE, "binding_id": binding_id, "document": document, "reason": reason}
        headers = {"If-None-Match": "*", "Idempotency-Key": key}
        answer = await self._send("PUT", f"/documents/{path}", body=body, headers=headers)
        self.tally.count_write(answer)
        return answer

    async def assemble(
        self,
        text: str,
        *,
        project_id: str | None = None,
        max_chars_total: int | None = None,
        include_events: Mapping[str, int] | None = None,
    ) -> Answer:
        """Ask for the context of a conversation."""
        body: dict[str, Any] = {"profile_id": PROFILE, "conversation_hint": {"text": text, "project_id": project_id}}
        if max_chars_total is not None:
            body["max_chars_total"] = max_chars_total
        if include_events is not None:
            body["include_events"] = include_events
        return await self._send("POST", "/context:assemble", body=body)

    async def snapshot(self, conversation_id: str, body: dict[str, Any]) -> Answer:
        """Submit a conversation."""
        return await self._send("POST", f"/conversations/{conversation_id}/snapshots", body=body)

    async def replay(self, replay_id: str) -> Answer:
        """Get a replay."""
        return await self._send("GET", f"/replays/{replay_id}")

    async def record(self, event: dict[str, Any]) -> Answer:
        """Record an event."""
        return await self._send("POST", "/events", body=event)

    async def search(self, body: dict[str, Any]) -> Answer:
        """Search the events."""
        return await self._send("POST", "/events:search", body=body)

    async def forget(self, key: str) -> Answer:
        """Ask for the erasure of all that is stored of the user."""
        return await self._send("DELETE", "/memory", headers={"Idempotency-Key": key})

    async def erasure(self, erasure_id: str) -> Answer:
        """Get an erasure."""
        return await self._send("GET", f"/erasures/{erasure_id}")

    async def audit(self, path: str | None = None) -> list[dict[str, Any]]:
        """Read all records, or those of one document. Raises Unexpected if they are refused."""
        namespace, _, rest = (path or "").partition("/")
        params = {"namespace": namespace, "path": rest} if path else {}
        records: list[dict[str, Any]] = []
        while True:
            page = (await self._send("GET", "/audit", params=params)).expect(200).body
            records += page["records"]
            if page["next_cursor"] is None:
                return records
            params = {**params, "cursor": page["next_cursor"]}

    async def _send(
        self,
        method: str,
        path: str,
        *,
        body: dict[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Answer:
        self.tally.requests += 1
        sent = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        url = f"{self.root}{path}"
        try:
            async with self.http.request(method, url, json=body, headers=sent, params=params) as response:
                found = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status, found, await response.json(content_type=None))
        except (ClientError, TimeoutError, ValueError) as error:
            raise Unexpected(f"{method} {path} got no answer in JSON: {error!r}") from error
