"""Stata files (.dta), format 118: the one of Stata 14 and later, with UTF-8.

Written here and not by a library, by the published description of the format ("help dta" of Stata): a file holds its
variables, its values and the labels of values that occur. No time, no name of the data, no notes, no order. The
verifier reads it by ReadStat.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.release.formats.variables import (
    DAY,
    MOMENT,
    TEXT,
    Variable,
    codes_of,
    padded,
    refuse_names,
    write_records,
)

DAYS, MILLISECONDS = 3_653, 3_653 * 86_400_000
"""From 1960, from which Stata counts, to 1970."""
LONGEST = 2_045
"""Bytes of a text of fixed width."""
NAME, FORMAT, LABEL = 129, 57, 321
"""Bytes that names, formats and labels of variables take."""
RESERVED = (
    "_all", "_b", "byte", "_coef", "_cons", "double", "float", "if", "in", "int", "long", "_n", "_N", "_pi", "_pred",
    "_rc", "_skip", "strL", "using", "with",
)  # fmt: skip
BYTE, INT, LONG, DOUBLE = 65_530, 65_529, 65_528, 65_526
LARGEST = 2_147_483_620
"""Of the whole numbers that can have labels, the largest."""
WHOLE_TYPES: Sequence[tuple[int, str, int, int, int]] = (
    (BYTE, "<i1", -127, 100, 101),
    (INT, "<i2", -32_767, 32_740, 32_741),
    (LONG, "<i4", -2_147_483_647, LARGEST, 2_147_483_621),
)
"""Type, how it is stored, its least and largest number, and the one that stands for what is missing."""
MISSING = 2.0**1023
"""The double that stands for what is missing."""


class Stata:
    """What a file of Stata holds."""

    ending, unit = ".dta", "ms"
    most_columns, most_bytes, most_label = 32_767, LONGEST, 32_000
    trims = False

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse names that Stata does not allow."""
        wrong = [name for name in names if not is_name(name)]
        refuse_names(
            wrong, ".dta", "a name has at most 32 letters, digits and _, begins with no digit, and is no word of Stata"
        )

    def has_code(self, code: float) -> bool:
        """Whole numbers can have labels."""
        return float(code).is_integer() and -LARGEST <= code <= LARGEST

    def write(self, file: IO[bytes], variables: Sequence[Variable], rows: int, tables: Iterator[pa.Table]) -> None:
        """Write all of a file; where its parts begin is told when they are written."""
        count = len(variables)
        stored = [_stored(variable) for variable in variables]
        at = [0]
        file.write(
            b"<stata_dta><header><release>118</release><byteorder>LSF</byteorder><K>" + struct.pack("<H", count)
            + b"</K><N>" + struct.pack("<Q", rows) + b"</N><label>\0\0</label><timestamp>\0</timestamp></header>"
        )  # fmt: skip
        at.append(file.tell())
        file.write(b"<map>" + bytes(14 * 8) + b"</map>")
        names = [f"labels{i}" if variable.labels else "" for i, variable in enumerate(variables)]
        parts = {
            "variable_types": struct.pack(f"<{count}H", *(one.number for one in stored)),
            "varnames": b"".join(_fixed(variable.name, NAME) for variable in variables),
            "sortlist": bytes(2 * (count + 1)),
            "formats": b"".join(_fixed(one.shown, FORMAT) for one in stored),
            "value_label_names": b"".join(_fixed(name, NAME) for name in names),
            "variable_labels": bytes(LABEL * count),
            "characteristics": b"",
        }
        for name, content in parts.items():
            at.append(file.tell())
            file.write(f"<{name}>".encode() + content + f"</{name}>".encode())
        at.append(file.tell())
        file.write(b"<data>")
        record = np.dtype([(f"c{i}", one.kind) for i, one in enumerate(stored)])
        by_name = {variable.name: (variable, one) for variable, one in zip(variables, stored, strict=True)}
        write_records(file, record, tables, lambda name, values: _field(*by_name[name], values))
        file.write(b"</data>")
        at.append(file.tell())
        file.write(b"<strls></strls>")
        at.append(file.tell())
        listed = (_labels(name, variable.labels) for name, variable in zip(names, variables, strict=True) if name)
        file.write(b"<value_labels>" + b"".join(listed) + b"</value_labels>")
        at.append(file.tell())
        file.write(b"</stata_dta>")
        at.append(file.tell())
        file.seek(at[1])
        file.write(b"<map>" + struct.pack("<14Q", *at) + b"</map>")


class _Stored:
    """How a variable is stored and shown."""

    __slots__ = ("kind", "missing", "number", "shown")

    def __init__(self, number: int, kind: str, shown: str, missing: float) -> None:
        self.number, self.kind, self.shown, self.missing = number, kind, shown, missing


def is_name(name: str) -> bool:
    """Whether Stata allows the name of a variable.

    >>> is_name("größe_2"), is_name("2nd"), is_name("patient id"), is_name("str7"), is_name("x" * 33)
    (True, False, False, False, False)
    """
    if len(name) > 32 or len(name.encode()) >= NAME or name in RESERVED:
        return False
    return re.fullmatch(r"[^\W\d]\w*", name) is not None and re.fullmatch(r"str\d+", name) is None


def _stored(variable: Variable) -> _Stored:
    if variable.form == TEXT:
        return _Stored(variable.width, f"V{variable.width}", f"%{variable.width}s", 0)
    if variable.form == DAY:
        number, kind, *_, missing = WHOLE_TYPES[-1]
        return _Stored(number, kind, "%td", missing)
    if variable.form == MOMENT:
        return _Stored(DOUBLE, "<f8", "%tc", MISSING)
    for number, kind, low, high, missing in WHOLE_TYPES if variable.whole else ():
        if low <= variable.low and variable.high <= high:
            return _Stored(number, kind, "%12.0g" if number == LONG else "%8.0g", missing)
    return _Stored(DOUBLE, "<f8", "%10.0g", MISSING)


def _field(variable: Variable, stored: _Stored, values: pa.Array) -> NDArray[np.generic]:
    """The bytes of a variable in some records."""
    if variable.form == TEXT:
        return padded(values, variable.width, b"\0").view(stored.kind).reshape(-1)
    numbers = codes_of(variable, values)
    numbers = numbers + {DAY: DAYS, MOMENT: MILLISECONDS}.get(variable.form, 0)
    return np.where(np.isnan(numbers), stored.missing, numbers).astype(stored.kind)


def _labels(name: str, labels: Mapping[float, str]) -> bytes:
    """A table of labels: where each begins, the values, the texts."""
    texts = [label.encode() + b"\0" for label in labels.values()]
    ends = np.cumsum([0, *map(len, texts)])
    count = len(texts)
    table = struct.pack("<II", count, int(ends[-1]))
    table += struct.pack(f"<{count}I", *ends[:-1].tolist()) + struct.pack(f"<{count}i", *map(int, labels))
    table += b"".join(texts)
    return b"<lbl>" + struct.pack("<I", len(table)) + _fixed(name, NAME) + bytes(3) + table + b"</lbl>"


def _fixed(text: str, width: int) -> bytes:
    return text.encode().ljust(width, b"\0")
