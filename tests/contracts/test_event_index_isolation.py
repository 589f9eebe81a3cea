"""No search, filter or stored text finds another user's event, on every backend."""

from typing import Any
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memnet.domain.core.scope import UserScope
from memnet.domain.events.event_search import EventQuery, IndexDocument
from memnet.domain.events.index_layout import IndexVersion
from tests.domain.event_samples import SCOPE, stored_event

SCOPES = [SCOPE, UserScope("t1", "u2"), UserScope("t2", "u1"), UserScope("t1", "u1-2"), UserScope("t1", "U1")]
PRINTED = st.characters(exclude_categories=["Cs", "Cc"])
HOSTILE = st.one_of(
    st.text(PRINTED, min_size=1, max_size=40),
    st.text("'\" ()\\/%&?$#=-+|*~:,;<>eqrandtu12", min_size=1, max_size=40),
    st.sampled_from(
        [
            "' or tenant_id eq 't2",
            "') or (user_id ne '",
            "x' or true or 'x' eq 'x",
            "''",
            "\\'",
            "' or search.ismatch('*') or '",
            "p) or tenant_id ne 't1' or project_ids/any(q: q eq 'x",
            "*",
            "u2",
            "tenant_id:t2",
        ]
    ),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=HOSTILE,
    text=st.none() | HOSTILE,
    members=st.dictionaries(st.sampled_from(["service", "project", "source_type"]), HOSTILE),
    same=st.booleans(),
    near=st.booleans(),
)
async def test_a_search_finds_its_own_users_events_alone(
    index: Any, value: str, text: str | None, members: dict[str, Any], same: bool, near: bool
) -> None:
    version = IndexVersion(index.new_name(uuid4().hex[:8]), "model", 2)
    await index.create(version)
    stored = [
        stored_event("e1", scope=scope, digest=value, service_id=value, source_type=value, project_ids=[value])
        for scope in SCOPES
    ]
    assert await index.upload(version.name, [IndexDocument(event, [1.0, 0.0]) for event in stored]) == frozenset()
    if same:
        text, members = text and value, dict.fromkeys(members, value)
    for scope, event in zip(SCOPES, stored, strict=True):
        query = EventQuery(scope=scope, text=text, top=10, **members)
        if query.words == "" and not near:
            continue
        found = await index.search(version.name, query, [1.0, 0.0] if near and text is not None else None)
        assert {hit.data for hit in found.items} <= {event.data}
        if same and (text is None or near):
            assert [hit.data for hit in found.items] == [event.data]
    await index.drop(version.name)
