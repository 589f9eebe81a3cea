"""Tell what became of a snapshot."""

import asyncio
from typing import Any

from memnet.domain.core.errors import ReplayNotFound
from memnet.domain.core.scope import UserScope
from memnet.domain.replay import conflict as conflicts
from memnet.domain.replay import replay as replays
from memnet.domain.replay.conflict import conflict_key
from memnet.domain.replay.replay import PatchResult, replay_key
from memnet.stores import ItemStore


async def get_replay(scope: UserScope, replay_id: str, *, records: ItemStore) -> dict[str, Any]:
    """Return the replay's status and each patch's fate; of a conflict also what has become of it since.

    Raises InvalidIdentifier, ReplayNotFound, HistoryCorrupt, Unavailable.
    """
    stored = await records.read(replay_key(scope, replay_id))
    if stored is None:
        raise ReplayNotFound()
    replay = replays.load(stored.data)
    patches = await asyncio.gather(*(_fate(scope, fate, records) for fate in replay.patches))
    return {**replay.members(), "patches": patches}


async def _fate(scope: UserScope, fate: PatchResult, records: ItemStore) -> dict[str, Any]:
    members = fate.members()
    stored = fate.conflict_id and await records.read(conflict_key(scope, fate.conflict_id))
    if not stored:
        return members
    conflict = conflicts.load(stored.data)
    members["conflict_status"] = conflict.status.value
    if conflict.change_id is not None:
        members["change_id"] = conflict.change_id
    return members
