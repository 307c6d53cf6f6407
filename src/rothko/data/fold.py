"""Texts that look alike: the same but for case, blanks and the way in which Unicode writes a letter.

``HIV``, ``HIV `` and ``hiv`` are three texts. A requirement that counts values would count three, and a person reads
one. Folded they are one text: letters composed (NFC), blanks of any kind as one space and none at the ends, marks that
cannot be seen left out, upper case as lower case. By letter: ``ß`` stays apart from ``ss``, as ``é`` does from ``e``.

The verifier folds by SQL (:mod:`rothko.release.value_sql`), from the same two patterns.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from rothko.errors import PrivacyWarning

BLANKS = r"[\s\x{0B}\x{1C}-\x{1F}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+"
"""A run of blanks, as RE2 writes it: PyArrow and DuckDB both read that."""
UNSEEN = r"[\x{AD}\x{200B}-\x{200D}\x{2060}\x{FEFF}]"
"""Marks that take no room: soft hyphens, joiners, byte order marks."""


def folded(texts: pa.Array) -> pa.Array:
    r"""Texts without what cannot be told apart by eye; null stays null.

    >>> folded(pa.array(["HIV", "hiv ", "h\u200biv", "Cafe\u0301", "CAFÉ", "a \u00a0 b"])).to_pylist()
    ['hiv', 'hiv', 'hiv', 'café', 'café', 'a b']
    """
    texts = pc.utf8_normalize(pc.replace_substring_regex(texts, UNSEEN, ""), form="NFC")
    # By way of upper case: ς and σ, or ſ and s, are one letter there.
    texts = pc.utf8_normalize(pc.utf8_lower(pc.utf8_upper(texts)), form="NFC")
    return pc.utf8_trim(pc.replace_substring_regex(texts, BLANKS, " "), " ")


def look_alikes(texts: pa.Array) -> int:
    """How many of some distinct texts look like one of the others.

    >>> look_alikes(pa.array(["flu", "Flu", "cold"]))
    2
    """
    same = pc.value_counts(folded(pc.drop_null(texts)))
    counts = pc.struct_field(same, "counts")
    return int(pc.sum(pc.filter(counts, pc.greater(counts, 1)), min_count=0).as_py())


def warn_of_look_alikes(values: Mapping[str, pa.Array], *, stacklevel: int = 3) -> None:
    """Warn of sensitive columns whose values are counted apart though a person would take them for the same.

    Parameters
    ----------
    values
        Column → its distinct values, for columns that are not folded; those that are no text are passed over.
    """
    for name, found in values.items():
        if pa.types.is_string(found.type) and (alike := look_alikes(found)):
            warnings.warn(
                f"{alike} of the {len(found)} values of {name!r} look like one of the others but for case, blanks or "
                "Unicode form, and count as different ones; 'fold: true' counts them as one.",
                PrivacyWarning,
                stacklevel=stacklevel,
            )
