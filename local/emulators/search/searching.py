"""A search over the documents in memory: candidates, scores, order, page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from local.emulators.search.columns import Mask, NumberColumn, Rows
from local.emulators.search.document_index import DocumentIndex
from local.emulators.search.filter_evaluation import evaluate
from local.emulators.search.fusion import fuse
from local.emulators.search.limits import DEFAULT_PAGE, LARGEST_PAGE, LARGEST_SKIP, TEXT_RECALL
from local.emulators.search.schema import Field
from local.emulators.search.search_request import OrderBy, SearchRequest
from local.emulators.search.text_index import Scores
from local.emulators.search.text_search import TextSearch
from local.emulators.search.vector_index import best_first


@dataclass(frozen=True)
class Hit:
    """One document found."""

    score: float
    fields: dict[str, Any]


@dataclass(frozen=True)
class SearchResult:
    """One page of what was found, and how many there are in all."""

    hits: list[Hit]
    count: int
    next_skip: int | None = None
    """Where the next page begins, when the page is shorter than what was asked for."""
    next_top: int | None = None


def search(index: DocumentIndex, request: SearchRequest) -> SearchResult:
    """Run a checked search."""
    rows, scores = _found(index, request)
    page = request.top if request.top is not None else DEFAULT_PAGE
    page = min(page, LARGEST_PAGE)
    order = _ordered(index, request.order_by, rows, scores, request.skip + page)
    chosen = order[request.skip : request.skip + page]
    hits = [
        Hit(float(scores[at]), index.shown(row, request.select))
        for at, row in zip(chosen.tolist(), rows[chosen].tolist(), strict=True)
    ]
    next_skip, next_top = _continuation(request, len(rows), page)
    return SearchResult(hits, len(rows), next_skip, next_top)


def _continuation(request: SearchRequest, count: int, page: int) -> tuple[int | None, int | None]:
    """Return the next page's parameters if the server, not the client, ended the page."""
    position = request.skip + page
    asked = count if request.top is None else min(count, request.skip + request.top)
    if page == 0 or position >= asked or position > LARGEST_SKIP:
        return None, None
    return position, None if request.top is None else request.top - page


def _found(index: DocumentIndex, request: SearchRequest) -> tuple[Rows, Scores]:
    """Return every row that was found, in order of arrival, with its score."""
    alive = index.alive()
    kept = alive if request.filter is None else alive & evaluate(request.filter, index.columns, index.rows)
    if not request.vectors:
        return _text_hits(index, request, kept, request.text or "*")
    lists = [_nearest(index, request, kept, position) for position in range(len(request.vectors))]
    if request.text is None and len(lists) == 1:
        (rows, scores, _) = lists[0]
        arrival = np.argsort(rows)
        return rows[arrival], scores[arrival]
    ranked = [(rows, weight) for rows, _, weight in lists]
    if request.text is not None:
        rows, scores = _text_hits(index, request, kept, request.text)
        ranked.insert(0, (rows[best_first(scores, rows, TEXT_RECALL)], 1.0))
    return fuse(ranked, index.rows)


def _text_hits(index: DocumentIndex, request: SearchRequest, kept: Mask, text: str) -> tuple[Rows, Scores]:
    matches = TextSearch(index.texts(request.search_fields), request.operator, kept).run(text)
    rows = np.flatnonzero(matches.mask)
    return rows, matches.scores[rows]


def _nearest(index: DocumentIndex, request: SearchRequest, kept: Mask, position: int) -> tuple[Rows, Scores, float]:
    query = request.vectors[position]
    rows, scores = index.vectors[query.field.name].nearest(query.vector, query.k, kept)
    return rows, scores, query.weight


def _ordered(index: DocumentIndex, clauses: Sequence[OrderBy], rows: Rows, scores: Scores, needed: int) -> Rows:
    """Return positions in the order asked for; equals go by score, then by arrival."""
    if not clauses:
        return best_first(scores, rows, needed) if needed else np.zeros(0, dtype=np.int64)
    order = np.lexsort((rows, -scores))
    for clause in reversed(clauses):
        keys = _sort_keys(index, clause, rows, scores)
        order = order[np.argsort(keys[order], kind="stable")]
    return order


def _sort_keys(index: DocumentIndex, clause: OrderBy, rows: Rows, scores: Scores) -> Rows:
    """Return a rank for each row: null comes first ascending, last descending; strings go by code point."""
    if clause.field is None:
        keys = np.unique(scores, return_inverse=True)[1]
    else:
        column = index.columns[clause.field.name]
        keys = column.ranks(rows) if isinstance(column, NumberColumn) else _string_ranks(index, clause.field, rows)
    return -keys if clause.descending else keys


def _string_ranks(index: DocumentIndex, declared: Field, rows: Rows) -> Rows:
    values = [index.values(row)[declared.name] for row in rows.tolist()]
    distinct = sorted({value for value in values if value is not None})
    rank = {value: position + 1 for position, value in enumerate(distinct)}
    return np.array([0 if value is None else rank[value] for value in values], dtype=np.int64)
