"""Routes of events."""

from fastapi import APIRouter
from starlette.responses import Response

from api import query
from api.authorization import UserCall
from api.bodies import EventBody, SearchBody
from api.json_response import json_response, page_response
from api.openapi import Returned
from api.parameters import CURSOR, LIMIT
from api.responses.events import EventList, EventPage, EventWritten
from api.routing import user_routes
from memnet.domain.core.error_code import ErrorCode as E
from memnet.domain.core.scope import check_not_reserved
from memnet.domain.events.event import members_of_event
from memnet.operations.events.list_events import list_events
from memnet.operations.events.search_events import search_events
from memnet.operations.events.write_event import write_event

router = APIRouter()
route = user_routes(router, "events")


@route(
    "POST",
    "/events",
    "write_event",
    body=EventBody,
    summary="Create an event",
    returns={200: Returned("The same event exists already.", EventWritten), 201: Returned("Created.", EventWritten)},
    errors={E.EVENT_EXISTS, E.ERASURE_RUNNING, E.FIELD_DENIED},
)
async def write(call: UserCall, body: EventBody) -> Response:
    """Create an event and make it searchable. Repeating it answers 200; another event with its id is refused with 409.

    Ids that begin with `memnet-` are reserved and refused with 400.
    """
    check_not_reserved("event_id", body.event_id)
    written = await write_event(call.scope, body, call.service, is_live=True)
    result = {"event_id": written.event_id, "indexed": written.indexed}
    return json_response(result, status=200 if written.replayed else 201, replayed=written.replayed)


@route(
    "GET",
    "/events",
    "list_events",
    summary="List events",
    parameters=(LIMIT, CURSOR),
    returns={200: Returned("A page of events, newest first; it has at most 100.", EventList)},
    errors={E.MALFORMED_REQUEST, E.INVALID_CURSOR},
)
async def list_(call: UserCall) -> Response:
    """List a user's events by their own time. They come from the storage: an event need not be indexed."""
    limit, cursor = query.limit(call.request), query.cursor(call.request)
    page = await list_events(call.scope, limit=limit, cursor=cursor, events=call.service.events)
    return page_response("events", [members_of_event(data) for data in page.items], page.next_cursor)


@route(
    "POST",
    "/events:search",
    "search_events",
    body=SearchBody,
    summary="Search events",
    returns={200: Returned("A page of events, best first.", EventPage)},
    errors={E.INVALID_CURSOR, E.SEARCH_UNAVAILABLE},
)
async def search(call: UserCall, body: SearchBody) -> Response:
    """Search a user's events by words, by meaning if embeddings are configured, and by filters.

    A search with a query finds each stored event at once. Without one it lists what the index has, newest first: an
    event that was stored a few seconds ago may be absent.
    """
    found = await search_events(body.event_query(call.scope), cursor=body.cursor, service=call.service)
    events = [event.members() for event in found.items]
    return json_response({"events": events, "next_cursor": found.next_cursor, "mode": found.mode})
