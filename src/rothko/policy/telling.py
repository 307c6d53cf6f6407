"""What values tell by themselves, whatever their column is called: addresses, numbers given to one person, free text.

Numbers of accounts, cards and people carry check digits, which chance seldom gets right; the rules of each country are
those of python-stdnum. A sample of the records is looked at, so that a long table takes no longer than a short one.
Nothing here gives a value away: what is found is a name, and a share of the records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.line import as_text

SAMPLED = 10_000
"""Records of a column that are looked at; of fewer, all."""
TRIED, FIRST = 500, 30
"""Distinct values whose check digits are computed, and how many of them must look well before the others are."""
FEWEST = 10
"""With fewer distinct values check digits may be right by chance."""
MOST_OF_THEM = 0.8
"""The share of records from which on a column is what they are."""
SOME_OF_THEM = 0.01
"""The share from which on addresses within other text make it lead to one person."""
WORDY, WORDS = 0.5, 5
"""Free text: the share of records that have so many words."""

EMAIL = r"[^@\s,;:<>()\[\]]+@[^@\s,;:<>()\[\]]+\.[A-Za-z]{2,}"
_BYTE = r"(25[0-5]|2[0-4]\d|1?\d?\d)"
_HEX = r"[0-9A-Fa-f]"
LOOKS = {
    "e-mail addresses": rf"^\s*{EMAIL}\s*$",
    "addresses of computers (IP)": (
        rf"^\s*({_BYTE}(\.{_BYTE}){{3}}|({_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}|"
        rf"({_HEX}{{1,4}}(:{_HEX}{{1,4}}){{0,6}})?::({_HEX}{{1,4}}(:{_HEX}{{1,4}}){{0,6}})?)\s*$"
    ),
    "addresses of devices (MAC)": rf"^\s*{_HEX}{{2}}([:-]{_HEX}{{2}}){{5}}\s*$",
    "telephone numbers": (
        r"^\s*(\+|00)[1-9]\d{0,2}[ ./()-]*(\d[ ./()-]*){6,12}$|^\s*\(0?\d{2,5}\) ?\d[\d ./-]{4,12}\d\s*$|"
        r"^\s*0\d{2,5}[ ]?[/ -][ ]?\d[\d /-]{4,11}\d\s*$|^\s*0\d([ .]\d\d){4}\s*$|^\s*\d{3}[-.]\d{3}[-.]\d{4}\s*$|"
        r"^\s*0\d[ ]?[/ -][ ]?\d{6,8}\s*$"  # not 03/04/1980, which is a date
    ),
}
"""What text looks like that leads to one person; no check digit tells, so the whole value must fit."""
ACCOUNT = r"^\s*[A-Z]{2}\d{2}( ?[A-Z0-9]{4}){2,7} ?[A-Z0-9]{1,4}\s*$"
CARD = r"^\s*[2-6]\d{3}([ -]?\d{4}){2}[ -]?\d{1,7}\s*$|^\s*3\d{3}[ -]?\d{6}[ -]?\d{5}\s*$"
NUMBERED = r"^[0-9A-Za-z][0-9A-Za-z ./+-]{6,21}$"
"""What the number of a person may look like; what counts is in :data:`PEOPLE`."""
PEOPLE: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "at.vnr": ("Austria, social insurance", (10,)),
    "be.nn": ("Belgium", (11,)),
    "bg.egn": ("Bulgaria", (10,)),
    "br.cpf": ("Brazil", (11,)),
    "ca.sin": ("Canada", (9,)),
    "ch.ssn": ("Switzerland, social insurance", (13,)),
    "cl.rut": ("Chile", (8, 9)),
    "cn.ric": ("China", (18,)),
    "cz.rc": ("Czechia", (9, 10)),
    "de.idnr": ("Germany, tax", (11,)),
    "dk.cpr": ("Denmark", (10,)),
    "ee.ik": ("Estonia", (11,)),
    "es.dni": ("Spain", (9,)),
    "es.nie": ("Spain, foreigners", (9,)),
    "fi.hetu": ("Finland", (10, 11)),
    "fr.nir": ("France, social insurance", (13, 15)),
    "gb.nhs": ("Britain, health service", (10,)),
    "gr.amka": ("Greece, social insurance", (11,)),
    "hr.oib": ("Croatia", (11,)),
    "ie.pps": ("Ireland", (8, 9)),
    "il.idnr": ("Israel", (9,)),
    "in_.aadhaar": ("India", (12,)),
    "is_.kennitala": ("Iceland", (10,)),
    "it.codicefiscale": ("Italy, tax", (16,)),
    "kr.rrn": ("Korea", (13,)),
    "lt.asmens": ("Lithuania", (11,)),
    "mx.curp": ("Mexico", (18,)),
    "nl.bsn": ("the Netherlands", (9,)),
    "no.fodselsnummer": ("Norway", (11,)),
    "pl.pesel": ("Poland", (11,)),
    "pt.cc": ("Portugal", (12,)),
    "pt.nif": ("Portugal, tax", (9,)),
    "ro.cnp": ("Romania", (13,)),
    "se.personnummer": ("Sweden", (10, 12)),
    "si.emso": ("Slovenia", (13,)),
    "tr.tckimlik": ("Türkiye", (11,)),
    "za.idnr": ("South Africa", (13,)),
}
"""Numbers of people: the module of python-stdnum → whose they are, and how many letters and digits they have."""
SOCIAL_SECURITY = r"^\s*\d{3}-\d{2}-\d{4}\s*$"
"""Numbers of the United States have no check digit; written so, they look like nothing else."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the values of a column are, and of how many records."""

    what: str
    share: float
    """Of the records that have a value."""
    leads: bool = True
    """Whether it is enough of them for the column to lead to one person."""

    @property
    def why(self) -> str:
        """The reason, for a person to read."""
        return f"{self.what}, by its values, in {shown(self.share)} of records"


def shown(share: float) -> str:
    """A share in per cent, which is neither 0 nor 100 unless it is none or all.

    >>> shown(0.974), shown(0.9999), shown(0.0004), shown(1)
    ('97%', 'over 99%', 'under 1%', '100%')
    """
    if 0.99 < share < 1:
        return "over 99%"
    return "under 1%" if 0 < share < 0.01 else f"{share:.0%}"


@dataclass(frozen=True, slots=True)
class Sample:
    """Some records of a column: their distinct values as text, and how many records have each."""

    texts: pa.Array
    counts: np.ndarray

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Sample:
        """All records that have a value, or as many as are looked at, the same in every run."""
        present = column.drop_null()
        if len(present) > SAMPLED:
            drawn = np.random.default_rng(0).choice(len(present), SAMPLED, replace=False)
            present = present.take(pa.array(np.sort(drawn)))
        found = pc.value_counts(present.unify_dictionaries() if len(present) else present)
        values = found.field("values")
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        return cls(as_text(values), found.field("counts").to_numpy())

    def share(self, fits: pa.Array) -> float:
        """The share of records whose value fits."""
        return float(self.counts[fits.to_numpy(zero_copy_only=False)].sum() / max(self.counts.sum(), 1))

    def matching(self, pattern: str) -> float:
        """The share of records whose value matches."""
        return self.share(pc.match_substring_regex(self.texts, pattern))

    def checked(self, valid: Callable[[str], bool]) -> float:
        """The share of records whose check digits are right, of the values that are tried."""
        tried = self.texts.slice(0, TRIED).to_pylist()
        right: list[bool] = [valid(text) for text in tried[:FIRST]]
        if sum(right) < len(right) / 2:
            return 0.0
        right += [valid(text) for text in tried[FIRST:]]
        weights = self.counts[: len(right)]
        return float(weights[np.array(right)].sum() / weights.sum())


def told_by(column: pa.ChunkedArray, *, text: bool, distinct: int) -> Told | None:
    """What the values of a column tell; None where that is nothing.

    Parameters
    ----------
    column
        Text or whole numbers, with null for every missing value.
    text
        Whether they are text: addresses and words are looked for in nothing else.
    distinct
        How many different values the whole column has.
    """
    sample = Sample.of(column)
    if not len(sample.texts):
        return None
    found = _looks(sample) if text else None
    if found is None and distinct >= FEWEST:
        found = _numbers(sample)
    if found is None and text:
        found = _written(sample, distinct, len(column) - column.null_count)
    return found


def _looks(sample: Sample) -> Told | None:
    for what, pattern in LOOKS.items():
        if (share := sample.matching(pattern)) >= MOST_OF_THEM:
            return Told(what, share)
    if (share := sample.matching(ACCOUNT)) >= MOST_OF_THEM:
        iban = import_module("stdnum.iban")
        checked = sample.checked(iban.is_valid) >= MOST_OF_THEM
        return Told(f"numbers of bank accounts{' (IBAN, right check digits)' * checked}", share)
    if (share := sample.matching(SOCIAL_SECURITY)) >= MOST_OF_THEM:
        return Told("numbers of people (United States, social security)", share)
    return None


def _numbers(sample: Sample) -> Told | None:
    """Numbers of cards and of people, by their check digits."""
    if sample.matching(CARD) >= MOST_OF_THEM:
        luhn = import_module("stdnum.luhn")
        if (share := sample.checked(lambda text: luhn.is_valid(_compact(text)))) >= MOST_OF_THEM:
            return Told("numbers of payment cards (right check digits)", share)
    fits = pc.match_substring_regex(sample.texts, NUMBERED)
    if sample.share(fits) < MOST_OF_THEM:
        return None
    lengths = pc.utf8_length(pc.replace_substring_regex(sample.texts, r"[ ./-]", ""))
    best: Told | None = None
    for module, (whose, counted) in PEOPLE.items():
        if sample.share(pc.is_in(lengths, value_set=pa.array(counted, lengths.type))) < MOST_OF_THEM:
            continue
        share = sample.checked(import_module(f"stdnum.{module}").is_valid)
        if share >= MOST_OF_THEM and (best is None or share > best.share):
            best = Told(f"numbers of people ({whose}; right check digits)", share)
    return best


def _compact(text: str) -> str:
    return text.replace(" ", "").replace("-", "")


def _written(sample: Sample, distinct: int, present: int) -> Told | None:
    """Text that somebody wrote: many words that seldom repeat, or addresses among other words."""
    words = pc.count_substring_regex(sample.texts, r"\S+")
    share = sample.share(pc.greater_equal(words, WORDS))
    if share >= WORDY and distinct >= max(50, present / 10):
        return Told(f"free text ({WORDS} words and more), in which anybody may be named", share)
    within = sample.matching(EMAIL)
    return Told("e-mail addresses", within, leads=within >= SOME_OF_THEM) if within else None
