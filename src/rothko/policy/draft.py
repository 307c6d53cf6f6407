"""A draft policy: look at a table and propose a role, a type and a hierarchy for every column, saying why.

It fails closed: a column that nothing is known about is proposed as a quasi-identifier. The rules are the words
of column names (:mod:`rothko.policy.column_names`), :func:`_role` and :func:`_generalised`. Reasons and notes carry
names and counts, and of the values only those that stand for a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.encode import rank
from rothko.data.fold import folded, look_alikes
from rothko.data.line import as_text
from rothko.data.schema import Role
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.data.typed import NUMBER, typed
from rothko.errors import InputError
from rothko.policy import yaml as yaml_lines
from rothko.policy.column import Column
from rothko.policy.column_names import ABOUT, IDENTIFIERS, KNOWN, MEASURES, POSTAL, SENSITIVE, WEIGHTS, named
from rothko.policy.policy import Policy
from rothko.privacy import DistinctLDiversity, KAnonymity

# ── what values look like ────────────────────────────────────────────────────────────────────────

TOKENS = ("?", "NA", "N/A", "NULL", "null", "NaN", "nan", ".", "-", "*", "")
"""Taken for missing in any text; blanks around them do not count."""
TOKENS_AMONG_NUMBERS = (*map(str.lower, TOKENS), "none", "unknown", "missing", "n", "--", "n.a.", "#n/a")
"""Taken for missing where all else is numbers or dates, in capitals or not."""
READINGS = {
    "number": NUMBER,
    "date": r"^\d{4}-\d{2}-\d{2}$",
    "timestamp": r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$",
}
"""What text may be in truth."""
EMAIL = r"^\s*[^@\s]+@[^@\s]+\.[^@\s]+\s*$"
PERIODS = {"date": ["month", "year", "decade"], "timestamp": ["day", "month", "year"]}
NEARLY = 0.95
"""From this share of distinct values on, a column is nearly unique."""
ENOUGH = 50
"""Fewer values than this say nothing about uniqueness, and fewer dates need no calendar."""
READABLE = 12
"""The most labels that a person reads in a set, and letters in a token."""
MANY = 15
"""More quasi-identifiers than this leave little precision."""
UNKNOWN = "not recognised, so generalised to be on the safe side"


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
    """The share of records whose combination of proposed quasi-identifiers occurs once."""
    notes: tuple[str, ...]

    def to_yaml(self) -> str:
        """Write the policy with the reasons as comments; :meth:`Policy.parse` reads it."""
        policy = self.policy.dump()
        at = yaml_lines.read(policy, where="draft", as_text=lambda path: True).lines
        lines = policy.split("\n")
        for p in reversed(self.proposals):
            missing = f", {p.missing:,} missing" if p.missing else ""
            lines.insert(at["columns", p.name] - 1, f"  # {p.type}, {p.distinct:,} distinct{missing}: {p.why}")
        head = (
            "A draft: read it, and correct what you know better.",
            f"{self.unique:.1%} of the {self.rows:,} records are unique on the quasi-identifiers.",
            *self.notes,
        )
        return "\n".join([*(f"# {line}" for line in head), *lines])

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, for machines; the policy as YAML, as in a certificate."""
        columns = [
            {"name": p.name, "role": p.column.role.value, "type": p.type, "distinct": p.distinct, "missing": p.missing,
             "why": p.why}
            for p in self.proposals
        ]  # fmt: skip
        whole = {"rows": self.rows, "unique": self.unique, "notes": list(self.notes)}
        return {**whole, "columns": columns, "policy": self.policy.dump()}


def as_policy(policy: Policy | Draft | str | Path | Mapping[str, Any]) -> Policy:
    """A policy from a path, plain data or a draft."""
    if isinstance(policy, Draft):
        return policy.policy
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str | Path):
        return Policy.load(policy)
    return Policy.model_validate(dict(policy))


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
    # Postal codes may begin with zeros; under the hierarchy that is proposed they are read as text, too.
    table = source.read(as_text=[name for name in source.names if named(POSTAL, name)])
    rows = table.num_rows
    looks = _look(table, given)
    proposals = tuple(_propose(looks, source.label))
    by_role = {role: [look for look, p in zip(looks, proposals, strict=True) if p.column.role is role] for role in Role}
    known, sensitive = by_role[Role.QUASI_IDENTIFIER], by_role[Role.SENSITIVE]
    found = sorted({token for look in known + sensitive for token in look.tokens})
    privacy = [KAnonymity(k=k or _default_k(rows)), *(_diversity(look) for look in sensitive if look.counted > 1)]
    policy = Policy(
        columns={p.name: p.column for p in proposals},
        privacy=tuple(privacy),
        missing=tuple(dict.fromkeys((*given, *found))),
    )
    header = [] if source.named else ["The first line is taken for names; if it is a record, use --no-header."]
    notes = [*source.notes, *header, *_notes_on_values(known + sensitive), *_notes_on_roles(by_role, proposals)]
    notes += _notes_on_privacy(rows, k or _default_k(rows), k is not None, sensitive)
    return Draft(policy, proposals, rows, _unique(known, rows), tuple(notes))


def _default_k(rows: int) -> int:
    return min(10, max(2, rows // 20))


def _diversity(look: _Look) -> DistinctLDiversity:
    return DistinctLDiversity(l=min(3, look.counted), of=look.name)


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
    """Whether the table has numbers or dates as text, so that the policy must say what they are."""

    @property
    def present(self) -> int:
        """How many records have a value."""
        return len(self.column) - int(self.column.null_count)

    @property
    def folds(self) -> bool:
        """Whether some of its texts look alike, so that as a sensitive column it is folded."""
        return self.kind == "text" and look_alikes(self.values) > 0

    @property
    def counted(self) -> int:
        """How many values it has as a sensitive column."""
        return len(folded(self.values).unique()) if self.folds else len(self.values)

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
        plural |= {"number": "whole numbers" if self.whole else "numbers", "": "nested or binary values"}
        return plural.get(self.kind, self.kind) + " stored as text" * self.stored_as_text


def _look(table: pa.Table, given: Sequence[str]) -> list[_Look]:
    """Look at each column alone, then at text again: a token holds for all columns, so they must agree on it."""
    looks = [_look_at(name, table[name], given) for name in table.column_names]
    signs = any(look.kind == "text" and pc.is_in(pa.scalar("+"), value_set=look.values).as_py() for look in looks)
    tokens = [token for token in TOKENS if not (signs and token == "-")]  # beside a plus it is a minus
    read = [_read_text(look, tokens) if look.kind == "text" else look for look in looks]
    labels = [look.values for look in read if look.kind == "text"]
    return [
        replace(_without(look, tokens), puzzling=len(again.odd))
        if again.odd and any(pc.any(pc.is_in(pa.array(again.odd), value_set=words)).as_py() for words in labels)
        else again
        for look, again in zip(looks, read, strict=True)
    ]


def _look_at(name: str, raw: pa.ChunkedArray, given: Sequence[str]) -> _Look:
    """Take a column as its type says; infinite numbers, which no range can hold, are missing."""
    column = _typed(name, raw, missing=given)
    if column is None:
        return _Look(name, "", raw, pa.nulls(0))
    values = _distinct(column)
    tests = {
        "text": pa.types.is_string, "truth": pa.types.is_boolean, "date": pa.types.is_date,
        "timestamp": pa.types.is_timestamp, "time": pa.types.is_time,
    }  # fmt: skip
    kind = next((kind for kind, test in tests.items() if test(values.type)), "number")
    constant = len(values) <= 1 and len(raw.unify_dictionaries().unique()) <= 1
    look = _Look(name, kind, column, values, constant)
    infinite = pa.types.is_floating(values.type) and pc.any(pc.is_inf(values)).as_py()
    return _without(look, ["inf", "-inf"]) if infinite else look


def _read_text(look: _Look, tokens: Sequence[str]) -> _Look:
    """Read text without its tokens, and as numbers or dates where it holds nothing else."""
    text = _without(look, tokens)
    if named(POSTAL, look.name) or _are_codes(text.values):
        return text
    for kind, pattern in READINGS.items():
        fits = pc.match_substring_regex(pc.utf8_trim_whitespace(text.values), pattern)
        odd = text.values.filter(pc.invert(fits))
        if not fits.true_count or (len(odd) and not (fits.true_count > 1 and _stand_for_missing(text, odd))):
            if fits.true_count >= 10 * len(odd):  # worth telling; half and half is just text
                text = replace(text, puzzling=len(odd))
            continue
        words = tuple(odd.to_pylist())
        column = _typed(look.name, text.column, kind, words)
        # None: a 30th of February; infinite: 1e999. Both are as good as labels.
        if column is not None and not (pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py()):
            parsed = replace(text, kind=kind, column=column, values=_distinct(column), stored_as_text=True)
            return replace(parsed, tokens=(*text.tokens, *words), odd=words, puzzling=0)
    return text


def _stand_for_missing(text: _Look, odd: pa.Array) -> bool:
    """Tell whether words among numbers are tokens: usual ones, and one more if it cannot be anybody's own value."""
    usual = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(odd)), value_set=pa.array(TOKENS_AMONG_NUMBERS))
    strange = odd.filter(pc.invert(usual))
    if len(strange) != 1:
        return not len(strange)
    [word] = strange.to_pylist()
    if not re.fullmatch(rf"\D{{1,{READABLE}}}", word):  # "90+" is a value
        return False
    shared = replace(text, column=_typed(text.name, text.column, missing=[word])).present
    return text.present - shared >= _default_k(len(text.column))


def _are_codes(words: pa.Array) -> bool:
    """Tell whether text is codes and no numbers: of one length, with zeros in front or letters; or far too long."""
    lengths = pc.min_max(pc.utf8_length(words)).as_py()
    if pc.any(pc.match_substring_regex(words, r"^\s*\d{16,}"), min_count=0).as_py():
        return True
    if len(words) < 20 or lengths["min"] != lengths["max"] or not 4 <= lengths["max"] <= 10:
        return False
    alike = pc.match_substring_regex(words, r"^[0-9A-Za-z]*[0-9][0-9A-Za-z]*$")
    telling = pc.match_substring_regex(words, r"^0|[A-Za-z]")
    return bool(alike.true_count == len(words) and telling.true_count)


def _without(look: _Look, tokens: Sequence[str]) -> _Look:
    """Take the tokens that occur for missing values, as they are written."""
    texts = as_text(look.values)
    found = texts.filter(pc.is_in(pc.utf8_trim_whitespace(texts), value_set=pa.array(tokens, pa.string()))).to_pylist()
    column = _typed(look.name, look.column, missing=found) if found else None
    return look if column is None else replace(look, column=column, values=_distinct(column), tokens=tuple(found))


def _typed(
    name: str, column: pa.ChunkedArray, kind: str = "auto", missing: Sequence[str] = ()
) -> pa.ChunkedArray | None:
    """Read a column as a release would; None where it cannot be read so."""
    policy = Policy.quick([name], qi=[name], k=2, missing=missing, types={name: kind})
    try:
        found = typed(pa.table({name: column}), policy)[name]
        pc.unique(found.slice(0, 0))  # a few types can be held and not compared
    except (InputError, pa.ArrowException):
        return None
    return found


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    values = pc.drop_null(column.unify_dictionaries().unique())
    return values.cast(pa.string()) if pa.types.is_dictionary(values.type) else values


# ── what is proposed ─────────────────────────────────────────────────────────────────────────────


def _role(look: _Look) -> tuple[Role, str]:
    """Choose a role, and say why: the first rule that fits. Names say more than values, so they go first."""
    name, distinct, text = look.name, len(look.values), look.kind == "text"
    share = distinct / max(look.present, 1)
    unique = look.present >= ENOUGH and share >= NEARLY and (text or (look.whole and not named(MEASURES, name)))
    if not look.kind:
        return Role.IDENTIFIER, "its values cannot be generalised; turn them into text or numbers to release them"
    if named(WEIGHTS, name):
        return Role.IDENTIFIER, "a survey weight, by its name, may tell records apart; keep it if nobody else has it"
    if (what := named(IDENTIFIERS, name)) and not named(ABOUT, name):
        return Role.IDENTIFIER, f"{what}, by its name"
    if text and distinct and pc.match_substring_regex(look.values, EMAIL).true_count >= 0.9 * distinct:
        return Role.IDENTIFIER, "e-mail addresses, by their look"
    if look.constant:
        return Role.KEEP, "says nothing about anybody: all records are alike"
    if named("id", name) and share >= 0.5:
        return Role.IDENTIFIER, "an id, by its name, that differs between most records"
    if (what := named(SENSITIVE, name)) and look.kind not in PERIODS and not (text and unique):
        return Role.SENSITIVE, f"{what}, by its name; must not be learnt about a person"
    if what := named(KNOWN, name):
        return Role.QUASI_IDENTIFIER, f"{what}, by its name; may be known from elsewhere"
    if look.whole and distinct == len(look.column) >= 10 and _number_records(look.values):
        return Role.IDENTIFIER, "numbers the records"
    if unique:
        return Role.IDENTIFIER, f"differs between nearly all records ({share:.0%} distinct), so it leads to one person"
    return Role.QUASI_IDENTIFIER, UNKNOWN


def _number_records(numbers: pa.Array) -> bool:
    span = pc.min_max(numbers).as_py()
    return span["min"] in (0, 1) and span["max"] - span["min"] == len(numbers) - 1


def _generalised(look: _Look) -> tuple[dict[str, Any], str]:
    """Choose how a quasi-identifier is read and generalised, and say it; nothing ranks its values on a line."""
    distinct = len(look.values)
    if look.kind == "text":
        postal = bool(named(POSTAL, look.name))
        longest = pc.max(pc.utf8_length(look.values)).as_py() or 0
        masked = pc.any(pc.ends_with(look.values, "*"), min_count=0).as_py()  # by somebody before us
        if (postal or _are_codes(look.values)) and 0 < longest <= 10 and not masked:
            return {"hierarchy": {"mask": "right"}}, "; masked from the right"
        read = {"type": "text"} if postal else {}  # as it was read here
        if distinct > READABLE:
            return {**read, "hierarchy": "auto"}, "; grouped by the alphabet, so name a better hierarchy if you can"
        return read, ""
    read = {"type": look.kind} if look.stored_as_text else {}
    if look.kind in PERIODS and distinct > ENOUGH:
        return {**read, "hierarchy": {"dates": PERIODS[look.kind]}}, f"; grouped by {', '.join(PERIODS[look.kind])}"
    return read, ""


def _propose(looks: Sequence[_Look], label: str) -> Iterator[Proposal]:
    roles = [_role(look) for look in looks]
    if not any(role is Role.QUASI_IDENTIFIER for role, _ in roles):
        # A policy needs one, and where all records are alike it costs nothing.
        roles = [(Role.QUASI_IDENTIFIER if role is Role.KEEP else role, why) for role, why in roles]
    if not any(role is Role.QUASI_IDENTIFIER for role, _ in roles):
        raise InputError(
            f"{label} has no column to propose as a quasi-identifier: each leads to one person or is sensitive, by its "
            "name or its values; if you know better, write a policy by hand."
        )
    for look, (role, why) in zip(looks, roles, strict=True):
        given, how = _generalised(look) if role is Role.QUASI_IDENTIFIER else ({}, "")
        if role is Role.SENSITIVE and look.stored_as_text:
            given = {"type": look.kind}
        if role is Role.SENSITIVE and look.folds:
            given, how = {"fold": True}, "; values that differ in case, blanks or Unicode form alone count as one"
        column = Column(role=role, **given)
        yield Proposal(look.name, column, look.type, len(look.values), len(look.column) - look.present, why + how)


def _unique(known: Sequence[_Look], rows: int) -> float:
    """Compute the share of records that are alone with their combination of values; missing is a value."""
    key, size = np.zeros(rows, dtype=np.int64), 1
    codes = np.empty(rows, dtype=np.int32)
    for look in known:
        values = len(rank(look.column, codes)) + 1
        if size * values > 2**62:
            seen, key = np.unique(key, return_inverse=True)
            size = len(seen)
        key = key * values + (codes + 1)
        size *= values
    return float(np.count_nonzero(np.unique(key, return_counts=True)[1] == 1) / rows)


# ── what a person should know ────────────────────────────────────────────────────────────────────


def _notes_on_values(read: Sequence[_Look]) -> Iterator[str]:
    """Tell how the values of quasi-identifiers and sensitive columns were understood."""
    if stored := [look.name for look in read if look.stored_as_text]:
        yield f"Numbers or dates are stored as text in {_listed(stored)}; 'type' says how they are read."
    infinite = [look.name for look in read if look.tokens and look.kind == "number" and not look.stored_as_text]
    if infinite:
        yield f"There are infinite numbers in {_listed(infinite)}, which no range can hold; they are taken for missing."
    for token in sorted({token for look in read if look.name not in infinite for token in look.tokens}):
        names = _listed([look.name for look in read if token in look.tokens])
        yield f"{token!r} is taken for missing in {names}; if it is a value there, take it out of 'missing'."
    for look in read:
        if look.puzzling:
            yield (
                f"{look.name!r} would be numbers or dates but for {look.puzzling} distinct value(s); if they stand for "
                "a missing one, list them under 'missing' and set its 'type'."
            )


def _notes_on_roles(by_role: Mapping[Role, Sequence[_Look]], proposals: Sequence[Proposal]) -> Iterator[str]:
    """Tell what to think about before agreeing."""
    known, sensitive = by_role[Role.QUASI_IDENTIFIER], by_role[Role.SENSITIVE]
    if len(known) > MANY:
        doubtful = _listed([p.name for p in proposals if p.why.startswith(UNKNOWN)] or [look.name for look in known])
        yield f"{len(known)} quasi-identifiers leave little precision; give 'keep' to what nobody can know: {doubtful}?"
    if not sensitive:
        yield "No column looks sensitive; give the role to what must not be learnt: k-anonymity alone cannot hide it."
    if len(sensitive) > 1:
        names = _listed([look.name for look in sensitive])
        yield f"{names} are sensitive and released as they are: who knows one of a person may learn the others."
    for look in by_role[Role.IDENTIFIER]:
        if named("id|mrn|ssn", look.name) and 0 < len(look.values) < NEARLY * look.present:
            yield f"{look.name!r} repeats: where a person has several records, k counts records, not persons."


def _notes_on_privacy(rows: int, k: int, asked: bool, sensitive: Sequence[_Look]) -> Iterator[str]:
    """Tell what the requirements mean for this table."""
    if rows < k:
        yield f"There are fewer records ({rows:,}) than k = {k}, so this table cannot be released."
    elif k < 10 and not asked:
        yield f"k is {k} and not 10, because there are only {rows:,} records."
    for look in sensitive:
        if look.counted > 1:
            # Every class needs a record outside the l − 1 commonest values, so such records limit the classes.
            counts = np.sort(pc.value_counts(look.column).field("counts").to_numpy())
            most = int(counts[: 1 - _diversity(look).l].sum())
            if 2 * most < rows // k:
                yield f"Most records share a value of {look.name!r}: its l-diversity leaves {most:,} class(es) at most."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
