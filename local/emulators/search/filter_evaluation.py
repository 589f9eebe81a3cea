"""A checked filter over the columns: which rows it keeps.

Logic is two-valued, as in Azure: a comparison with a missing value is false, except that `ne` is true.
"""

from collections.abc import Mapping

import numpy as np

from local.emulators.search.columns import Column, Mask, NumberColumn, StringColumn
from local.emulators.search.filter_types import (
    Always,
    Compare,
    Every,
    ForElements,
    HasElements,
    Inverse,
    IsNull,
    OneOf,
    Predicate,
    Some,
)


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
        case HasElements(field):
            return columns[field].present()
        case OneOf(field, values):
            return _strings(columns[field]).equal(values)
        case Compare():
            return _compare(predicate, columns[predicate.field])
        case ForElements(field, quantifier, body):
            return _for_elements(columns[field], quantifier, body)


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


def _for_elements(column: Column, quantifier: str, body: Predicate) -> Mask:
    if isinstance(column, StringColumn):
        wanted = _equalities(body)
        return column.equal(wanted) if quantifier == "any" else ~column.equal(wanted)
    chosen = _elements(column, body)
    return column.rows_with(chosen) if quantifier == "any" else ~column.rows_with(~chosen)


def _equalities(body: Predicate) -> set[str]:
    """Return the strings an `any` looks for, or an `all` rules out; the filter's check allows nothing else."""
    match body:
        case Compare(_, _, constant):
            return {str(constant)}
        case OneOf(_, values):
            return set(values)
        case Inverse(operand):
            return _equalities(operand)
        case Some(operands) | Every(operands):
            return set().union(*(_equalities(operand) for operand in operands))
    raise TypeError(body)


def _elements(column: NumberColumn, body: Predicate) -> Mask:
    """Which single values satisfy the body of a lambda."""
    match body:
        case Compare(_, operator, constant):
            return column.compare(operator, constant)
        case Inverse(operand):
            return ~_elements(column, operand)
        case Every(operands) | Some(operands):
            return _joined(body, [_elements(column, operand) for operand in operands])
    raise TypeError(body)


def _strings(column: Column) -> StringColumn:
    if not isinstance(column, StringColumn):
        raise TypeError("search.in over a column that holds no strings")
    return column
