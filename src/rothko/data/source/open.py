"""Opening a table, whatever it is: a database by its address, a file by its ending, a dataframe by its kind.

Columns that a policy drops are never read. Messages of the readers quote the lines they stumble over; none of that
reaches the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rothko.data.address import ELSEWHERE, is_store
from rothko.data.source.csv import CsvOptions, texts
from rothko.data.source.database.url import is_database
from rothko.data.source.delta import is_delta, open_delta
from rothko.data.source.file_bytes import stamp
from rothko.data.source.formats import is_text, open_file
from rothko.data.source.listing import Files, files_named, is_several, paths_at, refuse_in_lake, released_in
from rothko.data.source.several import open_several
from rothko.data.source.source import Source
from rothko.errors import InputError
from rothko.mistakes import said


def open_source(data: Any, *, csv: CsvOptions | None = None, asked: Iterable[str] = ()) -> Source:
    """Open a path, or several, the address of a database, a dataframe or a mapping of arrays.

    What is open already comes back.

    Parameters
    ----------
    asked
        Columns that will be looked for. Where a text file has none of them, what is taken for its header may be a
        record, and the names that other messages show would be cells: it is refused here, in one that shows none.

    >>> open_source({"age": [30, 40]}).names
    ('age',)
    """
    if isinstance(data, Source):
        return data
    if is_database(data):
        from rothko.data.source.database.opening import open_database  # drivers take a while to load

        source = open_database(data)
    elif (files := files_named(data)) is not None:
        source = open_path(files, csv or CsvOptions())
    else:
        from rothko.data.source.frames import open_frame  # what knows all dataframes takes a while to load

        source = open_frame(data)
    with_names(source)
    _refuse_unnamed(source, list(asked))
    return source


def open_path(path: Files, csv: CsvOptions) -> Source:
    """Open a file, or all files of a list, a folder or a pattern; of the folder of a release, its table."""
    for one in (path,) if isinstance(path, Path) else path:
        _refuse_elsewhere(one)
    if isinstance(path, Path) and is_delta(path):
        return open_delta(path)
    if is_several(path):
        table = released_in(path) if isinstance(path, Path) and not is_store(path) else None
        return open_several(path, csv) if table is None else open_path(table, csv)
    assert isinstance(path, Path)
    refuse_in_lake(path)
    before = stamp(path)
    return replace(open_file(path, csv), _stamps={path: before})


def _refuse_elsewhere(path: Path) -> None:
    """Refuse the address of what is not read; it is not shown, for it may hold a password."""
    if ELSEWHERE.match(str(path)) and not is_store(path) and not path.exists():
        scheme = str(path).partition(":")[0]
        raise InputError(
            f"Nothing is read from {scheme}://: databases are postgresql://, sqlite:/// and duckdb:///, object stores "
            f"s3://, gs:// and az://. Save the table to a file, or read it in Python and give the dataframe."
        )


def with_names(source: Source) -> Source:
    """A source whose columns have a name each; refuses one that has a name twice."""
    twice = [name for name, times in Counter(source.names).items() if times > 1]
    if twice and source.named:
        raise InputError(f"{source.label} has the column {twice[0]!r} {Counter(source.names)[twice[0]]} times.")
    if twice:
        places = [f"{i}" for i, name in enumerate(source.names, 1) if name == twice[0]]
        raise InputError(
            f"{source.label} has the same name for its columns {', '.join(places)}; if its first line is a record, use "
            f"{said('--header', False)}."
        )
    return source


def open_either(data: Any, forms: Sequence[CsvOptions], asked: Sequence[str]) -> Source:
    """Open a text file that is written in one of some forms: the first in which it has columns that are asked for."""
    files = files_named(data)
    if files is None or len({*forms}) == 1:
        return open_source(data, csv=forms[-1], asked=asked)
    for form in forms[:-1]:
        try:
            source = open_source(data, csv=form)
            there = any(name in asked or name.removesuffix("_min") in asked for name in source.names)
            if there and (form.encoding == forms[-1].encoding or all(map(_is_utf_8, paths_at(files)))):
                return source
        except InputError:  # of another form, then; the last one says what is wrong
            continue
    return open_source(data, csv=forms[-1], asked=asked)


def _is_utf_8(path: Path) -> bool:
    """Whether all of a text file is UTF-8; what is not a text file has no other encoding."""
    if not is_text(path):
        return True
    try:
        for _ in texts(path, "utf-8"):
            pass
    except InputError:
        return False
    return True


def _refuse_unnamed(source: Source, asked: Sequence[str]) -> None:
    if source.named or not asked or not set(asked).isdisjoint(source.names):
        return
    raise InputError(
        f"{source.label} has no such columns: none of the {len(asked)} that are asked for is among the "
        f"{len(source.names)} name{'s' * (len(source.names) != 1)} in its first line; correct them or "
        f"{said('--delimiter')}, or use {said('--header', False)} if that line is a record "
        f"({said('--show-values')} lists what it holds).",
        values=source.names,
    )
