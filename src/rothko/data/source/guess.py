"""What a column of text holds: numbers or dates only if every one of its values can be written back as it stood.

Types guessed from the first rows would turn a later 1.5 into 2, and 02139 into 2139.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.exact import rounded

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|NaN|[+-]?(inf|Infinity|Inf)")
WHOLE = re.compile(r"-?\d{1,18}")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?")


def typed_text(column: pa.ChunkedArray, decimal: str = ".") -> pa.ChunkedArray:
    """A text column as whole numbers, numbers, dates or timestamps where all its values are that; else as it is.

    Parameters
    ----------
    decimal
        What stands before the decimals of a number; where it is a comma, what has a point is none.

    >>> [str(typed_text(pa.chunked_array([words])).type) for words in (["1", "20"], ["1.5", "2"], ["01", "2"])]
    ['int64', 'double', 'string']
    """
    return Guess(decimal).look(column)


class Guess:
    """What a column of text holds, as far as it was looked at; the first 100 values decide what it may be at all."""

    def __init__(self, decimal: str = ".") -> None:
        self.kind: pa.DataType | None = None
        """The type so far; None while every value is missing."""
        self._pattern: re.Pattern[str] | None = None
        self._seen = 0
        self._long = False
        """Whether a whole number was seen that a number with decimals does not keep."""
        self._decimal = decimal

    def look(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Look at more of the column; it comes back as the type that fits all so far."""
        if self._seen < 100:
            self._sample(column)
        if self.kind is None or self.kind == pa.string():
            return column
        if self.kind == pa.int64():
            found = _as_integers(column)
            if found is not None:
                self._long |= _has_long(found)
                return found
            # What was whole so far must be kept to the last digit, too.
            self.kind = pa.string() if self._long else pa.float64()
            if self._long:
                return column
        found = self._as_numbers(column) if self.kind == pa.float64() else _cast(column, self.kind)
        if found is None:
            self.kind = pa.string()
        return column if found is None else found

    def _sample(self, column: pa.ChunkedArray) -> None:
        first = column.slice(0, 100)
        values = (first if first.null_count == 0 else column.drop_null()).slice(0, 100 - self._seen).to_pylist()
        self._seen += len(values)
        if self._decimal != ".":
            values = [_with_point(text, self._decimal) for text in values]
        if values and self._pattern is None:
            kinds = {NUMBER: pa.int64(), DATE: pa.date32(), TIMESTAMP: pa.timestamp("us")}
            fits = [pattern for pattern in kinds if pattern.fullmatch(values[0])]
            self._pattern = fits[0] if fits else NUMBER
            self.kind = kinds[self._pattern] if fits else pa.string()
        if self._pattern is not None and not all(self._pattern.fullmatch(text) for text in values):
            self.kind = pa.string()

    def _as_numbers(self, column: pa.ChunkedArray) -> pa.ChunkedArray | None:
        if self._decimal == ".":
            return _as_numbers(column)
        if pc.any(pc.match_substring(column, "."), min_count=0).as_py():
            return None
        return _as_numbers(pc.replace_substring(column, self._decimal, "."))


def _with_point(text: str, decimal: str) -> str:
    """A number with a point before its decimals; what has one already is no number, and none comes of it."""
    return text.replace(".", " ").replace(decimal, ".")


def _as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    from rothko.kernels.text import parse_integers

    chunks = []
    for chunk in column.chunks:
        out = np.empty(len(chunk), dtype=np.int64)
        offsets = np.frombuffer(chunk.buffers()[1], dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        data = np.frombuffer(chunk.buffers()[2] or b"\0", dtype=np.uint8)
        present = chunk.is_valid().to_numpy(zero_copy_only=False)
        if not parse_integers(offsets, data, present, out):
            return None
        chunks.append(pa.array(out, mask=~present) if chunk.null_count else pa.array(out))
    return pa.chunked_array(chunks, pa.int64())


def _has_long(column: pa.ChunkedArray) -> bool:
    """Whether whole numbers are among them that would be rounded, or have so many digits that they are codes."""
    ends = pc.min_max(column).as_py()
    if ends["min"] is None or max(ends["max"], -ends["min"]) < 10**15:
        return False
    large = column.filter(pc.greater_equal(pc.abs(column), 10**15)).unique().cast(pa.string())
    return _as_numbers(pa.chunked_array([large])) is None


def _as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Decimal numbers; texts with a plus, leading zeros or more digits than a number keeps are codes, and stay text."""
    if pc.any(pc.match_substring_regex(column, r"^(\+|-?0\d|-?\d{19})"), min_count=0).as_py():
        return None
    long = column.filter(pc.match_substring_regex(column, r"^-?\d{16}")).unique()
    if rounded(long.to_pylist()):
        return None
    return _cast(column, pa.float64())


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return None
