"""A draft policy: look at a table and propose a role, a type and a hierarchy for every column, saying why.

It fails closed: a column that nothing is known about is proposed as a quasi-identifier. What columns look like is in
:mod:`rothko.policy.appearance`, how they are generalised in :func:`_generalised`. Reasons and notes carry names and
counts, and of the values only those that stand for a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from rothko import notebook
from rothko.data.encode import rank
from rothko.data.line import as_text
from rothko.data.schema import Role
from rothko.data.source.csv import CsvOptions
from rothko.data.source.source import Source
from rothko.errors import InputError, PolicyError
from rothko.mistakes import said, some_of
from rothko.policy import yaml as yaml_lines
from rothko.policy.appearance import (
    ENOUGH,
    NEARLY,
    PERIODS,
    READABLE,
    UNKNOWN,
    Look,
    Suggested,
    are_codes,
    are_labels,
    default_k,
    entitled,
    look_at_all,
    role_of,
)
from rothko.policy.code_systems import all_diagnoses, grouped, system_of
from rothko.policy.column import Column
from rothko.policy.column_names import NUMBER_OF_A_PERSON, POSTAL, named
from rothko.policy.confirm import confirmed
from rothko.policy.dependence import Dependence, dependences
from rothko.policy.input import InputForm
from rothko.policy.policy import Policy
from rothko.policy.spelling import Spelling, read_spelled
from rothko.policy.telling import shown
from rothko.privacy import DistinctLDiversity, KAnonymity

CHECKLIST = (
    "What is said of these is a guess that must not leave in silence. Look at each below; where you agree, delete its "
    "name here."
)
"""What is said above the list of columns that wait for a person."""
NOTED = 4
"""Pairs of columns that a note is written about."""
MANY = 15
"""More quasi-identifiers than this leave little precision."""


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
    confirm: bool = False
    """Whether a person must agree before the table leaves: it would as it is, nothing is known of it, or its values can
    be read in several ways."""


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

    def __repr__(self) -> str:
        quasi = len(self.policy.quasi_identifiers)
        return (
            f"Draft({len(self.proposals)} columns, {quasi} of them quasi-identifiers, on which {self.unique:.1%} of "
            f"{self.rows:,} records are unique)"
        )

    def _repr_html_(self) -> str:
        rows = [
            (p.name, p.column.role.value, p.type, f"{p.distinct:,}", f"{p.missing:,}" if p.missing else "", p.why)
            for p in self.proposals
        ]
        titles = ("column", "role", "values", "distinct", "missing", "why")
        return notebook.shown(
            f"Draft: {self.unique:.1%} of {self.rows:,} records are unique on the proposed quasi-identifiers",
            notebook.table(titles, rows, left=(0, 1, 2, 5)),
            *map(notebook.words, self.notes),
            notebook.folded("The policy", self.to_yaml()),
        )

    def confirm(self, roles: Mapping[str, Role | str] | None = None) -> Policy:
        """Agree to every role that waits for a person, and give the policy.

        Parameters
        ----------
        roles
            Columns that have another role than was proposed: ``{"cost": "sensitive"}``.

        Examples
        --------
        >>> found = draft({"age": [30, 40] * 20, "points": [1, 2, 3, 4] * 10})
        >>> found.policy.confirm
        ('points',)
        >>> str(found.confirm({"points": "keep"}).columns["points"].role)
        'keep'
        """
        return confirmed(self.policy, roles or {})

    def to_yaml(self, *, ascii_only: bool = False) -> str:
        """Write the policy with the reasons as comments; :meth:`Policy.parse` reads it.

        Parameters
        ----------
        ascii_only
            Write all other characters as escapes, as :meth:`Policy.dump` does.
        """
        policy = self.policy.dump(ascii_only=ascii_only)
        at = yaml_lines.read(policy, where="draft", as_text=lambda path: True).lines
        lines = policy.split("\n")
        for p in reversed(self.proposals):
            missing = f", {p.missing:,} missing" if p.missing else ""
            lines.insert(at["columns", p.name] - 1, f"  # {p.type}, {p.distinct:,} distinct{missing}: {p.why}")
        head = (
            "A draft: read it, and correct what you know better.",
            f"{self.unique:.1%} of the {self.rows:,} records are unique on the quasi-identifiers.",
            *self.notes,
            *([CHECKLIST] if self.policy.confirm else []),
        )
        text = "\n".join([*(f"# {line}" for line in head), *lines])
        return text.encode("ascii", "backslashreplace").decode() if ascii_only else text  # of comments only

    def to_dict(self) -> dict[str, Any]:
        """Give plain data, for machines; the policy as YAML, as in a certificate."""
        columns = [
            {"name": p.name, "role": p.column.role.value, "type": p.type, "distinct": p.distinct, "missing": p.missing,
             "why": p.why, "confirm": p.confirm}
            for p in self.proposals
        ]  # fmt: skip
        whole = {"rows": self.rows, "unique": self.unique, "notes": list(self.notes)}
        return {**whole, "columns": columns, "policy": self.policy.dump()}


def as_policy(policy: Policy | Draft | str | Path | Mapping[str, Any]) -> Policy:
    """A policy from a path, its text (YAML), plain data or a draft."""
    if isinstance(policy, Draft):
        return policy.policy
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str) and re.search(r"[\n{]|^\s*(columns|privacy)\s*:", policy):
        return Policy.parse(policy, where="the text of the policy")
    if isinstance(policy, str | Path):
        return Policy.load(policy)
    if not isinstance(policy, Mapping):
        raise PolicyError(
            f"a policy is a path, YAML text, a mapping, a Policy or a draft, not {type(policy).__name__}; without one, "
            f"say {said('--qi')} and {said('--k')}"
        )
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
    spelled = read_spelled(data, csv, given)
    source, rows = spelled.source, spelled.table.num_rows
    looks = [entitled(look, source.titles.get(look.name, "")) for look in look_at_all(spelled.table, given)]
    suggested = _suggested(looks, source.label)
    depending = _depending(looks, suggested)
    proposals = tuple(
        _as_filed(proposal, look, source)
        for proposal, look in zip(_propose(looks, suggested, depending, spelled), looks, strict=True)
    )
    by_role = {role: [look for look, p in zip(looks, proposals, strict=True) if p.column.role is role] for role in Role}
    known, sensitive = by_role[Role.QUASI_IDENTIFIER], by_role[Role.SENSITIVE]
    found = sorted({token for look in known + sensitive for token in look.tokens})
    privacy = [KAnonymity(k=k or default_k(rows)), *(_diversity(look) for look in sensitive if look.counted > 1)]
    form = replace(source.form or CsvOptions(), decimal=spelled.decimal, thousands=spelled.thousands)
    if csv is not None:
        form = replace(form, format=csv.format)
    policy = Policy(
        columns={p.name: p.column for p in proposals},
        privacy=tuple(privacy),
        method="auto",
        missing=tuple(dict.fromkeys((*given, *found))),
        input=InputForm.of(form),
        confirm=tuple(p.name for p in proposals if p.confirm),
    )
    header = (
        []
        if source.named
        else [f"The first line is taken for names; if it is a record, use {said('--header', False)}."]
    )
    notes = [*source.notes, *header, *spelled.notes]
    notes += [*_notes_on_values(known + sensitive), *_notes_on_roles(by_role, proposals)]
    notes += _notes_on_dependences(depending, {p.name: p.column.role for p in proposals})
    notes += _notes_on_privacy(rows, k or default_k(rows), k is not None, sensitive)
    return Draft(policy, proposals, rows, _unique(known, rows), tuple(notes))


def _as_filed(proposal: Proposal, look: Look, source: Source) -> Proposal:
    """What the file says of a column beside its values: what it is called, and the order of its labels."""
    why, column = proposal.why, proposal.column
    labels = source.orders.get(look.name, ())
    if column.role is Role.QUASI_IDENTIFIER and look.kind == "text" and len(labels) > 1:
        there = set(look.values.to_pylist())
        if there <= set(labels):
            column = Column(role=column.role, order=tuple(label for label in labels if label in there))
            why = f"{proposal.why.partition('; grouped')[0]}; labels in the order of their codes"
    title = source.titles.get(look.name)
    return replace(proposal, column=column, why=f"{why} ({title})" if title else why)


def _diversity(look: Look) -> DistinctLDiversity:
    return DistinctLDiversity(l=min(3, look.counted), of=look.name)


# ── what is proposed ─────────────────────────────────────────────────────────────────────────────


def _generalised(look: Look, read_as: str) -> tuple[dict[str, Any], str]:
    """Choose how a quasi-identifier is generalised, and say it; nothing ranks its values on a line."""
    distinct = len(look.values)
    texts = as_text(look.values)
    system = system_of(look.called, texts) if look.kind == "text" or look.whole else None
    if system is not None and (found := grouped(system, texts)):
        hierarchy, said_of_it = found
        return {"type": "text", "hierarchy": hierarchy}, f"; {said_of_it}"
    if look.kind == "text":
        postal = bool(named(POSTAL, look.called))
        longest = pc.max(pc.utf8_length(look.values)).as_py() or 0
        masked = pc.any(pc.ends_with(look.values, "*"), min_count=0).as_py()  # by somebody before us
        if (postal or are_codes(look.values)) and 0 < longest <= 10 and not masked:
            return {"hierarchy": {"mask": "right"}}, "; masked from the right"
        read = {"type": "text"} if postal else {}  # as it was read here
        if distinct > READABLE:
            return {**read, "hierarchy": "auto"}, "; grouped by the alphabet, so name a better hierarchy if you can"
        return read, ""
    if are_labels(look):
        by = "label" if look.title else "name"
        return {"type": "text"}, f"; whole numbers that stand for labels without an order, by its {by}"
    read = {} if read_as == "auto" else {"type": read_as}
    if look.kind in PERIODS and distinct > ENOUGH:
        return {**read, "hierarchy": {"dates": PERIODS[look.kind]}}, f"; grouped by {', '.join(PERIODS[look.kind])}"
    return read, ""


def _suggested(looks: Sequence[Look], label: str) -> list[Suggested]:
    """The role of each column; at least one is a quasi-identifier, for a policy needs one."""
    found = [role_of(look) for look in looks]
    if not any(one.role is Role.QUASI_IDENTIFIER for one in found):
        # Where all records are alike it costs nothing.
        found = [one._replace(role=Role.QUASI_IDENTIFIER) if one.role is Role.KEEP else one for one in found]
    if not any(one.role is Role.QUASI_IDENTIFIER for one in found):
        raise InputError(
            f"{label} has no column to propose as a quasi-identifier: each leads to one person or is sensitive, by its "
            "name or its values; if you know better, write a policy by hand."
        )
    return found


def _depending(looks: Sequence[Look], suggested: Sequence[Suggested]) -> list[Dependence]:
    """Which of the columns that leave determine which."""
    leaving = zip(looks, suggested, strict=True)
    return dependences(
        [(look.name, look.column, len(look.values)) for look, one in leaving if one.role is not Role.IDENTIFIER]
    )


def _propose(
    looks: Sequence[Look],
    suggested: Sequence[Suggested],
    depending: Sequence[Dependence],
    spelled: Spelling,
) -> Iterator[Proposal]:
    types = spelled.types
    for look, (role, why, doubt) in zip(looks, suggested, strict=True):
        read_as = types.get(look.name, look.kind if look.stored_as_text else "auto")
        given, how = _generalised(look, read_as) if role is Role.QUASI_IDENTIFIER else ({}, "")
        if (role is Role.SENSITIVE or (role is Role.KEEP and look.name in types)) and read_as != "auto":
            given = {"type": read_as}
        if role is Role.SENSITIVE and look.folds:
            given, how = {"fold": True}, "; values that differ in case, blanks or Unicode form alone count as one"
        if role is Role.SENSITIVE and look.kind == "text" and all_diagnoses(look.called, look.values):
            how += "; ICD-10 codes, which 'hierarchy: icd-10' groups where they are a quasi-identifier"
        how += f"; {doubt}" if doubt else ""
        ask = "" if role is Role.IDENTIFIER else spelled.asks.get(look.name, "")
        how += f"; {ask}" if ask else ""
        of = [(one.of, one.share) for one in depending if one.by == look.name]
        if of:
            least = shown(min(share for _, share in of))
            how += f"; determines {some_of([name for name, _ in of])} ({least} of records)"
        yield Proposal(
            look.name,
            Column(role=role, **given),
            look.type,
            len(look.values),
            len(look.column) - look.present,
            why + how,
            role in (Role.SENSITIVE, Role.KEEP) or bool(doubt or ask) or why == UNKNOWN,
        )


def _unique(known: Sequence[Look], rows: int) -> float:
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


def _notes_on_values(read: Sequence[Look]) -> Iterator[str]:
    """Tell how the values of quasi-identifiers and sensitive columns were understood."""
    if stored := [look.name for look in read if look.stored_as_text]:
        yield f"Numbers or dates are stored as text in {some_of(stored)}; 'type' says how they are read."
    infinite = [look.name for look in read if look.tokens and look.kind == "number" and not look.stored_as_text]
    if infinite:
        yield f"There are infinite numbers in {some_of(infinite)}, which no range can hold; they are taken for missing."
    for token in sorted({token for look in read if look.name not in infinite for token in look.tokens}):
        names = some_of([look.name for look in read if token in look.tokens])
        yield f"{token!r} is taken for missing in {names}; if it is a value there, take it out of 'missing'."
    for look in read:
        if look.puzzling:
            yield (
                f"{look.name!r} would be numbers or dates but for {look.puzzling} distinct value(s); if they stand for "
                "a missing one, list them under 'missing' and set its 'type'."
            )


def _notes_on_roles(by_role: Mapping[Role, Sequence[Look]], proposals: Sequence[Proposal]) -> Iterator[str]:
    """Tell what to think about before agreeing."""
    known, sensitive = by_role[Role.QUASI_IDENTIFIER], by_role[Role.SENSITIVE]
    if len(known) > MANY:
        doubtful = some_of([p.name for p in proposals if p.why.startswith(UNKNOWN)] or [look.name for look in known])
        yield f"{len(known)} quasi-identifiers leave little precision; give 'keep' to what nobody can know: {doubtful}?"
    if not sensitive:
        yield "No column looks sensitive; give the role to what must not be learnt: k-anonymity alone cannot hide it."
    if len(sensitive) > 1:
        names = some_of([look.name for look in sensitive])
        yield f"{names} are sensitive and released as they are: who knows one of a person may learn the others."
    for look in by_role[Role.IDENTIFIER]:
        if named(NUMBER_OF_A_PERSON, look.name) and 0 < len(look.values) < NEARLY * look.present:
            yield (
                f"{look.name!r} repeats: where a person has several records, k counts records, not people; write "
                f"k-anonymity: {{k: …, of: {look.name}}} to count people."
            )


def _notes_on_dependences(found: Sequence[Dependence], roles: Mapping[str, Role]) -> Iterator[str]:
    """Tell what follows where one column determines another."""
    pairs = {(one.by, one.of) for one in found}
    for one in found[:NOTED]:
        told = f"{one.by!r} determines {one.of!r} in {shown(one.share)} of records"
        both = (one.of, one.by) in pairs and roles[one.by] is roles[one.of] is Role.QUASI_IDENTIFIER
        if both:
            if one.by < one.of:
                yield f"{one.by!r} and {one.of!r} determine each other: drop one, and the release keeps more of others."
            continue
        if roles[one.by] is not Role.QUASI_IDENTIFIER and roles[one.of] is Role.QUASI_IDENTIFIER:
            yield f"{told} and leaves as it is: who reads it knows the other; make it a quasi-identifier, or drop it."
        elif roles[one.by] is Role.QUASI_IDENTIFIER and roles[one.of] is Role.QUASI_IDENTIFIER:
            yield f"{told}: drop {one.of!r}, which adds nothing to it, and the release keeps more of the others."
    if len(found) > NOTED:
        yield f"{len(found) - NOTED} more pairs of columns are such that one determines the other; see the reasons."


def _notes_on_privacy(rows: int, k: int, asked: bool, sensitive: Sequence[Look]) -> Iterator[str]:
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
