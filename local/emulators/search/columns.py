"""Fields to filter and sort by, as columns: posting lists for strings, NumPy arrays for everything else.

A row is the number of a document in the index, in order of arrival. Columns only grow; which rows still live is the
index's business.
"""

import math
from array import array
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from local.emulators.search.schema import EdmType, Field
from local.emulators.search.values import Value, comparable

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


class GrowingArray:
    """A NumPy array that takes one value at a time at its end."""

    def __init__(self, dtype: Any) -> None:
        self._buffer: NDArray[Any] = np.zeros(64, dtype=dtype)
        self._size = 0

    def append(self, value: Any) -> None:
        """Add a value."""
        if self._size == len(self._buffer):
            self._buffer = np.concatenate([self._buffer, np.zeros_like(self._buffer)])
        self._buffer[self._size] = value
        self._size += 1

    def __setitem__(self, position: int, value: Any) -> None:
        self._buffer[position] = value

    def view(self) -> NDArray[Any]:
        """Return the values so far; valid until the next `append`."""
        return self._buffer[: self._size]

    def __len__(self) -> int:
        return self._size


class StringColumn:
    """A string field or a collection of strings."""

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._present = GrowingArray(np.bool_)

    def add(self, values: Iterable[Value]) -> None:
        """Add the next row; no values for null and for an empty collection."""
        row = len(self._present)
        distinct = {str(value) for value in values}
        for value in distinct:
            self._rows.setdefault(value, array("q")).append(row)
        self._present.append(bool(distinct))

    def present(self) -> Mask:
        """Which rows have a value."""
        return self._present.view().copy()

    def equal(self, values: Iterable[str]) -> Mask:
        """Which rows have at least one of the values."""
        mask: Mask = np.zeros(len(self._present), dtype=np.bool_)
        for value in values:
            rows = self._rows.get(value)
            if rows is not None:
                mask[np.frombuffer(rows, dtype=np.int64)] = True
        return mask


class NumberColumn:
    """A number, Boolean or time field, or a collection of such: all values in one array, with the row of each."""

    def __init__(self, edm_type: EdmType) -> None:
        self._type = edm_type
        self._values = GrowingArray(np.float64 if edm_type is EdmType.DOUBLE else np.int64)
        self._rows = GrowingArray(np.int64)
        self._present = GrowingArray(np.bool_)

    def add(self, values: Iterable[Value]) -> None:
        """Add the next row; no values for null and for an empty collection."""
        row, any_value = len(self._present), False
        for value in values:
            self._values.append(comparable(self._type, value))
            self._rows.append(row)
            any_value = True
        self._present.append(any_value)

    def present(self) -> Mask:
        """Which rows have a value."""
        return self._present.view().copy()

    def values(self) -> NDArray[Any]:
        """Every value, in order of arrival."""
        return self._values.view()

    def rows_with(self, chosen: Mask) -> Mask:
        """Which rows own at least one of the chosen values."""
        mask: Mask = np.zeros(len(self._present), dtype=np.bool_)
        mask[self._rows.view()[chosen]] = True
        return mask

    def ranks(self, rows: Rows) -> Rows:
        """Return the rank of each row's value among those of all rows given: 0 for none, NaN below the rest.

        Only for fields that are no collection.
        """
        positions = np.searchsorted(self._rows.view(), rows)
        present = self._present.view()[rows]
        values = self.values()[positions[present]]
        if values.dtype == np.float64:
            values = np.where(np.isnan(values), -np.inf, values)
        ranks = np.zeros(len(rows), dtype=np.int64)
        ranks[present] = np.unique(values, return_inverse=True)[1] + 1
        return ranks

    def compare(self, operator: str, constant: str | float) -> Mask:
        """Compare every value with a constant."""
        values = self.values()
        if values.dtype == np.int64 and isinstance(constant, float):
            return _compare_integers(values, operator, constant)
        found: Mask = _OPERATORS[operator](values, constant)
        return found


Column = StringColumn | NumberColumn

_OPERATORS: Final[dict[str, Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}


def _compare_integers(values: NDArray[Any], operator: str, constant: float) -> Mask:
    """Compare integers with a fraction, without the loss of turning the integers into floats."""
    if constant.is_integer():
        return _beyond(values, operator, int(constant))
    if operator in ("eq", "ne"):
        return np.full(len(values), operator == "ne", dtype=np.bool_)
    if operator in ("gt", "ge"):
        return _beyond(values, "ge", math.ceil(constant))
    return _beyond(values, "le", math.floor(constant))


def _beyond(values: NDArray[Any], operator: str, constant: int) -> Mask:
    found: Mask = _OPERATORS[operator](values, constant)
    return found


def column_for(field: Field) -> Column:
    """Return an empty column for a field."""
    return StringColumn() if field.type is EdmType.STRING else NumberColumn(field.type)
