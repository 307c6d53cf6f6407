"""SPSS system files (.sav), not compressed, with UTF-8.

Written here and not by a library, by the description of the format that PSPP gives in its manual ("System File
Format"): a file holds its variables, its values and the labels of values that occur. No time, no name of the data, no
documents. The verifier reads it by ReadStat.

Every number is a double. A text of more than 255 bytes is several variables in the file, of 255 bytes each, that a
record joins.
"""

from __future__ import annotations

import re
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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

EPOCH = 12_219_379_200
"""Seconds from 1582-10-14, from which SPSS counts, to 1970."""
DAY_SECONDS = 86_400
LONGEST = 32_767
"""Bytes of a text."""
SEGMENT, NAMED = 255, 252
"""Bytes of a part of a longer text, and for how many of them there is a part."""
UNIT = 8
"""Bytes of a number, and of a piece of a text."""
MOST_CASES = (1 << 31) - 1
NAME_BYTES, SHORT_BYTES = 64, 8
RESERVED = ("ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH")
MISSING = -sys.float_info.max
HIGHEST, LOWEST = sys.float_info.max, float(np.nextafter(-sys.float_info.max, 0))
UTF_8 = 65_001
A, F, DATE, DATETIME = 1, 5, 20, 22
"""Formats in which values are shown."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """A variable in the file: its parts, of which a number has one, and where the first stands."""

    variable: Variable
    short: tuple[str, ...]
    """Names of the parts in the file."""
    widths: tuple[int, ...]
    """Bytes of text of each; 0 for a number."""
    place: int
    """The number of its first piece in a record, from 1."""

    @property
    def pieces(self) -> tuple[int, ...]:
        """Pieces of 8 bytes that each part takes."""
        return tuple(max(-(-width // UNIT), 1) for width in self.widths)

    @property
    def kind(self) -> str:
        """How NumPy calls what a record has of it."""
        return f"V{UNIT * sum(self.pieces)}" if self.variable.form == TEXT else "<f8"


class Spss:
    """What a file of SPSS holds."""

    ending, unit = ".sav", "s"
    most_columns, most_bytes, most_label = MOST_CASES, LONGEST, 120
    trims = True

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse names that SPSS does not allow, and those that it does not tell apart."""
        times = Counter(name.upper() for name in names)
        wrong = [name for name in names if not is_name(name) or times[name.upper()] > 1]
        refuse_names(
            wrong,
            ".sav",
            "a name has at most 64 bytes of letters, digits and _ . @ # $, begins with a letter, does not end with a "
            "point, is no word of SPSS, and differs from all others in more than upper and lower case",
        )

    def has_code(self, code: float) -> bool:
        """Any number can have a label."""
        return True

    def write(self, file: IO[bytes], variables: Sequence[Variable], rows: int, tables: Iterator[pa.Table]) -> None:
        """Write all of a file."""
        stored = _arranged(variables)
        size = sum(sum(one.pieces) for one in stored)
        file.write(
            b"$FL2" + "@(#) SPSS DATA FILE rothko".ljust(60).encode()
            + struct.pack("<5id", 2, size, 0, 0, rows if rows <= MOST_CASES else -1, 100.0)
            + b"01 Jan 7000:00:00" + b" " * 64 + bytes(3)
        )  # fmt: skip
        for one in stored:
            file.write(_described(one))
        for one in stored:
            file.write(_labels(one.variable.labels, one.place))
        file.write(_record(3, 4, struct.pack("<8i", 1, 0, 0, -1, 1, 1, 2, UTF_8)))
        file.write(_record(4, 8, struct.pack("<3d", MISSING, HIGHEST, LOWEST)))
        file.write(_record(13, 1, "\t".join(f"{one.short[0]}={one.variable.name}" for one in stored).encode()))
        long = [f"{one.short[0]}={one.variable.width:05d}\0\t" for one in stored if len(one.short) > 1]
        if long:
            file.write(_record(14, 1, "".join(long).encode()))
        file.write(_record(16, 8, struct.pack("<2q", 1, rows)))
        file.write(_record(20, 1, b"UTF-8"))
        file.write(struct.pack("<2i", 999, 0))
        record = np.dtype([(f"c{i}", one.kind) for i, one in enumerate(stored)])
        by_name = {one.variable.name: one for one in stored}
        write_records(file, record, tables, lambda name, values: _field(by_name[name], values))


def is_name(name: str) -> bool:
    """Whether SPSS allows the name of a variable.

    >>> is_name("größe.2"), is_name("_x"), is_name("patient id"), is_name("with"), is_name("x" * 65), is_name("a.")
    (True, False, False, False, False, False)
    """
    if len(name.encode()) > NAME_BYTES or name.upper() in RESERVED or name.endswith("."):
        return False
    return re.fullmatch(r"[^\W\d_][\w.@#$]*", name) is not None


def _arranged(variables: Sequence[Variable]) -> list[_Stored]:
    """The variables with their parts, each under a name of 8 bytes that no other variable has."""
    own = {variable.name.upper() for variable in variables}
    number, place, found = 0, 1, []
    for variable in variables:
        widths = _widths(variable)
        short = [variable.name.upper()] if variable.name.isascii() and len(variable.name) <= SHORT_BYTES else []
        while len(short) < len(widths):
            number += 1
            if f"V{number}" not in own:
                short.append(f"V{number}")
        found.append(_Stored(variable, tuple(short), widths, place))
        place += sum(found[-1].pieces)
    return found


def _widths(variable: Variable) -> tuple[int, ...]:
    """The widths of the parts of a variable, as a program expects them."""
    if variable.form != TEXT:
        return (0,)
    if variable.width <= SEGMENT:
        return (variable.width,)
    parts = -(-variable.width // NAMED)
    return (*[SEGMENT] * (parts - 1), variable.width - (parts - 1) * NAMED)


def _described(one: _Stored) -> bytes:
    """What stands in the file for a variable: a record for each of its parts, and for each more piece of one."""
    shown = _shown(one.variable)
    found = b""
    for short, width, pieces in zip(one.short, one.widths, one.pieces, strict=True):
        form = (A << 16) | (width << 8) if width else shown
        found += struct.pack("<6i", 2, width, 0, 0, form, form) + short.ljust(SHORT_BYTES).encode()
        more = struct.pack("<6i", 2, -1, 0, 0, 0, 0) + b" " * SHORT_BYTES
        found += more * (pieces - 1)
    return found


def _shown(variable: Variable) -> int:
    """How numbers are shown: the kind of format, its width and its decimals."""
    if variable.form == DAY:
        return (DATE << 16) | (11 << 8)
    if variable.form == MOMENT:
        return (DATETIME << 16) | (20 << 8)
    if variable.whole:
        digits = max(len(str(int(variable.low))), len(str(int(variable.high))))
        return (F << 16) | (max(digits, 8) << 8)
    return (F << 16) | (12 << 8) | 4


def _labels(labels: Mapping[float, str], place: int) -> bytes:
    """The labels of a variable, and which it is."""
    if not labels:
        return b""
    found = struct.pack("<2i", 3, len(labels))
    for code, label in labels.items():
        text = label.encode()
        found += struct.pack("<dB", code, len(text)) + text + b" " * (-(len(text) + 1) % UNIT)
    return found + struct.pack("<3i", 4, 1, place)


def _record(kind: int, size: int, content: bytes) -> bytes:
    return struct.pack("<4i", 7, kind, size, len(content) // size) + content


def _field(one: _Stored, values: pa.Array) -> NDArray[np.generic]:
    """The bytes of a variable in some records."""
    variable = one.variable
    if variable.form != TEXT:
        numbers = codes_of(variable, values)
        if variable.form == DAY:
            numbers = numbers * DAY_SECONDS + EPOCH
        elif variable.form == MOMENT:
            numbers = numbers / 1000 + EPOCH
        return np.where(np.isnan(numbers), MISSING, numbers)
    texts = padded(values, variable.width, b" ")
    held = np.full((len(texts), UNIT * sum(one.pieces)), ord(" "), dtype=np.uint8)
    at = 0
    for begin, pieces in zip(range(0, len(one.widths) * SEGMENT, SEGMENT), one.pieces, strict=True):
        part = texts[:, begin : begin + SEGMENT]
        held[:, at : at + part.shape[1]] = part
        at += UNIT * pieces
    return held.view(one.kind).reshape(-1)
