"""What a workbook says beside its values, and the reader of cells leaves out: what is hidden, errors, formulas that
nobody has computed; and whether it is one at all, no larger than it may be.

Workbooks are zipped XML (.xlsx, .ods) and looked through a block at a time. An old .xls has none; of it only the kind
is known.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from rothko.data.address import is_store
from rothko.data.source.file_bytes import unread
from rothko.errors import InputError

BLOCK_BYTES = 1 << 23
ENOUGH = 1 << 28
"""Bytes that a workbook may have unpacked, however small it is packed."""
TIMES = 200
"""How many times as large as packed a workbook may be beyond that; sheets of people are ten to thirty times."""
MOST = 1 << 34
"""The most bytes of a workbook, unpacked."""
OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How a compound file begins: an old .xls, or a workbook under a password."""
PASSWORD = "EncryptedPackage".encode("utf-16-le")

HIDDEN_ROW = re.compile(rb'<row\b[^>]*\bhidden="(?:1|true)"')
HIDDEN_COLUMN = re.compile(rb'<col\b(?=[^>]*\bhidden="(?:1|true)")[^>]*\bmin="(\d+)"[^>]*\bmax="(\d+)"')
ERROR = re.compile(rb'<c\b(?=[^>]*\bt="e")(?:[^>]*\br="([A-Z]+)\d+")?[^>]*>')
FORMULA = re.compile(rb"<c\b([^>]*)>(?:<f\b[^>]*/>|<f\b[^>]*>[^<]*</f>)(?:<v\s*/>|<v></v>)?</c>")
"""A cell with a formula and no value."""
ODS_HIDDEN = re.compile(rb'<table:table-(row|column)\b(?=[^>]*\btable:visibility="(?:collapse|filter)")')
ODS_ERROR = re.compile(rb'\bcalcext:value-type="error"')


@dataclass(slots=True)
class Beside:
    """What a sheet has beside its values."""

    hidden_rows: int = 0
    hidden_columns: list[int] = field(default_factory=list)
    """Their places, from 0 on."""
    some_hidden: bool = False
    """Whether columns are hidden, where it is not known which."""
    errors: Counter[str] = field(default_factory=Counter)
    """Letters of a column → cells with an error; empty where that is not known."""
    uncomputed: int = 0
    """Formulas without a value."""
    first: str = ""
    """The cell of the first of them."""


def check_workbook(path: Path) -> None:
    """Refuse what is no workbook, or would be far too large unpacked, before any reader looks at it."""
    if is_store(path):
        raise InputError(f"{path.name} lies in an object store, where workbooks are not read; copy it to a folder.")
    try:
        with path.open("rb") as file:
            start = file.read(1024)
            compound = start.startswith(OLD)
            locked = compound and PASSWORD in file.read(1 << 20) + start
            locked = locked or (compound and _has_at_end(file, PASSWORD))
    except OSError:
        raise unread(path, f"{path.name} cannot be read.") from None
    if locked:
        raise InputError(f"{path.name} is protected by a password; save it without one, and start again.")
    if compound and path.suffix.lower() == ".xls":
        return
    if start.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<"):
        raise InputError(
            f"{path.name} is a web page or another text with tags, not a workbook; open it in a spreadsheet program "
            "and save it as .xlsx."
        )
    if compound:
        raise InputError(f"{path.name} is an old workbook; call it .xls, or save it as .xlsx.")
    if not start.startswith(b"PK"):
        raise InputError(f"{path.name} is not a workbook; if it is a text file, call it .csv.")
    try:
        with zipfile.ZipFile(path) as file:
            size = sum(part.file_size for part in file.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise damaged(path) from None
    if size > MOST or (size > ENOUGH and size > TIMES * path.stat().st_size):
        raise InputError(
            f"{path.name} would take {size / 1e9:,.1f} GB unpacked, which no sheet of people does; save the table as "
            "CSV if it is one."
        )


def damaged(path: Path) -> InputError:
    """What is said of a workbook that cannot be read."""
    return InputError(f"{path.name} is not a workbook, or it is damaged or cut short.")


def look_beside(path: Path, sheet: int, name: str) -> Beside:
    """Look through the XML of a sheet: the one of this number, which has this name."""
    found = Beside()
    if path.suffix.lower() == ".xls":
        return found
    try:
        with zipfile.ZipFile(path) as file:
            inside = set(file.namelist())
            if "content.xml" in inside:
                with file.open("content.xml") as part:
                    _look_at_ods(part, sheet, found)
            elif part_name := _part_of(file, name, inside):
                with file.open(part_name) as part:
                    _look_at_xlsx(part, found)
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, zlib.error):
        raise damaged(path) from None
    return found


def letters(column: int) -> str:
    """The letters of a column of a sheet, by its place.

    >>> letters(0), letters(26), letters(16383)
    ('A', 'AA', 'XFD')
    """
    text = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(65 + rest) + text
    return text


def _has_at_end(file: IO[bytes], words: bytes) -> bool:
    """Whether words stand anywhere in the rest of a compound file, whose directory may lie at its end."""
    before = b""
    while block := file.read(1 << 20):
        if words in before + block:
            return True
        before = block[-len(words) :]
    return False


def _part_of(file: zipfile.ZipFile, name: str, inside: set[str]) -> str | None:
    """Where the cells of a sheet lie, as the workbook says."""
    from xml.etree import ElementTree

    try:
        book = ElementTree.fromstring(file.read("xl/workbook.xml"))
        relations = ElementTree.fromstring(file.read("xl/_rels/workbook.xml.rels"))
    except (KeyError, ElementTree.ParseError):
        return None
    targets = {one.get("Id"): one.get("Target", "") for one in relations}
    for element in book.iter():
        if element.tag.endswith("}sheet") and element.get("name") == name:
            key = next((value for key, value in element.attrib.items() if key.endswith("}id")), None)
            target = targets.get(key, "")
            part = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
            return part if part in inside else None
    return None


def _blocks(part: IO[bytes], end: bytes) -> Iterator[bytes]:
    """Some of a part at a time, cut where a row ends."""
    before = b""
    while block := part.read(BLOCK_BYTES):
        whole = before + block
        cut = whole.rfind(end) + len(end)
        if cut < len(end):
            before = whole
            continue
        yield whole[:cut]
        before = whole[cut:]
    yield before


def _look_at_xlsx(part: IO[bytes], found: Beside) -> None:
    for block in _blocks(part, b"</row>"):
        if b"hidden=" in block:
            found.hidden_rows += len(HIDDEN_ROW.findall(block))
            for first, last in HIDDEN_COLUMN.findall(block):
                found.hidden_columns += range(int(first) - 1, min(int(last), 16384))
        if b't="e"' in block:
            found.errors.update(one.decode() for one in ERROR.findall(block))
        if b"<f" in block:
            for told in FORMULA.findall(block):
                if b't="str"' not in told:  # an empty text is a value
                    found.uncomputed += 1
                    cell = re.search(rb'\br="([A-Z]+\d+)"', told)
                    found.first = found.first or (cell[1].decode() if cell else "")


def _look_at_ods(part: IO[bytes], sheet: int, found: Beside) -> None:
    """Tables stand one after the other; the one of this number is looked at."""
    at = -1
    for block in _blocks(part, b">"):
        for i, piece in enumerate(re.split(rb"(?=<table:table[ >])", block)):
            at += i > 0 or block.startswith((b"<table:table ", b"<table:table>"))
            if at != sheet:
                continue
            for kind in ODS_HIDDEN.findall(piece):
                found.hidden_rows += kind == b"row"
                found.some_hidden |= kind == b"column"
            if errors := len(ODS_ERROR.findall(piece)):
                found.errors[""] += errors
