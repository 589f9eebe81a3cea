"""Azure AI Search's documented limits, and the few the emulator adds.

Source: "Service limits in Azure AI Search" and "Documents - Search Post" of Microsoft's documentation.
"""

from typing import Final

BODY_BYTES: Final = 16 * 1024 * 1024
ACTIONS_PER_BATCH: Final = 1000
KEY_CHARACTERS: Final = 1024
TERM_BYTES: Final = 32766
DEFAULT_PAGE: Final = 50
LARGEST_PAGE: Final = 1000
LARGEST_SKIP: Final = 100_000
ORDER_BY_CLAUSES: Final = 32
SEARCH_CHARACTERS: Final = 100_000
SEARCH_CLAUSES: Final = 3000
PREFIX_CHARACTERS: Final = 1000
FIELDS_PER_INDEX: Final = 1000
VECTOR_DIMENSIONS: Final = 4096
VECTOR_FIELDS_PER_QUERY: Final = 10
LARGEST_K: Final = 10_000
DEFAULT_K: Final = 50
TEXT_RECALL: Final = 1000
"""How many text hits take part in a hybrid query."""

K1: Final = 1.2
B: Final = 0.75
"""The parameters of BM25, by default."""

FILTER_CLAUSES: Final = 1000
"""Azure only says that hundreds of clauses are at risk; `search.in` counts as one."""
NESTING: Final = 100
"""Deepest nesting of a filter or of a search text. Azure states none; this one keeps the parser's stack small."""
