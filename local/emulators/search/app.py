"""The routes of Azure AI Search that the emulator has, as an ASGI application, and its own control routes."""

from collections.abc import Iterable
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response
from starlette.routing import Route

from local.emulators.search.errors import SearchError, bad_request, not_supported
from local.emulators.search.faults import Faults
from local.emulators.search.schema import Json
from local.emulators.search.search_request import parse_search, parse_select
from local.emulators.search.searching import SearchResult
from local.emulators.search.service import SearchService
from local.emulators.search.shell import Call, Shell, json_response, unknown_path

INDEX: Final = "/indexes('{index}')"
DOCUMENTS: Final = f"{INDEX}/docs"
_LACKING_FAMILIES: Final = (
    "aliases",
    "synonymmaps",
    "datasources",
    "indexers",
    "skillsets",
    "knowledgebases",
    "knowledgesources",
)
_LACKING: Final = (
    f"{INDEX}/search.stats",
    f"{INDEX}/search.analyze",
    "/servicestats",
    *(f"{DOCUMENTS}/search.{kind}" for kind in ("suggest", "post.suggest", "autocomplete", "post.autocomplete")),
    *(
        path
        for family in _LACKING_FAMILIES
        for path in (f"/{family}", f"/{family}('{{name}}')", f"/{family}('{{name}}')/{{rest}}")
    ),
)


def create_app(service: SearchService, key: str, faults: Faults) -> Starlette:
    """Return the application. Only requests to this machine's own names are answered."""
    shell = Shell(service, key, faults)
    routes = [*_document_routes(shell), *_management_routes(shell), *_control_routes(shell), *_lacking_routes(shell)]
    return Starlette(
        routes=routes,
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
        exception_handlers={HTTPException: unknown_path},
    )


def _document_routes(shell: Shell) -> Iterable[Route]:
    documents = DocumentHandlers(shell)
    for path, method, handler, operation in (
        (f"{DOCUMENTS}/search.post.search", "POST", documents.search, "search"),
        (f"{DOCUMENTS}/search.index", "POST", documents.index, "index"),
        (f"{DOCUMENTS}('{{key}}')", "GET", documents.lookup, "lookup"),
        (f"{DOCUMENTS}/$count", "GET", documents.count, "count"),
    ):
        yield Route(path, shell.endpoint(handler, operation), methods=[method])
    yield _refusal(shell, DOCUMENTS, "GET", "search by GET; use POST, as the SDK does")


def _management_routes(shell: Shell) -> Iterable[Route]:
    indexes = IndexHandlers(shell.service)
    for path, method, handler in (
        ("/indexes", "GET", indexes.list),
        ("/indexes", "POST", indexes.create),
        (INDEX, "GET", indexes.get),
        (INDEX, "PUT", indexes.put),
        (INDEX, "DELETE", indexes.delete),
    ):
        yield Route(path, shell.endpoint(handler, "manage"), methods=[method])


def _control_routes(shell: Shell) -> Iterable[Route]:
    async def health(_: object) -> Response:
        return json_response({"status": "ready"})

    def change(call: Call) -> Response:
        shell.faults.set(call.body)
        return Response(status_code=204)

    def clear(_: Call) -> Response:
        shell.faults.clear()
        return Response(status_code=204)

    yield Route("/_emulator/health", health, methods=["GET"])
    for path, method, handler in (
        ("/_emulator/faults", "POST", change),
        ("/_emulator/faults", "DELETE", clear),
    ):
        yield Route(path, shell.control(handler), methods=[method])


def _lacking_routes(shell: Shell) -> Iterable[Route]:
    for path in _LACKING:
        for method in ("GET", "POST", "PUT", "DELETE"):
            yield _refusal(shell, path, method, f"{method} {path.replace(DOCUMENTS, '')}")


def _refusal(shell: Shell, path: str, method: str, what: str) -> Route:
    def refuse(_: Call) -> Response:
        raise not_supported(what)

    return Route(path, shell.endpoint(refuse, "manage"), methods=[method])


class DocumentHandlers:
    """Operations on documents."""

    def __init__(self, shell: Shell) -> None:
        """The shell's switches include keys that fail."""
        self._service = shell.service
        self._faults = shell.faults

    def search(self, call: Call) -> Response:
        """Run a search."""
        call.options()
        hosted = self._service.resolve(call.name("index"))
        body = call.body
        request = parse_search(body, hosted.definition.fields)
        result = self._service.search(hosted, request)
        answer: Json = {}
        if request.count:
            answer["@odata.count"] = result.count
        answer.update(_continuation(call, body, result))
        answer["value"] = [{"@search.score": hit.score, **hit.fields} for hit in result.hits]
        return json_response(answer)

    def index(self, call: Call) -> Response:
        """Apply a batch: 200, or 207 when an action failed."""
        call.options()
        hosted = self._service.resolve(call.name("index"))
        results = self._service.apply(hosted, call.body, self._faults.failing_keys)
        status = 200 if all(result.status < 400 for result in results) else 207
        return json_response({"value": [result.body() for result in results]}, status)

    def lookup(self, call: Call) -> Response:
        """Return one document by its key."""
        options = call.options("$select")
        hosted = self._service.resolve(call.name("index"))
        select = parse_select(options.get("$select"), hosted.definition.fields)
        row = hosted.documents.row_of(call.name("key"))
        if row is None:
            raise SearchError(404, "ResourceNotFound", "Document not found.")
        return json_response(hosted.documents.shown(row, select))

    def count(self, call: Call) -> Response:
        """Return the number of documents as text."""
        call.options()
        return Response(str(len(self._service.resolve(call.name("index")).documents)), media_type="text/plain")


def _continuation(call: Call, body: Json, result: SearchResult) -> Json:
    if result.next_skip is None:
        return {}
    parameters = {name: value for name, value in body.items() if value is not None} | {"skip": result.next_skip}
    if result.next_top is not None:
        parameters["top"] = result.next_top
    return {"@search.nextPageParameters": parameters, "@odata.nextLink": str(call.request.url)}


class IndexHandlers:
    """Operations on index definitions."""

    def __init__(self, service: SearchService) -> None:
        """The service behind them."""
        self._service = service

    def list(self, call: Call) -> Response:
        """List the indexes, whole or some of their members."""
        chosen = _selected(call)
        bodies = [hosted.body() for hosted in self._service.indexes()]
        return json_response({"value": [_only(body, chosen) for body in bodies]})

    def create(self, call: Call) -> Response:
        """Create an index."""
        call.options()
        return json_response(self._service.create_index(call.body).body(), 201)

    def get(self, call: Call) -> Response:
        """Return an index definition."""
        call.options()
        return json_response(self._service.resolve(call.name("index")).body())

    def put(self, call: Call) -> Response:
        """Create or update an index."""
        call.options("allowIndexDowntime")
        hosted, created = self._service.put_index(call.name("index"), call.body)
        return json_response(hosted.body(), 201 if created else 200)

    def delete(self, call: Call) -> Response:
        """Delete an index."""
        call.options()
        self._service.delete_index(call.name("index"))
        return Response(status_code=204)


def _selected(call: Call) -> set[str] | None:
    """Return the members to show, None for all."""
    text = call.options("$select").get("$select", "*")
    names = {name.strip() for name in text.split(",")}
    return None if "*" in names else names


def _only(body: Json, chosen: set[str] | None) -> Json:
    if chosen is None:
        return body
    for name in chosen - {"name", "description", "fields", "similarity", "vectorSearch", "indexes"}:
        raise bad_request(f"'{name}' cannot be selected.\r\nParameter name: $select")
    return {name: value for name, value in body.items() if name in chosen or name.startswith("@odata.")}
