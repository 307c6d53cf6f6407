"""A draft policy: look at a table and propose a role, a type and a hierarchy for every column, saying why.

It fails closed. A column that nothing is known about is taken for a quasi-identifier, one that looks as
if it led to a single person for an identifier; what a person has to add is a judgement, not a check.
The rules are in three places: the words of column names (below), :func:`_role` and :func:`_hierarchy`.
Reasons and notes carry names and counts, and of the values only the tokens that stand for a missing one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko import yaml_lines
from rothko.data.csv_dialect import CsvOptions
from rothko.data.encode import rank
from rothko.data.line import as_text
from rothko.data.schema import NUMBER, typed
from rothko.data.source import open_source
from rothko.errors import InputError
from rothko.policy import Column, Policy, Role
from rothko.privacy import DistinctLDiversity, KAnonymity

# ── the words of column names ────────────────────────────────────────────────────────────────────
# Patterns over the words of a name: `homeAddress_2` is "home address", so that no pattern meets half a word.

_PERSON = (
    "patient|person|personal|user|customer|client|employee|staff|student|pupil|member|subject|participant|respondent|"
    "applicant|citizen|voter|donor|record|case|device|family|household"
)
IDENTIFIERS = {
    r"name|(first|last|middle|full|family|given|maiden|user|nick) ?name|surname|forename|initial|"
    r"nachname|vorname|nom|prenom|^nombre|apellido": "a name",
    r"e ?mail|correo": "an e-mail address",
    r"(tele|cell)?phone|telefono?|tel|mobile|handy|fax|whatsapp": "a telephone number",
    r"address|adresse|anschrift|direccion|street|strasse|rue|calle|house (no|number)": "an address",
    r"ssn|social security|national (id|insurance)|nino|tax (id|number)|dni|curp|passport|licen[cs]e|iban|account|"
    r"(credit )?card (no|number)|(number|licen[cs]e) plate|vin|medical record|mrn": "a number given to one person",
    rf"({_PERSON}) (id|nr|no|num|number|code|key)|u?uid|guid": "a number given to one person or record",
    r"url|website|homepage|ip|mac address|imei|imsi|cookie": "an address or device on the net",
    r"photo|picture|portrait|signature|fingerprint|biometric": "a likeness of the person",
    r"comment|remark|note|memo|free ?text": "free text, in which anybody may be named",
}
"""Pattern → what it is: leads to one person."""
ABOUT = (
    r"type|kind|status|class|category|group|count|num|number of|flag|has|is|rate|balance|country|city|state|county|region|"
    r"product|brand|company|school|hospital|department|course|file"
)
"""Words beside which those above no longer lead to one person: `phone_type`, `country name`."""
SENSITIVE = {
    r"disease|illness|sickness|diagnos(is|es|e|tic)|icd|hiv|aids|cancer|tumou?r|diabet(es|ic)|symptom|severity|condition|"
    r"medication|medicine|drug|prescription|treatment|therapy|surgery|comorbidit(y|ie)|disabilit(y|ie)|disabled|handicap|"
    r"mental|depression|allerg(y|ie)|pregnan(t|cy)|abortion|blood|genotype|dna|health|"
    r"krankheit|maladie|enfermedad": "health",
    r"(test |lab )?result": "the outcome of a test",
    r"religions?|religious|faith|denomination|konfession": "religion",
    r"(sexual )?orientation|sexuality": "sexual orientation",
    r"politic(s|al)|party|vote|voting": "political opinion",
    r"(labou?r|trade) union|union member(ship)?|^union$": "trade union membership",
    r"crime|criminal|offen[cs]e|conviction|arrest|felony|prison": "crime",
    r"salary|salaries|income|wage|earning|pay|pincp|bonus|wealth|debt|loan|credit|mortgage|benefit|bankruptcy|"
    r"gehalt|lohn|einkommen|salaire|revenu|salario|sueldo|ingreso": "money matters",
    r"grade|gpa": "an assessment of the person",
}
"""Pattern → what it is about: must not be learnt about a person."""
POSTAL = r"zip|zip ?code|postal|post ?code|plz|postleitzahl"
KNOWN = {
    r"age|birth|born|dob|birth(day|date)|alter|geburt\w*|edad|naissance": "age or birth",
    r"sex|gender|geschlecht|sexe|sexo|genero": "sex",
    r"race|racial|ethnic|ethnicity|hispanic|skin": "race or ethnicity",
    rf"{POSTAL}|city|town|municipality|county|state|region|province|district|country|nation|place|residence|neighbou?rhood|"
    r"lat|latitude|lon|lng|longitude|location|ort|wohnort|land|ville|pays|ciudad|pais": "a place",
    r"national(ity)?|nativity|native|citizen(ship)?|immigra(nt|tion)|language|ancestry|origin|staatsangehorigkeit": "origin",
    r"marital|married|spouse|relationship|household|famil(y|ie)|child|children|sibling|parent|familienstand": "family",
    r"education|school|schooling|degree|university|qualification|bildung": "education",
    r"occupation|job|profession|employ(er|ment|ed)|work(er|ing)?|work ?class|industry|department|beruf|position|title": "work",
    r"admission|admitted|discharge[d]?|visit|arrival|hire[d]?|death|died|enrol\w*": "an event that others may have seen",
    r"height|weight|eye|hair|vehicle|car|military|veteran": "what can be seen or is talked about",
}
"""Pattern → what it is: others may know it."""
WEIGHTS = r"fnlwgt|p?wgtp?|(instance|sample|sampling|survey|person|household|final|analysis|design) (weight|wt)"
MEASURES = (
    r"salary|income|wage|weight|height|amount|price|cost|value|balance|revenue|sale|payment|fee|tax|gain|loss|total|sum|"
    r"count|size|area|length|width|distance|duration|time|second|minute|hour|day|rate|ratio|score|level|population|percent"
)
"""Whole numbers that may differ from record to record without being an identifier."""

# ── missing values ───────────────────────────────────────────────────────────────────────────────

TOKENS = ("?", "NA", "N/A", "NULL", "null", "NaN", "nan", ".", "-", "*", "")
"""What is taken for missing in any text; blanks around it do not count."""
TOKENS_AMONG_NUMBERS = (*map(str.lower, TOKENS), "none", "unknown", "missing", "n", "--", "n.a.", "#n/a", "not available")
"""What is taken for missing where all else is numbers or dates, in any case."""
READINGS = {
    "number": NUMBER,
    "date": r"^\d{4}-\d{2}-\d{2}$",
    "timestamp": r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$",
}
"""What text may be in truth."""

NEARLY = 0.95
"""From this share of distinct values on, a column is nearly unique."""
ENOUGH = 50
"""Fewer values than this say nothing about uniqueness."""
READABLE = 12
"""The most labels that a person reads in a set."""
MANY = 15
"""More quasi-identifiers than this leave little precision."""
UNKNOWN = "not recognised; others may know it, so it is generalised to be on the safe side"


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed for one column."""

    name: str
    column: Column
    type: str
    """What the values are, for a person to read."""
    distinct: int
    """How many values there are, without the missing one; 0 where they cannot be compared."""
    missing: int
    """How many records have none."""
    why: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposed policy, and what a person should know before agreeing to it."""

    policy: Policy
    proposals: tuple[Proposal, ...]
    """One per column, in the order of the table."""
    rows: int
    unique: float
    """The share of records that nobody else shares all proposed quasi-identifiers with."""
    notes: tuple[str, ...]

    def to_yaml(self) -> str:
        """Write the policy with the reasons as comments; :meth:`Policy.parse` reads it."""
        lines = self.policy.dump().split("\n")
        at = yaml_lines.read("\n".join(lines), where="draft", as_text=lambda path: False).lines
        for p in reversed(self.proposals):
            missing = f", {p.missing:,} missing" if p.missing else ""
            lines.insert(at["columns", p.name] - 1, f"  # {p.type}, {p.distinct:,} distinct{missing}: {p.why}")
        head = [
            "A draft: read it, and correct what you know better.",
            f"{self.unique:.1%} of the {self.rows:,} records are unique on the quasi-identifiers.",
            *self.notes,
        ]
        return "\n".join([*(f"# {line}" for line in head), *lines])


def draft(
    data: Any, *, csv: CsvOptions | None = None, missing: Iterable[str] | None = None, k: int | None = None
) -> Draft:
    """Look at a table and propose a policy for it.

    Parameters
    ----------
    data
        A path, a dataframe or a mapping of arrays, as for ``anonymize``.
    csv
        How a CSV file is written, where the sniffer errs.
    missing
        Tokens that stand for a missing value, beside those that are found.
    k
        The k to ask for; 10 where it is None, less for a small table.

    Examples
    --------
    >>> found = draft({"name": ["Ann", "Bob"] * 20, "age": [30, 40] * 20, "disease": ["flu", "cold"] * 20})
    >>> {p.name: str(p.column.role) for p in found.proposals}
    {'name': 'identifier', 'age': 'quasi-identifier', 'disease': 'sensitive'}
    """
    if k is not None:
        KAnonymity(k=k)  # a k that cannot be is told before the data is read
    given = (missing,) if isinstance(missing, str) else tuple(missing or ())
    source = open_source(data, csv=csv)
    # Postal codes have leading zeros; the proposed hierarchy has them read as text, too.
    table = source.read(as_text=[name for name in source.names if _named(POSTAL, _words(name))])
    looks = _look(table, given)
    proposals = tuple(_propose(looks, table.num_rows, source.label))
    by_role = {role: [look for look, p in zip(looks, proposals, strict=True) if p.column.role is role] for role in Role}
    known, sensitive = by_role[Role.QUASI_IDENTIFIER], by_role[Role.SENSITIVE]
    found = sorted({token for look in known + sensitive for token in look.tokens})
    policy = Policy(
        columns={p.name: p.column for p in proposals},
        privacy=(
            KAnonymity(k=k or _default_k(table.num_rows)),
            # Two values at least, or the table as a whole does not have the diversity that is asked for.
            *(DistinctLDiversity(l=min(3, len(s.values)), of=s.name) for s in sensitive if len(s.values) > 1),
        ),
        missing=tuple(dict.fromkeys((*given, *found))),
    )
    notes = (*source.notes, *_notes_on_values(known + sensitive), *_notes_on_roles(by_role, proposals))
    notes += (*_notes_on_privacy(policy, by_role, table.num_rows),)
    return Draft(policy, proposals, table.num_rows, _unique(known, table.num_rows), notes)


def _default_k(rows: int) -> int:
    return min(10, max(2, rows // 20))


# ── looking at the values ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Look:
    """What the values of one column are."""

    name: str
    kind: str
    """number, text, date, timestamp, time or truth; empty for what cannot be ranked."""
    column: pa.ChunkedArray
    """Typed, with null for every missing value."""
    values: pa.Array
    """The distinct ones, without the missing one."""
    constant: bool = False
    """Whether all records are alike as they stand, before anything is taken for missing."""
    tokens: tuple[str, ...] = ()
    """The words that stand for a missing value."""
    odd: tuple[str, ...] = ()
    """Those of them that are tokens only because all else is numbers or dates."""
    puzzling: int = 0
    """How many words keep text from being read as numbers or dates."""
    stored_as_text: bool = False

    @property
    def whole(self) -> bool:
        """Whether these are whole numbers, however they are stored: one missing value makes floats of all ids."""
        kind = self.values.type
        if pa.types.is_floating(kind):
            return bool(pc.all(pc.equal(pc.floor(self.values), self.values), min_count=0).as_py())
        return self.kind == "number" and (pa.types.is_integer(kind) or kind.scale <= 0)

    @property
    def type(self) -> str:
        """What the values are, for a person to read."""
        if self.kind and not len(self.values):
            return "no values"
        plural = {"date": "dates", "timestamp": "timestamps", "time": "times of day", "truth": "true or false"}
        plural["number"] = "whole numbers" if self.whole else "numbers"
        return plural.get(self.kind, self.kind or "nested or binary values") + " stored as text" * self.stored_as_text


def _look(table: pa.Table, given: Sequence[str]) -> list[_Look]:
    """Look at each column alone, then at text again: a token holds for all columns, so they must agree on it."""
    looks = [_first_look(name, table[name], given) for name in table.column_names]
    signs = any(look.kind == "text" and pc.is_in(pa.scalar("+"), value_set=look.values).as_py() for look in looks)
    tokens = [token for token in TOKENS if not (signs and token == "-")]
    fewest = _default_k(table.num_rows)
    read = [_read_text(look, tokens, fewest) if look.kind == "text" else look for look in looks]
    labels = [look.values for look in read if look.kind == "text"]
    return [
        replace(_without(look, tokens), puzzling=len(again.odd))
        if again.odd and any(pc.any(pc.is_in(pa.array(again.odd), value_set=words)).as_py() for words in labels)
        else again
        for look, again in zip(looks, read, strict=True)
    ]


def _first_look(name: str, raw: pa.ChunkedArray, given: Sequence[str]) -> _Look:
    """A column as its type says; infinite numbers, which have no place in a range, are taken for missing."""
    column = _typed(name, raw, missing=given)
    if column is None:
        return _Look(name, "", raw, pa.nulls(0))
    values = _distinct(column)
    constant = len(values) <= 1 and len(_distinct(raw, missing=True)) <= 1
    if pa.types.is_floating(values.type) and (infinite := values.filter(pc.is_inf(values))):
        return _without(_Look(name, "number", column, values, constant), as_text(infinite).to_pylist())
    tests = {
        "text": pa.types.is_string, "truth": pa.types.is_boolean, "date": pa.types.is_date,
        "timestamp": pa.types.is_timestamp, "time": pa.types.is_time,
    }  # fmt: skip
    kind = next((kind for kind, test in tests.items() if test(values.type)), "number")
    return _Look(name, kind, column, values, constant)


def _read_text(look: _Look, tokens: Sequence[str], fewest: int) -> _Look:
    """Text without its tokens, and as numbers or dates where it holds nothing else."""
    text = _without(look, tokens)
    if _named(POSTAL, _words(look.name)) or _is_code(text.values):
        return text
    for kind, pattern in READINGS.items():
        fits = pc.match_substring_regex(pc.utf8_trim_whitespace(text.values), pattern)
        odd = text.values.filter(pc.invert(fits)).to_pylist() if fits.true_count else []
        if fits.true_count < 10 * len(odd) or not fits.true_count:
            # A few values besides a handful of numbers are labels like them.
            odd_ok = fits.true_count > 1 and _stand_for_missing(odd)
        ...
    return text
