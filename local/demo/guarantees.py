"""What the service holds to, shown one by one on the documents that the sessions left behind."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any, Final

from local.demo.client import Confirmation, MemoryClient, Patch, Unexpected, hold
from local.demo.difference import differences
from local.demo.orchestrator import DYNAMIC
from local.demo.screen import Screen, content_size, dropped, tag

STATIC: Final = "user/user_static.json"
COUNTED_TO: Final = 10
MOST_ATTEMPTS: Final = 200
EVIDENCE: Final = {"conversation_id": "guarantees", "message_ids": ["by-hand"]}
NOTED: Final = "2026-03-03T09:00:00Z"


@dataclass(frozen=True, slots=True)
class Guarantees:
    """Two services, a stranger from another tenant, an auditor, and the project document they meet on."""

    copilot: MemoryClient
    mail: MemoryClient
    stranger: MemoryClient
    auditor: MemoryClient
    project: str
    screen: Screen

    @property
    def path(self) -> str:
        """The project's document."""
        return f"projects/{self.project}.json"

    async def show(self) -> None:
        """Show all. Raises Unexpected at the first that does not hold."""
        self.screen.title("What the service refuses, repeats and never loses")
        await self._create_if_absent()
        written = await self._stale_write()
        await self._retry(written)
        await self._reused_key(written)
        await self._forbidden_paths()
        await self._own_proposal()
        await self._dry_run()
        await self._other_tenant()
        await self._at_once()
        await self._budget()
        await self._guidance()

    def facet(self, name: str, value: Any, *, etag: str | None, key: str, op: str = "add") -> Patch:
        """A patch that sets one facet of the project."""
        ops = [{"op": op, "path": f"/content/facets/{name}", "value": value}]
        return Patch(self.path, "project_doc", ops, etag, key, EVIDENCE, 0.9)

    async def _create_if_absent(self) -> None:
        if (await self.copilot.get(self.path)).status == 404:
            await self.copilot.patch(self.facet("status", "unknown", etag=None, key="guarantees-create"))

    async def _stale_write(self) -> Patch:
        """Return the write that went through first."""
        self.screen.heading("A stale write is refused, and rebased under a key that names the first")
        before = (await self.mail.get(self.path)).expect(200).body
        first = self.facet("status", "green", etag=before["etag"], key="copilot-status-1")
        done = (await self.copilot.patch(first)).expect(200)
        middle = await self._document(self.mail)
        self.screen.say(
            f"both services read {self.path} in version {tag(before['etag'])}; {self.copilot.principal} is faster:"
        )
        self.screen.patch(first, done, differences(before["document"]["content"], middle["content"]))

        late = self.facet("newsletter", "monthly", etag=before["etag"], key="mail-newsletter-1")
        refused = (await self.mail.patch(late)).expect(412, code="ETAG_MISMATCH")
        self.screen.say(f"{self.mail.principal} still names the version it read:")
        self.screen.refusal(f"PATCH {self.path}", refused)

        self.screen.say("it reads again, sees that its patch still makes sense, and sends it on the new version:")
        newest = await self._etag(self.mail)
        hold(refused.details["latest_etag"] == newest, f"latest_etag is not the newest version, {newest}")
        rebased = replace(late, etag=newest, key=f"{late.key}#rebase-1")
        answer = (await self.mail.patch(rebased)).expect(200)
        after = await self._document(self.mail)
        self.screen.patch(rebased, answer, differences(middle["content"], after["content"]))
        facets = after["content"]["facets"]
        hold((facets["status"], facets["newsletter"]) == ("green", "monthly"), f"a write was lost: {facets}")
        record = (await self.auditor.audit(self.path))[-1]
        hold(record["lineage"] == late.key, f"the record names another lineage: {record['lineage']}")
        self.screen.say(
            f"the audit record of change {record['sequence']} has lineage {record['lineage']}", indent=10, style="dim"
        )
        return first

    async def _retry(self, first: Patch) -> None:
        self.screen.heading("A retried write is answered again, not applied again")
        before = await self._document(self.copilot)
        answer = (await self.copilot.patch(first)).expect(200)
        hold(answer.replayed, "the repetition was not recognised")
        hold(await self._document(self.copilot) == before, "the repetition changed the document")
        self.screen.say(
            f"{self.copilot.principal} sends {first.key} again, with the same body and the same, now stale, If-Match:"
        )
        outcome = (
            f"Idempotency-Replayed: true, again change {answer.body['sequence']}, version {tag(answer.body['etag'])}"
        )
        self.screen.request(f"PATCH {self.path}", answer.status, outcome)

    async def _reused_key(self, first: Patch) -> None:
        self.screen.heading("A key that was used for another body is refused")
        ops = [{"op": "add", "path": "/content/facets/status", "value": "red"}]
        await self._refused(self.copilot, replace(first, ops=ops), 409, "IDEMPOTENCY_KEY_REUSED")

    async def _forbidden_paths(self) -> None:
        self.screen.heading("A path that the profile does not open, and content that it never takes, are refused")
        static = (await self.mail.get(STATIC)).expect(200).body
        ops = [{"op": "add", "path": "/content/profile/display_name", "value": "Mallory"}]
        self.screen.say(f"{self.mail.principal} tries to rename the user:")
        rename = Patch(STATIC, "user_static", ops, static["etag"], "mail-rename-1", EVIDENCE, 1.0)
        await self._refused(self.mail, rename, 422, "PATH_NOT_WRITABLE")
        self.screen.say("and to leave a secret in the project's facets:")
        secret = self.facet("api_key", "k-123", etag=await self._etag(self.mail), key="mail-secret-1")
        await self._refused(self.mail, secret, 422, "FIELD_DENIED")
        self.screen.say("and a card number, whatever the field is called:")
        paid = "The user pays with 4111 1111 1111 1111."
        card = self.facet("billing", paid, etag=await self._etag(self.mail), key="mail-card-1")
        await self._refused(self.mail, card, 422, "FIELD_DENIED")

    async def _own_proposal(self) -> None:
        self.screen.heading("Who proposes does not confirm")
        before = await self.copilot.get(DYNAMIC)
        etag = before.body["etag"] if before.status == 200 else None
        fact = {"id": "fact-by-hand", "text": "The office may move.", "confidence": 0.4, "evidence": EVIDENCE}
        add = {"op": "add", "path": "/content/durable_facts/-", "value": {**fact, "last_verified_at": NOTED}}
        proposal = Patch(DYNAMIC, "user_dynamic", [add], etag, "copilot-guess-1", EVIDENCE, 0.4)
        (await self.copilot.patch(proposal)).expect(200, 201)
        self.screen.say(f'{self.copilot.principal} proposed "{fact["text"]}" and tries to make it a fact itself:')
        waiting = [row["item"]["id"] for row in await self.copilot.pending()]
        confirm = Confirmation(DYNAMIC, waiting[-1], "copilot-own-1", EVIDENCE, 1.0)
        refused = (await self.copilot.confirm(confirm)).expect(403, code="PROPOSER_CANNOT_CONFIRM")
        self.screen.refusal(confirm.request, refused)

    async def _dry_run(self) -> None:
        self.screen.heading("A dry run goes through every check and writes nothing")
        before = await self._document(self.copilot)
        patch = self.facet("status", "amber", etag=await self._etag(self.copilot), key="copilot-what-if-1")
        answer = (await self.copilot.patch(patch, dry_run=True)).expect(200)
        self.screen.request(f"PATCH {self.path}?dry_run=true", answer.status, "what it would change:")
        would = answer.body["document"]
        self.screen.differences(differences(before["content"], would["content"]))
        hold(would["content"]["facets"]["status"] == "amber", "the dry run shows another outcome")
        hold(await self._document(self.copilot) == before, "the dry run changed the document")
        self.screen.say(
            f"the document is still at version {tag(await self._etag(self.copilot))}", indent=10, style="dim"
        )

    async def _other_tenant(self) -> None:
        self.screen.heading("A token of another tenant opens nothing")
        answer = (await self.stranger.get(DYNAMIC)).expect(403, code="TENANT_FORBIDDEN")
        self.screen.refusal(f"GET {DYNAMIC}", answer)

    async def _at_once(self) -> None:
        self.screen.heading("Two services write at once, and nothing is lost")
        start = self.facet("opened", 0, etag=await self._etag(self.copilot), key="copilot-opened-0")
        (await self.copilot.patch(start)).expect(200)
        lost = await asyncio.gather(*(self._count(client) for client in (self.copilot, self.mail)))
        found = (await self._document(self.copilot))["content"]["facets"]["opened"]
        hold(found == 2 * COUNTED_TO, f"the counter is {found}, not {2 * COUNTED_TO}")
        self.screen.say(
            f"each adds 1 to the same facet {COUNTED_TO} times: it is {found} "
            f"({sum(lost)} stale writes were refused and rebased)"
        )

    async def _count(self, client: MemoryClient) -> int:
        """Add 1 to the counter again and again; return how many attempts came too late."""
        late = 0
        for number in range(COUNTED_TO):
            key = f"{client.principal}-opened-{number + 1}"
            late += await self._add_one(client, key)
        return late

    async def _add_one(self, client: MemoryClient, key: str) -> int:
        for attempt in range(MOST_ATTEMPTS):
            body = (await client.get(self.path)).expect(200).body
            value = body["document"]["content"]["facets"]["opened"] + 1
            own = f"{key}#rebase-{attempt}" if attempt else key
            answer = await client.patch(self.facet("opened", value, etag=body["etag"], key=own, op="replace"))
            if answer.status == 200:
                return attempt
            answer.expect(412, code="ETAG_MISMATCH")
        raise Unexpected(f"{key} was refused {MOST_ATTEMPTS} times")

    async def _budget(self) -> None:
        self.screen.heading("A context has a budget; what matters least is left out first")
        whole = (await self.copilot.assemble("", project_id=self.project)).expect(200)
        sizes = [content_size(document) for document in whole.body["documents"]]
        answer = (await self.copilot.assemble("", project_id=self.project, max_chars_total=sum(sizes) - 1)).expect(200)
        left_out = answer.body["dropped_bindings"]
        too_long = any(row["reason"] == "max_chars_total" for row in left_out)
        hold(too_long, f"nothing was left out for its size: {left_out}")
        self.screen.say(f"all {len(sizes)} documents have {sum(sizes):,} characters; with room for one less:")
        for document in answer.body["documents"]:
            self.screen.fact("given", f"{document['namespace']}/{document['path']}", indent=8)
        for row in left_out:
            self.screen.fact("not given", dropped(row), indent=8, style="yellow")

    async def _guidance(self) -> None:
        self.screen.heading("What the user wishes is given apart from what is known, and for as long as it holds")
        etag = (await self.copilot.get(DYNAMIC)).expect(200).body["etag"]
        fact = {"id": "wish-by-hand", "text": "Answer in Portuguese.", "confidence": 1.0, "evidence": EVIDENCE}
        wish = {**fact, "last_verified_at": NOTED, "ttl_class": "this week"}
        ops = [{"op": "add", "path": "/content/user_instructions/-", "value": wish}]
        (await self.copilot.patch(Patch(DYNAMIC, "user_dynamic", ops, etag, "copilot-wish-1", EVIDENCE, 1.0))).expect(
            200
        )
        body = (await self.mail.assemble("")).expect(200).body
        (given,) = body["guidance"]
        stored = [document["document"]["content"] for document in body["documents"]]
        hold(not any("user_instructions" in content for content in stored), "guidance is among the facts")
        for entry in given["entries"]:
            self.screen.fact(
                "guidance", f'"{entry["text"]}" until {entry.get("expires_at", "further notice")}', indent=8
            )
        self.screen.say(body["guidance_note"], indent=10, style="dim")

    async def _refused(self, client: MemoryClient, patch: Patch, status: int, code: str) -> None:
        """The patch is refused with this status and code, and the document stays as it is."""
        before = (await client.get(patch.path)).body
        self.screen.refusal(f"PATCH {patch.path}", (await client.patch(patch)).expect(status, code=code))
        hold((await client.get(patch.path)).body == before, "a refused write changed the document")

    async def _document(self, client: MemoryClient) -> dict[str, Any]:
        document: dict[str, Any] = (await client.get(self.path)).expect(200).body["document"]
        return document

    async def _etag(self, client: MemoryClient) -> str:
        return str((await client.get(self.path)).expect(200).body["etag"])
