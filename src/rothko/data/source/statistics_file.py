"""Files of statistics programs: SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt), by ReadStat.

A value that has a label is its label: codes mean nothing without the file that they come from. That holds where all
values of a column have one; where only some have (98 "refuses"), the column stays numbers, and it is told. Values that
a file declares missing are missing. Dates are reckoned from the days that the programs count from, with nothing
rounded. Names that a file gives to its columns beside their own are for a draft to show; notes are not read.

Types are settled once, over all records: a column is whole numbers only where all of them are.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.address import is_store
from rothko.data.source.cells import WHOLE, released
from rothko.data.source.csv import CsvOptions, check_encoding
from rothko.data.source.file_bytes import unread
from rothko.data.source.source import Source
from rothko.data.source.years import DAY, FIRST_DAY, LAST_DAY
from rothko.errors import InputError, MissingExtraError
from rothko.mistakes import said

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
CELLS = 1 << 23
"""Values that are read at a time: as objects they take some forty bytes each."""
CARD = 80
"""Bytes of the cards that a transport file of SAS is made of; the last one is filled with blanks."""
SPSS_EPOCH = 12_219_379_200
"""Seconds from 1582-10-14, from which SPSS counts, to 1970."""
STATA_EPOCH = 3_653
"""Days from 1960-01-01, from which Stata and SAS count, to 1970."""
MICRO = 1_000_000
DATE, TIMESTAMP, TIME = "date", "timestamp", "time"

FORMS: Mapping[str, Sequence[tuple[str, str, float]]] = {
    "spss": (
        (r"(A|E|J|S)?DATE\d*|QYR\d*|MOYR\d*|WKYR\d*", DATE, 1),
        (r"DATETIME.*|YMDHMS.*", TIMESTAMP, 1),
        (r"TIME.*", TIME, 1),
    ),
    "stata": ((r"%-?t?d.*", DATE, DAY), (r"%-?tc.*", TIMESTAMP, 1e-3)),
    "sas": (
        (r"(DATETIME|DATEAMPM|E8601DT|B8601DT|MDYAMPM).*", TIMESTAMP, 1),
        (r"(TIME|TOD|HHMM|E8601TM|B8601TM).*", TIME, 1),
        (
            r"(DATE|DAY|DOWNAME|DDMMYY|MMDDYY|YYMMDD|MMYY|YYMM|YYMON|YYQ|MONYY|MONNAME|MONTH|QTR|YEAR|JULIAN|JULDAY|WEEK"
            r"|WORDDAT|NLDATE|NENGO|E8601DA|B8601DA).*",
            DATE,
            DAY,
        ),
    ),
}
"""Program → how its formats of dates and times begin, what they are, and how many seconds a number counts."""


@dataclass(frozen=True, slots=True)
class Variable:
    """What a file says of a column."""

    name: str
    text: bool
    labels: Mapping[Any, str]
    """Value → what it stands for, in the order of the values."""
    form: str = ""
    """What its numbers are, where they are dates or times."""
    seconds: float = 1
    epoch: int = 0
    """Seconds that its numbers count each, and those from their beginning to 1970."""


@dataclass(slots=True)
class Settled:
    """What all values of a column are, as far as they were seen."""

    labelled: bool = True
    """Whether every value has a label."""
    some: bool = False
    """Whether any has."""
    whole: bool = True
    whole_days: bool = True

    def look(self, about: Variable, values: pa.Array) -> None:
        """Look at more values."""
        distinct = values.unique().drop_null()
        if about.labels:
            hit = pc.is_in(distinct, value_set=_codes(about))
            self.labelled &= bool(pc.all(hit, min_count=0).as_py())
            self.some |= bool(pc.any(hit, min_count=0).as_py())
        if about.text or len(distinct) == 0:
            return
        numbers = distinct.to_numpy(zero_copy_only=False)
        self.whole &= bool((np.floor(numbers) == numbers).all() and (np.abs(numbers) < WHOLE).all())
        if about.form == DATE:
            days = numbers * (about.seconds / DAY)
            self.whole_days &= bool((np.floor(days) == days).all())

    def column(self, about: Variable, values: pa.Array) -> pa.Array:
        """Values as they are read."""
        if about.labels and self.labelled and self.some:
            words = pa.array(list(about.labels.values()), pa.string())
            return words.take(pc.index_in(values, value_set=_codes(about)))
        if about.text:
            return values
        if about.form:
            return _times(about, values, date=self.whole_days)
        return values.cast(pa.int64()) if self.whole else values


def open_statistics(path: Path, options: CsvOptions) -> Source:
    """Open a file of a statistics program."""
    file = StatisticsFile(path, _reader(path), options.encoding)
    about, rows = file.about()
    settled: dict[str, Settled] = {}

    def settle(columns: Sequence[str]) -> None:
        new = [name for name in columns if name not in settled]
        found = {name: Settled() for name in new}
        for values in file.pieces(new, about) if new else ():
            for name in new:
                found[name].look(about[name], values[name])
        settled.update(found)

    def read(columns: Sequence[str], _: Collection[str]) -> pa.Table:
        parts = list(file.pieces(columns, about))
        new = [name for name in columns if name not in settled]
        found = {name: Settled() for name in new}
        for part in parts:
            for name in new:
                found[name].look(about[name], part[name])
        settled.update(found)
        return _table(columns, about, settled, parts)

    def pieces(columns: Sequence[str], _: Collection[str], __: int, ___: int) -> Iterator[pa.Table]:
        settle(columns)
        return (_table(columns, about, settled, [part]) for part in file.pieces(columns, about))

    return Source(
        path.name,
        tuple(about),
        path,
        read,
        _pieces=pieces,
        rows=rows,
        bytes=path.stat().st_size,
        orders=file.orders,
        labels={name: one.labels for name, one in about.items() if one.labels and not one.text},
        titles=file.titles,
        notes=file.notes(about),
    )


@dataclass(frozen=True, slots=True)
class Texts:
    """A file as the verifier reads it: every value as text, some records at a time."""

    names: tuple[str, ...]
    idle: tuple[str, ...]
    """Columns with labels of values that do not occur."""
    batches: Callable[[], Iterator[pa.RecordBatch]]


def texts_of(path: Path) -> Texts:
    """All values of a file as text; it is gone through once to settle what they are."""
    file = StatisticsFile(path, _reader(path), None)
    about, _ = file.about()
    names = tuple(about)
    settled = {name: Settled() for name in names}
    hit = {name: np.zeros(len(one.labels), dtype=bool) for name, one in about.items()}
    for part in file.pieces(names, about):
        for name, one in about.items():
            settled[name].look(one, part[name])
            if one.labels:
                hit[name] |= pc.is_in(_codes(one), value_set=part[name].unique()).to_numpy(zero_copy_only=False)

    def batches() -> Iterator[pa.RecordBatch]:
        for part in file.pieces(names, about):
            texts = [released(settled[name].column(about[name], part[name])).cast(pa.string()) for name in names]
            yield pa.RecordBatch.from_arrays(texts, names=list(names))

    return Texts(names, tuple(name for name in names if not hit[name].all()), batches)


def needs_reader(path: Path) -> None:
    """Say at once where what reads these files is not installed."""
    _pyreadstat(path)


class StatisticsFile:
    """A file, and what it says of its columns."""

    def __init__(self, path: Path, reader: Any, encoding: str | None) -> None:
        if encoding is not None:
            check_encoding(encoding)
        self.path = path
        # As iconv calls it, which does not know latin-1; a portable file has the characters of its own table.
        known = encoding is not None and path.suffix.lower() != ".por"
        named = {"encoding": codecs.lookup(encoding).name} if known and encoding else {}
        self._read = partial(reader, str(path), output_format="dict", disable_datetime_conversion=True, **named)
        self.orders: dict[str, tuple[str, ...]] = {}
        self.titles: dict[str, str] = {}

    def about(self) -> tuple[dict[str, Variable], int | None]:
        """What the file says of its columns, and of how many records it has."""
        _, meta = self._told(metadataonly=True)
        program = {".dta": "stata", ".sas7bdat": "sas", ".xpt": "sas"}.get(self.path.suffix.lower(), "spss")
        if len(meta.column_names) == 0:
            raise InputError(f"{self.path.name} has no columns.")
        found = {name: self._variable(name, meta, program) for name in meta.column_names}
        self.titles.update({name: label for name, label in meta.column_names_to_labels.items() if label})
        measures = meta.variable_measure or {}
        for name, about in found.items():
            if about.labels and measures.get(name) == "ordinal":
                self.orders[name] = tuple(about.labels.values())
        return found, meta.number_rows

    def notes(self, about: Mapping[str, Variable]) -> tuple[str, ...]:
        """What a person should know of how it was read."""
        labelled = [name for name, one in about.items() if one.labels]
        if not labelled:
            return ()
        listed = ", ".join(map(repr, labelled[:8])) + (f" and {len(labelled) - 8} more" if len(labelled) > 8 else "")
        return (f"{listed} have labels: read as these where every value that occurs has one, as numbers where not.",)

    def pieces(self, columns: Sequence[str], about: Mapping[str, Variable]) -> Iterator[dict[str, pa.Array]]:
        """The values of columns as the file has them, some records at a time."""
        step, begin = max(CELLS // max(len(columns), 1), 1), 0
        while True:
            held, _ = self._told(usecols=list(columns), row_offset=begin, row_limit=step)
            count = len(held[columns[0]]) if columns else 0
            yield {name: self._values(about[name], held[name]) for name in columns}
            if count < step:
                return
            begin += count

    def _values(self, about: Variable, values: list[Any]) -> pa.Array:
        try:
            if not about.text:
                return pa.array(values, pa.float64())
            texts = pa.array(values, pa.string())
            return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise self._damaged() from None

    def _variable(self, name: str, meta: Any, program: str) -> Variable:
        text = meta.readstat_variable_types.get(name) == "string"
        labels = (meta.variable_value_labels or {}).get(name, {})
        told = str(meta.original_variable_types.get(name) or "").upper() if program != "stata" else str(
            meta.original_variable_types.get(name) or ""
        )  # fmt: skip
        form, seconds = "", 1.0
        for pattern, kind, unit in FORMS[program] if not text else ():
            if re.fullmatch(pattern, told):
                form, seconds = kind, unit
                break
        epoch = SPSS_EPOCH if program == "spss" else STATA_EPOCH * DAY
        return Variable(name, text, _labels(labels, text), form, seconds, epoch)

    def _told(self, **options: Any) -> tuple[Any, Any]:
        """What the reader gives, or one sentence; its messages may quote what it stumbles over."""
        try:
            table, meta = self._read(**options)
            return table, meta
        except MemoryError:
            raise
        except UnicodeError:
            raise self._other_encoding() from None
        except Exception as error:  # of ReadStat and of pyreadstat, which share no base
            if "encoding" in str(error).lower() or "character set" in str(error).lower():
                raise self._other_encoding() from None
            raise self._damaged() from None

    def _other_encoding(self) -> InputError:
        return InputError(
            f"{self.path.name} has text in another encoding than it says; name it, for example "
            f"{said('--encoding', 'latin-1')}."
        )

    def _damaged(self) -> InputError:
        return InputError(f"{self.path.name} is not a {self.path.suffix.lower()} file, or it is damaged or cut short.")


def _reader(path: Path) -> Any:
    if is_store(path):
        raise InputError(
            f"{path.name} lies in an object store, where files of statistics programs are not read; copy it to a "
            "folder."
        )
    reader = _pyreadstat(path)
    try:
        with path.open("rb"):
            size = path.stat().st_size
    except OSError:
        raise unread(path, f"{path.name} cannot be read.") from None
    if path.suffix.lower() == ".xpt" and size % CARD:
        # It does not say how many records it has: the reader would take what is left for all.
        raise InputError(f"{path.name} is not a .xpt file, or it is damaged or cut short.")
    return getattr(reader, READERS[path.suffix.lower()])


def _pyreadstat(path: Path) -> Any:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError(f"{path.name} needs pyreadstat; pip install 'rothko[stat]'.") from None
    return pyreadstat


def _labels(given: Mapping[Any, Any], text: bool) -> dict[Any, str]:
    """Labels in the order of their values; two that are alike are told apart by their values.

    >>> _labels({2.0: "no", 1.0: "yes", 3.0: "no"}, text=False)
    {1.0: 'yes', 2.0: 'no (2)', 3.0: 'no (3)'}
    """
    fit = {
        (value if text else float(value)): str(label)
        for value, label in given.items()
        if label and isinstance(value, str) == text
    }
    words = list(fit.values())
    twice = {word for word in words if words.count(word) > 1}
    shown = {value: f"{value:g}" if isinstance(value, float) else value for value in fit}
    return {value: f"{fit[value]} ({shown[value]})" if fit[value] in twice else fit[value] for value in sorted(fit)}


def _codes(about: Variable) -> pa.Array:
    return pa.array(list(about.labels), pa.string() if about.text else pa.float64())


def _table(
    columns: Sequence[str],
    about: Mapping[str, Variable],
    settled: Mapping[str, Settled],
    parts: Sequence[Mapping[str, pa.Array]],
) -> pa.Table:
    return pa.table(
        {name: pa.chunked_array([settled[name].column(about[name], part[name]) for part in parts]) for name in columns}
    )


def _times(about: Variable, values: pa.Array, *, date: bool) -> pa.Array:
    """Numbers of a program as dates, timestamps or times of a day; a day with a fraction is a timestamp."""
    absent = ~values.is_valid().to_numpy(zero_copy_only=False)
    numbers = np.where(absent, 0.0, values.to_numpy(zero_copy_only=False))
    if about.form == TIME:
        clock = np.rint(numbers * about.seconds * MICRO)
        if ((clock < 0) | (clock >= DAY * MICRO)).any():
            return values  # a span of time, which is a number
        return pa.array(clock.astype(np.int64), pa.time64("us"), mask=absent)
    if about.form == DATE and date:
        days = np.rint(numbers * (about.seconds / DAY)) - about.epoch // DAY
        return pa.array(_clipped(days, 1).astype(np.int32), pa.int32(), mask=absent).cast(pa.date32())
    moments = _clipped(np.rint(numbers * (about.seconds * MICRO)), DAY * MICRO, about.epoch * MICRO)
    return pa.array(moments.astype(np.int64) - about.epoch * MICRO, pa.timestamp("us"), mask=absent)


def _clipped(numbers: NDArray[np.float64], units: int, epoch: int = 0) -> NDArray[np.float64]:
    """Numbers of so many units a day; those of days that are not read are beyond these, but not beyond their type."""
    return np.clip(numbers, (FIRST_DAY - DAY) * units + epoch, (LAST_DAY + DAY) * units + epoch)
