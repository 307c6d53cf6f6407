"""Cells of a text file that a spreadsheet takes for a formula: written with an apostrophe before them.

A cell is escaped if and only if it begins with one of ``= + - @``, a tab or a carriage return, and is not a number as
:data:`rothko.data.typed.NUMBER` has it (or an infinite one). Escaping puts ``'`` before it, which spreadsheets take
for "this is text" and do not show. Reading a release, the apostrophe is taken off again by the same rule; a cell that
came with one, ``'=x``, is then read as ``=x``.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.exact import NUMBER_OR_INFINITE
from rothko.release.sql import literal

BEGINS = "[=+\\-@\t\r]"
"""What a formula begins with, as RE2 writes it."""
NUMBER = f"(?:{NUMBER_OR_INFINITE})"
"""What begins so and is none: the whole cell is a number."""
MARK = "'"
"""What is put before it."""


def is_formula(texts: pa.Array) -> pa.Array:
    """Whether each text would be taken for a formula.

    >>> is_formula(pa.array(["=1+1", "-5", "+1e3", "-5 kg", "@x", "a=b", None])).to_pylist()
    [True, False, False, True, True, False, None]
    """
    begins = pc.match_substring_regex(texts, f"^{BEGINS}")
    if not pc.any(begins, min_count=0).as_py():
        return begins
    return pc.and_not(begins, pc.match_substring_regex(texts, f"^{NUMBER}$"))


def escaped(texts: pa.Array) -> pa.Array:
    """The texts as they are written.

    >>> escaped(pa.array(["=1+1", "-5", None])).to_pylist()
    ["'=1+1", '-5', None]
    """
    found = is_formula(texts)
    if not pc.any(found, min_count=0).as_py():
        return texts
    marks = pa.scalar(MARK, texts.type), pa.scalar("", texts.type)
    return pc.if_else(found, pc.binary_join_element_wise(marks[0], texts, marks[1]), texts)


def unescaped(texts: pa.Array) -> pa.Array:
    """The texts as they were before they were written.

    >>> unescaped(pa.array(["'=1+1", "-5", "'-5", "'tis"])).to_pylist()
    ['=1+1', '-5', "'-5", "'tis"]
    """
    marked = pc.match_substring_regex(texts, f"^{MARK}{BEGINS}")
    if not pc.any(marked, min_count=0).as_py():
        return texts
    bare = pc.utf8_slice_codeunits(texts, 1)
    return pc.if_else(pc.and_(marked, is_formula(bare)), bare, texts)


def unescaped_sql(text: str) -> str:
    """The same of an SQL expression that is text."""
    marked = f"regexp_matches({text}, {literal(f'^{MARK}{BEGINS}')})"
    number = f"regexp_full_match(substr({text}, 2), {literal(NUMBER)})"
    # Two steps, for most cells need no more than a look at their first character.
    bare = f"CASE WHEN {marked} AND NOT {number} THEN substr({text}, 2) ELSE {text} END"
    return f"CASE WHEN starts_with({text}, {literal(MARK)}) THEN {bare} ELSE {text} END"
