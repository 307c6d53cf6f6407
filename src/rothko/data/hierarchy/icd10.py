"""Codes of the ICD-10 by what their characters say: category, ten categories, chapter.

A code is a letter, a digit, a third character, and behind a point that may be left out up to four more. The first three
are its category, `I21.-` in the classification's own notation. Chapters go by the letter, but for D and H, which two
share, and for A and B, C and D, S and T, V to Y, which are one each. No chapter ends between two codes that share
letter and first digit, so these two tell it. The ends are those of the widest edition: that of the World Health
Organization ends with D48, E90 and T98, the American modification with D49, E89 and T88.

Nothing of the classification itself is here. Marks behind a code (German diagnoses have `G`, `V`, `Z`, `A` for how
certain they are, `L`, `R`, `B` for the side; `*`, `+` and `!` for codes that go with others) leave it where it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.levels import join, nodes_of
from rothko.data.hierarchy.numbered import ROOT
from rothko.errors import HierarchyError
from rothko.mistakes import said

CHAPTERS = (
    ("A00", "B99"), ("C00", "D49"), ("D50", "D89"), ("E00", "E90"), ("F00", "F99"), ("G00", "G99"), ("H00", "H59"),
    ("H60", "H95"), ("I00", "I99"), ("J00", "J99"), ("K00", "K95"), ("L00", "L99"), ("M00", "M99"), ("N00", "N99"),
    ("O00", "O99"), ("P00", "P96"), ("Q00", "Q99"), ("R00", "R99"), ("S00", "T98"), ("V00", "Y99"), ("Z00", "Z99"),
    ("U00", "U99"),
)  # fmt: skip
"""First and last category of each; I to XXII."""
CODE = r"^ *[A-Za-z][0-9][0-9ABab]([.]?[0-9A-Za-z]{1,4})? ?[*+!#†]?( ?[GVZALRBgvzalrb]){0,2} *$"
"""What a code looks like, in what Arrow, DuckDB and PostgreSQL understand alike."""


def by_chapter(values: pa.Array | Sequence[str]) -> Hierarchy:
    """The hierarchy of codes; values that are none, or are in no chapter, have no leaf.

    Codes of four and more characters have a level between, too, whatever other codes there are: `E11.4-`.

    Examples
    --------
    >>> for row in by_chapter(["B20", "E11.40", "E11.41", "d48.9G"]).to_rows():
    ...     print(*row)
    B20 B20.- B20-B29 A00-B99 *
    E11.40 E11.4- E11.- E10-E19 E00-E90 *
    E11.41 E11.4- E11.- E10-E19 E00-E90 *
    d48.9G D48.9- D48.- D40-D49 C00-D49 *
    """
    texts = pa.array(values, pa.string()) if isinstance(values, Sequence) else values.cast(pa.string())
    texts = texts.drop_null()
    texts = texts.filter(are_codes(texts))
    if not len(texts):
        return Hierarchy((ROOT,), pa.array([-1], pa.int32()).to_numpy())
    bare = _bare(texts)
    ten, category, four = (pc.utf8_slice_codeunits(bare, 0, length) for length in (2, 3, 4))
    digit = pc.utf8_slice_codeunits(four, 3)
    # A letter there is a mark more often than a part of the code.
    part = pc.if_else(pc.match_substring_regex(digit, "^[0-9]$"), join(category, ".", digit, "-"), None)
    levels = [_chapters(ten), join(ten, "0-", ten, "9"), join(category, ".-"), part, texts]
    return Hierarchy(*nodes_of(levels))


def are_codes(texts: pa.Array) -> pa.Array:
    """Whether each text is a code of a chapter."""
    inside = pc.is_valid(_chapters(pc.utf8_slice_codeunits(_bare(texts), 0, 2)))
    return pc.and_(pc.match_substring_regex(texts, CODE), inside)


def refuse_others(texts: pa.Array, *, column: str) -> None:
    """Refuse distinct values of a column that are no codes: where they belong is not guessed."""
    others = texts.filter(pc.invert(are_codes(texts)))
    if len(others):
        raise HierarchyError(
            f"{len(others):,} of {len(texts):,} distinct values of column {column!r} are no ICD-10 codes "
            f"({said('--show-values')} lists them); correct them, name them as missing, or give the column another "
            "hierarchy that has them",
            values=others.to_pylist(),
        )


def chapter(ten: str) -> str | None:
    """The chapter of a letter and a digit; none where the classification has no such codes.

    >>> chapter("D4"), chapter("D5"), chapter("D9")
    ('C00-D49', 'D50-D89', None)
    """
    return next((f"{low}-{high}" for low, high in CHAPTERS if low[:2] <= ten <= high[:2]), None)


def _chapters(ten: pa.Array) -> pa.Array:
    distinct = ten.dictionary_encode()
    return pa.array([chapter(one) for one in distinct.dictionary.to_pylist()], pa.string()).take(distinct.indices)


def _bare(texts: pa.Array) -> pa.Array:
    """Codes in capitals, without point and blanks."""
    return pc.replace_substring_regex(pc.utf8_upper(texts), r"[. ]", "")
