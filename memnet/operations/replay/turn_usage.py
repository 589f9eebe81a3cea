"""Decide by the gates of turns whether a replay extracts, and count what it has used."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from memnet.domain.catalog.turn_rules import TurnGates
from memnet.domain.core.errors import Unavailable
from memnet.domain.core.scope import UserScope
from memnet.domain.core.timestamps import from_text, to_text
from memnet.domain.replay import turn_gates
from memnet.domain.replay import usage as usages
from memnet.domain.replay.injected_memory import strip_messages
from memnet.domain.replay.material import Material
from memnet.domain.replay.replay import Replay
from memnet.domain.replay.turn_gates import Skipped
from memnet.domain.replay.usage import Recent, Usage, usage_key
from memnet.operations.replay.silence import rules_of
from memnet.paging import retry_conflicts
from memnet.service import Service
from memnet.stores import KeyRing, Vault


@dataclass(frozen=True, slots=True)
class GateResult:
    """The decision of gates L2 and L3, and the hashes of the user's texts, which L3 compares later turns with."""

    skipped: Skipped | None = None
    said: Sequence[str] = ()


async def check_gates(replay: Replay, material: Material, service: Service) -> GateResult:
    """Decide by gates L2 and L3 whether the turns of a replay are extracted.

    Raises ProfileNotFound, HistoryCorrupt, DecryptionFailed, VaultUnavailable, Unavailable.
    """
    gates = rules_of(replay, service).gates
    messages = strip_messages(material.snapshot.messages)
    skipped = turn_gates.low_quality(messages, material.earlier, gates)
    if skipped is not None or gates.same_above is None:
        return GateResult(skipped)
    taken = material.taken(messages)
    claimed_by = material.snapshot.claimed_by
    said = turn_gates.fingerprints(taken, claimed_by)
    recent = await _recent(await read_usage(replay.scope, service), service.vault)
    skipped = turn_gates.said_lately(said, recent.texts, gates)
    if skipped is None:
        before = [message for message in messages if message.message_id in material.earlier]
        earlier = [message for message in before if material.origin(message.message_id).claimed_by == claimed_by]
        similar = await _similarities(turn_gates.own_words(taken), turn_gates.own_words(earlier), service)
        skipped = turn_gates.is_repeated(similar, gates)
    return GateResult(skipped, said)


async def find_exhausted(replay: Replay, service: Service) -> str | None:
    """Return which limit of the day (L4) the user has reached, if one is; this replay does not count.

    Raises ProfileNotFound, HistoryCorrupt, Unavailable.
    """
    gates = rules_of(replay, service).gates
    if service.models is None or not gates.has_budget:
        return None
    return is_exhausted(await read_usage(replay.scope, service), gates, service, without=replay.replay_id)


def is_exhausted(usage: Usage, gates: TurnGates, service: Service, *, without: str = "") -> str | None:
    """Return which limit of the day (L4) a user has reached, if one is; the replay `without` does not count."""
    return turn_gates.over_budget(usage.spent(_day(service.clock.now()), without=without), gates)


async def find_next_budget(replay: Replay, service: Service) -> datetime | None:
    """Return when a replay over the day's budget is started, if its profile has such replays wait.

    Raises ProfileNotFound, HistoryCorrupt, Unavailable.
    """
    if rules_of(replay, service).gates.over_budget != "wait" or await find_exhausted(replay, service) is None:
        return None
    return turn_gates.next_day(service.clock.now())


async def count_usage(replay: Replay, said: Sequence[str], service: Service) -> None:
    """Count a planned replay, exactly once however often this is called, and remember what the user said.

    Counted are the replays whose plan a model made, with the tokens of its calls, if the profile limits either.
    Raises ProfileNotFound, HistoryCorrupt, DecryptionFailed, ErasureRunning, VaultUnavailable, Unavailable.
    """
    tokens = replay.model_tokens if rules_of(replay, service).gates.has_budget else None
    if replay.planned_at is None or (tokens is None and not said):
        return
    counted = None if tokens is None else (_day(from_text(replay.planned_at)), replay.replay_id, tokens)
    await _count(replay.scope, counted, Recent(texts=said), service)


async def count_call(scope: UserScope, call_id: str, tokens: int, service: Service) -> None:
    """Count the tokens of a model call that belongs to no replay, as if it were one of today.

    Raises HistoryCorrupt, ErasureRunning, Unavailable.
    """
    await _count(scope, (_day(service.clock.now()), call_id, tokens), Recent(), service)


async def find_joined(usage: Usage, service: Service) -> Sequence[str]:
    """Return the keys of the statements that a model was asked to join last. Raises DecryptionFailed, Unavailable."""
    return (await _recent(usage, service.vault)).joined


async def remember_joined(scope: UserScope, keys: Sequence[str], service: Service) -> None:
    """Remember that a model was asked to join statements. Raises as `count_usage` does."""
    await _count(scope, None, Recent(joined=keys), service)


async def read_usage(scope: UserScope, service: Service) -> Usage:
    """Return the usage of a user. Raises HistoryCorrupt, Unavailable."""
    stored = await service.records.read(usage_key(scope))
    return usages.load(stored.data) if stored else usages.new_usage(scope, service.clock.now())


async def _count(scope: UserScope, counted: tuple[str, str, int] | None, new: Recent, service: Service) -> None:
    await retry_conflicts(partial(_write, scope, counted, new, service))


async def _write(scope: UserScope, counted: tuple[str, str, int] | None, new: Recent, service: Service) -> None:
    """Raises StoreConflict after a write by another worker."""
    key, now = usage_key(scope), service.clock.now()
    stored = await service.records.read(key)
    before = usages.load(stored.data) if stored else usages.new_usage(scope, now)
    usage = before if counted is None else before.count(*counted)
    if new.texts or new.joined:
        recent = await _recent(before, service.vault)
        if not (set(new.texts) <= set(recent.texts) and set(new.joined) <= set(recent.joined)):
            known = Recent(usages.remember(recent.texts, new.texts), usages.remember(recent.joined, new.joined))
            usage = replace(usage, sealed=await KeyRing(service.vault).seal_member(key, usages.dump_recent(known)))
    if usage != before:
        data = usages.dump(replace(usage, updated_at=to_text(now)))
        await service.records.write(key, data, replaces=stored.storage_etag if stored else None)


async def _recent(usage: Usage, vault: Vault) -> Recent:
    if usage.sealed is None:
        return Recent()
    return usages.load_recent(await KeyRing(vault).unseal_member(usage.key, usage.sealed))


async def _similarities(texts: Sequence[str], earlier: Sequence[str], service: Service) -> Sequence[float]:
    """Return the greatest cosine of each text with an earlier one; nothing without embeddings or earlier texts."""
    if service.embedder is None or not texts or not earlier:
        return ()
    try:
        vectors = await service.embedder.embed([*texts, *earlier])
    except Unavailable:
        # The gate saves work; without it the turn is extracted.
        return ()
    said, before = vectors[: len(texts)], vectors[len(texts) :]
    return [max(_cosine(one, other) for other in before) for one in said]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()
