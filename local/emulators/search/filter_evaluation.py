"""A checked filter over the columns: which rows it keeps.

Logic is two-valued, as in Azure: a comparison with a missing value is false, except that `ne` is true.
"""

from collections.abc import Mapping

import numpy as np

from local.emulators.search.columns import Column, Mask, StringColumn
from local.emulators.search.filter_types import Always, Compare, Every, Inverse, IsNull, OneOf, Predicate, Some


def evaluate(predicate: Predicate, columns: Mapping[str, Column], rows: int) -> Mask:
    """Return the mask of the rows that the predicate keeps, out of `rows`."""
    match predicate:
        case Always(value):
            return np.full(rows, value, dtype=np.bool_)
        case Inverse(operand):
            return ~evaluate(operand, columns, rows)
        case Every(operands) | Some(operands):
            return _joined(predicate, [evaluate(operand, columns, rows) for operand in operands])
        case IsNull(field):
            return ~columns[field].present()
        case OneOf(field, values):
            return _strings(columns[field]).equal(values)
        case Compare():
            return _compare(predicate, columns[predicate.field])


def _joined(predicate: Every | Some, masks: list[Mask]) -> Mask:
    joined: Mask = np.logical_and.reduce(masks) if isinstance(predicate, Every) else np.logical_or.reduce(masks)
    return joined


def _compare(predicate: Compare, column: Column) -> Mask:
    if isinstance(column, StringColumn):
        found = column.equal([str(predicate.constant)])
        return ~found if predicate.operator == "ne" else found
    if predicate.operator == "ne":
        return ~column.rows_with(column.compare("eq", predicate.constant))
    return column.rows_with(column.compare(predicate.operator, predicate.constant))


def _strings(column: Column) -> StringColumn:
    if not isinstance(column, StringColumn):
        raise TypeError("search.in over a column that holds no strings")
    return column
