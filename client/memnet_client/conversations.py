"""Calls on conversations: assemble a context, submit a conversation, follow its replay; and on events."""

from collections.abc import Mapping, Sequence

from memnet_client import requests
from memnet_client.errors import ReplayNotFound
from memnet_client.prompt import Format
from memnet_client.randomness import new_id, now
from memnet_client.steps import Budget, Json, Steps, Wait, send
from memnet_client.user_calls import UserCalls
from memnet_client.values import (
    Context,
    Evident,
    FoundEvent,
    FoundTurn,
    Message,
    Page,
    Pages,
    Recalled,
    ReplayState,
    Turn,
    evidence_json,
)


class Conversations(UserCalls):
    """Calls on conversations and events."""

    def assemble(
        self,
        /,
        text: str = "",
        *,
        max_chars: int | None = None,
        max_docs: int | None = None,
        events: int = 0,
        events_max_chars: int | None = None,
        format: Format = "bullets",
        max_tokens: int | None = None,
        **ids: str,
    ) -> Steps[Context]:
        """Get the memory that fits a conversation which begins with `text`.

        `ids` name a document of a family where it is known, for example project_id="p1". `events` is the maximum
        number of events of earlier conversations. `format` and `max_tokens` are those of the prompt. Raises the
        service's refusals.
        """
        body: dict[str, Json] = {"profile_id": self.profile_id, "conversation_hint": {"text": text, **ids}}
        limits = {"max_chars_total": max_chars, "max_docs": max_docs}
        body |= {name: limit for name, limit in limits.items() if limit is not None}
        body["render"] = {"format": format} | ({} if max_tokens is None else {"max_tokens": max_tokens})
        if events:
            body["include_events"] = {"top_k": events} | ({"max_chars": events_max_chars} if events_max_chars else {})
        answer = yield from send(requests.assemble_context(self.root, body), self.retry)
        return Context(answer.body)

    def recall(
        self,
        query: str,
        *,
        conversation_id: str | None = None,
        max_tokens: int | None = None,
        limit: int | None = None,
        recency_weight: float | None = None,
        pipeline: str | None = None,
        format: Format | None = None,
        waiting: bool = False,
        closed: bool = False,
        as_of: str | None = None,
        valid_at: str | None = None,
        debug: bool = False,
    ) -> Steps[Recalled]:
        """Find what matters for a question, in the middle of a conversation, as text for a model with citations.

        `max_tokens` and `limit` bound the text, at most as the profile says. `waiting` adds what waits for
        confirmation, `closed` statements that have held. Times are RFC 3339: `as_of` as recorded then, `valid_at` as it
        held then. Without a result the text is empty. Raises PipelineNotFound and the other refusals.
        """
        given = {
            "conversation_id": conversation_id,
            "max_tokens": max_tokens,
            "limit": limit,
            "recency_weight": recency_weight,
            "pipeline": pipeline,
            "format": format,
            "as_of": as_of,
            "valid_at": valid_at,
        }
        body: dict[str, Json] = {"profile_id": self.profile_id, "query": query}
        body |= {name: value for name, value in given.items() if value is not None}
        body |= {"include": {"waiting": waiting, "closed": closed}} if waiting or closed else {}
        body |= {"debug": True} if debug else {}
        return Recalled((yield from send(requests.recall(self.root, body), self.retry)).body)

    def record(
        self,
        digest: str,
        *,
        source_type: str,
        service_id: str,
        event_id: str | None = None,
        timestamp: str | None = None,
        keywords: Sequence[str] = (),
        entities: Sequence[str] = (),
        project_ids: Sequence[str] = (),
        snapshot_uri: str | None = None,
        evidence: Evident = None,
    ) -> Steps[Json]:
        """Record an event; return its `event_id` and whether it is `indexed`.

        Give an `event_id` to repeat the call safely after a restart. Raises EventExists if another event has the id.
        """
        event: dict[str, Json] = {
            "event_id": event_id or new_id(),
            "service_id": service_id,
            "source_type": source_type,
            "timestamp": timestamp or now(),
            "digest": digest,
            "keywords": list(keywords),
            "entities": list(entities),
            "project_ids": list(project_ids),
        }
        optional = {"snapshot_uri": snapshot_uri, "evidence": evidence_json(evidence)}
        event |= {name: value for name, value in optional.items() if value is not None}
        return (yield from send(requests.write_event(self.root, event), self.retry)).body

    def search(
        self,
        /,
        query: str | None = None,
        *,
        top_k: int = 10,
        since: str | None = None,
        until: str | None = None,
        **filters: str,
    ) -> Pages[FoundEvent]:
        """Search the user's events by words and meaning, best first; without a query list them, newest first.

        `top_k` is the size of a page; iterating continues with the next page. `filters` are service_id, project_id,
        source_type and entity.
        """
        given = {"query": query, "from": since, "to": until, **filters}
        body = {"top_k": top_k} | {name: value for name, value in given.items() if value is not None}

        def page(cursor: str | None) -> Steps[Page[FoundEvent]]:
            request = requests.search_events(self.root, body | ({"cursor": cursor} if cursor else {}))
            answer = (yield from send(request, self.retry)).body
            return Page([FoundEvent(event) for event in answer["events"]], answer["next_cursor"])

        return page

    def search_turns(
        self,
        /,
        query: str | None = None,
        *,
        top_k: int = 10,
        since: str | None = None,
        until: str | None = None,
        conversation_id: str | None = None,
        speaker: str | None = None,
    ) -> Pages[FoundTurn]:
        """Search the user's conversations, best first; without a query list the messages, newest first.

        `top_k` is the size of a page; iterating continues with the next page. `speaker` is a message's name or, without
        one, its role. Raises TurnsNotAccepted for a profile whose turns are not searchable.
        """
        given = {"query": query, "from": since, "to": until, "conversation_id": conversation_id, "speaker": speaker}
        body = {"profile_id": self.profile_id, "top_k": top_k}
        body |= {name: value for name, value in given.items() if value is not None}

        def page(cursor: str | None) -> Steps[Page[FoundTurn]]:
            request = requests.search_turns(self.root, body | ({"cursor": cursor} if cursor else {}))
            answer = (yield from send(request, self.retry)).body
            return Page([FoundTurn(turn) for turn in answer["turns"]], answer["next_cursor"])

        return page

    def events(self) -> Pages[FoundEvent]:
        """List the user's events from storage, newest first, also those that are not indexed yet."""

        def page(cursor: str | None) -> Steps[Page[FoundEvent]]:
            body = (yield from send(requests.list_events(self.root, cursor=cursor), self.retry)).body
            return Page([FoundEvent(event) for event in body["events"]], body["next_cursor"])

        return page

    def conversations(self, *, conversation_id: str | None = None) -> Pages[Json]:
        """List the submitted conversations with their newest snapshot, without content, the newest first.

        With `conversation_id`, list the snapshots and turns of that conversation.
        """

        def page(cursor: str | None) -> Steps[Page[Json]]:
            request = requests.list_conversations(self.root, conversation_id=conversation_id, cursor=cursor)
            body = (yield from send(request, self.retry)).body
            return Page(body["conversations"], body["next_cursor"])

        return page

    def hand_in(
        self, conversation_id: str, messages: Sequence[Message], *, snapshot_id: str | None = None
    ) -> Steps[ReplayState]:
        """Submit a conversation: it is stored encrypted, and a worker extracts memory from it.

        The same messages again are the same snapshot, so repeating the call submits it once. Raises SnapshotExists if
        another conversation has the `snapshot_id`, and the other refusals.
        """
        body: dict[str, Json] = {"profile_id": self.profile_id, "messages": [dict(message) for message in messages]}
        body |= {"snapshot_id": snapshot_id} if snapshot_id else {}
        answer = yield from send(requests.store_snapshot(self.root, conversation_id, body), self.retry)
        return ReplayState({"status": "queued", "conversation_id": conversation_id, **answer.body})

    def store_turns(self, conversation_id: str, turns: Sequence[Turn]) -> Steps[list[ReplayState]]:
        """Submit 1 to 100 turns of a conversation when they are said; a worker extracts memory from them.

        Each turn has `messages`, a `turn_id` or a `timestamp`, and may have a `topic` and `metadata`. In a workspace it
        may have a `claimant` such as {"user_id": "noor"}: whose statements these are. The same turns again are stored
        once. Raises TurnsNotAccepted if the profile accepts none, SnapshotExists if another turn has a `turn_id`,
        ClaimantNotFound, and the other refusals.
        """
        body: dict[str, Json] = {"profile_id": self.profile_id, "turns": [dict(turn) for turn in turns]}
        answer = yield from send(requests.store_turns(self.root, conversation_id, body), self.retry)
        known = {"status": "queued", "conversation_id": conversation_id}
        return [ReplayState({**known, "snapshot_id": row["turn_id"], **row}) for row in answer.body["turns"]]

    def replay(self, replay_id: str) -> Steps[ReplayState]:
        """Get a replay. Raises ReplayNotFound."""
        return ReplayState((yield from send(requests.get_replay(self.root, replay_id), self.retry)).body)

    def wait_for_replay(self, replay_id: str, timeout: float = 60.0) -> Steps[ReplayState]:
        """Get a replay when it has ended, or as it is after `timeout` seconds. Raises ReplayNotFound."""
        budget, attempt = Budget(timeout), 0
        while True:
            answer = yield from send(requests.get_replay(self.root, replay_id), self.retry, None)
            state = ReplayState(answer.body)
            budget.spend(answer.seconds)
            if state.ended or budget.left <= 0:
                return state
            pause = min(2.0, 0.1 * 1.5**attempt, budget.left)
            budget.spend((yield Wait(pause)))
            attempt += 1

    def replays(self) -> Pages[ReplayState]:
        """List the user's replays."""

        def page(cursor: str | None) -> Steps[Page[ReplayState]]:
            body = (yield from send(requests.list_replays(self.root, cursor=cursor), self.retry)).body
            return Page([ReplayState(row) for row in body["replays"]], body["next_cursor"])

        return page

    def replay_of(self, conversation_id: str, snapshot_id: str) -> Steps[ReplayState]:
        """Get the replay of a snapshot. Raises ReplayNotFound."""
        request = requests.list_replays(
            self.root, conversation_id=conversation_id, snapshot_id=snapshot_id, cursor=None
        )
        rows = (yield from send(request, self.retry)).body["replays"]
        if not rows:
            raise ReplayNotFound("REPLAY_NOT_FOUND", "There is no replay of this snapshot.")
        return ReplayState(rows[0])

    def retry_replay(self, replay_id: str) -> Steps[ReplayState]:
        """Queue a failed replay again. Raises ReplayNotFound."""
        return ReplayState((yield from send(requests.retry_replay(self.root, replay_id), self.retry)).body)

    def snapshot(self, conversation_id: str, snapshot_id: str) -> Steps[Json]:
        """Get a submitted conversation; the service records who read it. Raises SnapshotNotFound, RoleRequired."""
        return (yield from send(requests.read_snapshot(self.root, conversation_id, snapshot_id), self.retry)).body

    def snapshot_reads(self) -> Pages[Mapping[str, Json]]:
        """List who read which submitted conversation, and when."""

        def page(cursor: str | None) -> Steps[Page[Mapping[str, Json]]]:
            body = (yield from send(requests.list_snapshot_reads(self.root, cursor=cursor), self.retry)).body
            return Page(body["accesses"], body["next_cursor"])

        return page

    def conflicts(self, *, status: str | None = None) -> Pages[Json]:
        """List the conflicts of replays; `status` is open, resolved or discarded."""

        def page(cursor: str | None) -> Steps[Page[Json]]:
            body = (yield from send(requests.list_conflicts(self.root, status=status, cursor=cursor), self.retry)).body
            return Page(body["conflicts"], body["next_cursor"])

        return page

    def retry_conflict(self, conflict_id: str) -> Steps[Json]:
        """Apply a conflict's patch to the current version. Raises ConflictNotFound, ConflictClosed."""
        return (yield from send(requests.retry_conflict(self.root, conflict_id), self.retry)).body

    def discard_conflict(self, conflict_id: str, *, note: str | None = None) -> Steps[Json]:
        """Close a conflict without a change. Raises ConflictNotFound, ConflictClosed."""
        return (yield from send(requests.discard_conflict(self.root, conflict_id, note=note), self.retry)).body
