"""What values tell by themselves, whatever their column is called."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rothko as rk
from rothko.policy.column_names import IDENTIFIERS, KNOWN, SENSITIVE, named
from rothko.policy.telling import PEOPLE, Told, told_by

ROWS = 400
rng = np.random.default_rng(7)


def told(values: list[Any]) -> Told | None:
    column = pa.chunked_array([pa.array(values)])
    return told_by(column, text=pa.types.is_string(column.type), distinct=len(set(values) - {None}))


def digits(length: int) -> str:
    return "".join(map(str, rng.integers(0, 10, length)))


def luhn(number: str) -> str:
    """A check digit by the rule on paper: every second digit doubled, the sum a multiple of ten."""
    total = 0
    for i, sign in enumerate(reversed(number)):
        doubled = int(sign) * (2 if i % 2 == 0 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    return number + str(-total % 10)


def iban(country: str, account: str) -> str:
    as_digits = "".join(str(int(sign, 36)) for sign in f"{account}{country}00")
    return f"{country}{98 - int(as_digits) % 97:02}{account}"


KINDS: dict[str, tuple[str, Callable[[int], str]]] = {
    "e-mail": ("e-mail addresses", lambda i: f"p{i}@example.org"),
    "abroad": ("telephone numbers", lambda i: f"+49 151 {2000000 + i}"),
    "German": ("telephone numbers", lambda i: f"0711/{123456 + i}"),
    "French": ("telephone numbers", lambda i: f"06 {i % 90 + 10} 34 {i % 80 + 10} 12"),
    "American": ("telephone numbers", lambda i: f"(212) 555-{1000 + i}"),
    "IPv4": ("addresses of computers (IP)", lambda i: f"10.3.{i % 256}.{i % 7}"),
    "IPv6": ("addresses of computers (IP)", lambda i: f"2001:db8::{i:x}"),
    "MAC": ("addresses of devices (MAC)", lambda i: f"00:1a:2b:3c:{i % 256:02x}:{i // 256:02x}"),
    "IBAN": ("numbers of bank accounts (IBAN", lambda i: iban("DE", f"{370400440000000000 + i}")),
    "card": ("numbers of payment cards", lambda i: luhn(f"4{10**14 + 7919 * i:014}")),
    "SSN": ("numbers of people (United States", lambda i: f"{100 + i % 500}-{10 + i % 89}-{1000 + i}"),
    "text": ("free text", lambda i: f"came in with her son {i} and asked for Dr. Weber"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_known_by_their_look(kind: str) -> None:
    what, make = KINDS[kind]
    values = [make(i) for i in range(ROWS)]
    found = told(values)
    assert found is not None
    assert found.leads
    assert found.what.startswith(what)
    assert found.share == 1
    proposal = rk.draft({"spalte": values, "age": [i % 30 for i in range(ROWS)]}).proposals[0]
    assert str(proposal.column.role) == "identifier"
    assert f"{what}" in proposal.why
    assert "100% of records" in proposal.why
    assert not proposal.confirm, "what is dropped needs nobody's consent"


@pytest.mark.parametrize("module", PEOPLE)
def test_every_country_is_tried_with_its_own_numbers(module: str) -> None:
    checker = import_module(f"stdnum.{module}")
    examples = {line.split("'")[1] for line in checker.__doc__.splitlines() if ">>> validate('" in line}
    right = [text for text in examples if checker.is_valid(text)]
    assert right, "the module has examples"
    written = {form for text in right for form in (text, checker.compact(text))}
    assert any(len(re.sub(r"[ ./-]", "", text)) in PEOPLE[module][1] for text in written), "and they are tried"


def right_ones(module: str, make: Callable[[], str], many: int = 40) -> list[str]:
    valid = import_module(f"stdnum.{module}").is_valid
    found: dict[str, None] = {}
    while len(found) < many:
        text = make()
        if valid(text):
            found[text] = None
    return list(found)


@pytest.mark.parametrize(
    ("module", "whose", "make"),
    [
        ("nl.bsn", "the Netherlands", lambda: digits(9)),
        ("pl.pesel", "Poland", lambda: f"8{rng.integers(0, 9)}0{rng.integers(1, 9)}1{rng.integers(0, 9)}{digits(5)}"),
        ("ch.ssn", "Switzerland", lambda: f"756.{digits(4)}.{digits(4)}.{digits(2)}"),
        ("fr.nir", "France", lambda: f"1{digits(2)}0{rng.integers(1, 9)}75{digits(8)}"),
    ],
)
def test_numbers_of_a_country(module: str, whose: str, make: Callable[[], str]) -> None:
    numbers = right_ones(module, make)
    found = told([numbers[i % len(numbers)] for i in range(ROWS)])
    assert found is not None
    assert whose in found.what


def test_whole_numbers_are_checked_as_text_is() -> None:
    cards = [int(luhn(f"5{10**14 + 104729 * i:014}")) for i in range(ROWS)]
    found = told(cards)
    assert found is not None
    assert found.what.startswith("numbers of payment cards")
    assert told([card + 1 for card in cards]) is None


@pytest.mark.parametrize(
    "values",
    [
        [f"{i:09}" for i in range(ROWS)],
        [f"2024-01-{i % 28 + 1:02}" for i in range(ROWS)],
        [f"{i % 28 + 1:02}.03.2024" for i in range(ROWS)],
        [f"{i % 100}-{i % 100 + 4}" for i in range(ROWS)],
        [f"1{i % 10}.{i % 90}" for i in range(ROWS)],
        [f"{i % 60:02}:{i % 60:02}" for i in range(ROWS)],
        [["Plant and machine operators, and assemblers", "Clerks in offices of any kind"][i % 2] for i in range(ROWS)],
        [f"DE{i % 90 + 10} street" for i in range(ROWS)],
        ["", " ", "a", "@"] * (ROWS // 4),
        [int(digits(16)) for _ in range(ROWS)],
        [int(digits(11)) for _ in range(ROWS)],
        [1700000000000 + 977 * i for i in range(ROWS)],
        [None] * ROWS,
    ],
)
def test_other_values_tell_nothing(values: list[Any]) -> None:
    column = pa.chunked_array([pa.array(values, pa.string() if values[0] is None else None)])
    assert told_by(column, text=pa.types.is_string(column.type), distinct=len(set(values))) is None


def test_a_few_addresses_are_told_and_wait_for_a_person() -> None:
    firms = [f"firm {i % 9}" for i in range(ROWS)]
    firms[17] = "ask ann@example.org"
    found = rk.draft({"employer": firms, "age": [i % 30 for i in range(ROWS)]})
    [firm, age] = found.proposals
    assert str(firm.column.role) == "quasi-identifier"
    assert "e-mail addresses, by its values, in under 1% of records" in firm.why
    assert (firm.confirm, age.confirm) == (True, False)
    assert "ann@" not in found.to_yaml()
    firms[:20] = [f"ask p{i}@example.org" for i in range(20)]
    assert (
        str(rk.draft({"employer": firms, "age": [i % 30 for i in range(ROWS)]}).proposals[0].column.role)
        == "identifier"
    )


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (IDENTIFIERS, ["Straße", "Hausnummer", "Kundennummer", "kunden_nr", "Telefonnummer", "Handy", "E-Mail-Adresse",
                       "Versichertennummer", "Bemerkungen", "Prénom", "courriel", "numéro de sécurité sociale",
                       "numéro de téléphone", "Commentaire", "identifiant"]),
        (SENSITIVE, ["Diagnose", "Medikamente", "Behinderung", "Schwangerschaft", "Gewerkschaft", "traitement",
                     "maladie", "handicap", "dette", "Vermögen"]),
        (KNOWN, ["PLZ", "Gemeinde", "Bundesland", "Familienstand", "Staatsangehörigkeit", "Schulabschluss", "Beruf",
                 "Aufnahmedatum", "Körpergröße", "code postal", "département", "date de naissance", "nationalité",
                 "état civil", "métier", "diplôme"]),
    ],
)  # fmt: skip
def test_names_in_german_and_french(patterns: dict[str, str], names: list[str]) -> None:
    assert [name for name in names if not named(patterns, name)] == []
