"""Values of the index's types: from JSON, to JSON, and as numbers to compare."""

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from local.emulators.search.schema import EdmType, Field

Value = str | int | float | bool
"""A value as documents keep it: a time is text in UTC with milliseconds, NaN and infinity are OData's words."""

Vector = NDArray[np.float32]

_DATE_TIME: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,12}))?)?(Z|[+-]\d\d:\d\d)", re.ASCII
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_RANGES: Final = {EdmType.INT32: 2**31, EdmType.INT64: 2**63}
SPECIAL_FLOATS: Final = {"NaN": math.nan, "INF": math.inf, "-INF": -math.inf}


def parse_time(text: str) -> int:
    """Return the milliseconds since 1970 of an OData time with zone; finer digits are cut. Raises ValueError."""
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year, month, day, hour, minute = (int(part) for part in match.groups()[:5])
    second = int(match[6] or 0)
    zone = match[8]
    offset = timedelta(0)
    if zone != "Z":
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6])) * (-1 if zone[0] == "-" else 1)
    moment = datetime(year, month, day, hour, minute, second, tzinfo=timezone(offset))
    return (moment - _EPOCH) // _MILLISECOND + int((match[7] or "").ljust(3, "0")[:3])


def format_time(milliseconds: int) -> str:
    """Return the time as Azure shows it: UTC, and a fraction only when there is one."""
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    fraction = milliseconds % 1000
    return f"{text}.{fraction:03d}".rstrip("0") + "Z" if fraction else f"{text}Z"


def from_json(edm_type: EdmType, value: Any) -> Value:
    """Return the value as documents keep it. Raises ValueError for one of another type or out of range."""
    if edm_type is EdmType.STRING and isinstance(value, str):
        return value
    if edm_type is EdmType.BOOLEAN and isinstance(value, bool):
        return value
    if edm_type in _RANGES and isinstance(value, int) and not isinstance(value, bool):
        limit = _RANGES[edm_type]
        if -limit <= value < limit:
            return value
    if edm_type is EdmType.DOUBLE:
        return _double(value)
    if edm_type is EdmType.DATE_TIME_OFFSET and isinstance(value, str):
        try:
            return format_time(parse_time(value))
        except OverflowError:
            raise ValueError(value) from None
    raise ValueError(value)


def _double(value: Any) -> Value:
    if isinstance(value, str) and value in SPECIAL_FLOATS:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise ValueError(value)


def comparable(edm_type: EdmType, value: Value) -> int | float:
    """Return the number by which a value that is not a string compares."""
    if edm_type is EdmType.DATE_TIME_OFFSET:
        return parse_time(str(value))
    if isinstance(value, str):
        return SPECIAL_FLOATS[value]
    return value


def parse_vector(field: Field, value: Any) -> Vector:
    """Return a vector of the field. Raises ValueError with a sentence when it does not fit."""
    if not isinstance(value, list) or not set(map(type, value)) <= {int, float}:
        raise ValueError(f"The vector field '{field.name}' expects an array of numbers.")
    if len(value) != field.dimensions:
        raise ValueError(
            f"There's a mismatch in vector dimensions. The vector field '{field.name}', with dimension of "
            f"'{field.dimensions}', expects a length of '{field.dimensions}'. However, the provided vector has a "
            f"length of '{len(value)}'. Please ensure that the vector length matches the expected length of the "
            "vector field."
        )
    vector = np.asarray(value, dtype=np.float64)
    if not np.isfinite(vector).all() or np.abs(vector).max() > np.finfo(np.float32).max:
        raise ValueError(f"The vector field '{field.name}' expects finite numbers of single precision.")
    single = vector.astype(np.float32)
    if not single.any():
        raise ValueError(f"The vector field '{field.name}' uses cosine, which has no value for a zero vector.")
    return single
