"""Numbers and texts of a policy that readers of YAML take for different things: read exactly, or refused."""

from __future__ import annotations

import json

import pytest

from rothko.cli import options
from rothko.errors import InputError, PolicyError
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity

TEXT = """\
columns:
  answer: {role: quasi-identifier, order: [no, yes, off, 010, 0x10, 1_000, 1:30, 2020-01-01, null, ~, 1e3, .inf]}
  disease: {role: sensitive}
privacy:
- k-anonymity: {k: K}
- p-alpha: {p: 2, of: disease, categories: {010: no, yes: 1_0}}
missing: [no, 010, ~]
"""


@pytest.mark.parametrize("k", ["010", "0x10", "0b11", "1_000", "1__0", "1:30", "-010", "!!int '010'", "!!int 0x9"])
def test_a_number_that_not_everybody_reads_alike_is_refused(k: str) -> None:
    with pytest.raises(PolicyError, match=r"^policy, line 5: .* not a number that everybody reads alike; write it in"):
        Policy.parse(TEXT.replace("K", k))


@pytest.mark.parametrize("k", ["10", "+10", "!!int 10", "!!int '10'"])
def test_a_number_in_digits_is_read(k: str) -> None:
    assert Policy.parse(TEXT.replace("K", k)).privacy[0] == KAnonymity(k=10)


def test_values_of_the_data_are_text_as_written() -> None:
    policy = Policy.parse(TEXT.replace("K", "10"))
    written = "no yes off 010 0x10 1_000 1:30 2020-01-01 null ~ 1e3 .inf"
    assert policy.columns["answer"].order == tuple(written.split())
    assert dict(policy.privacy[1].categories) == {"010": "no", "yes": "1_0"}
    assert policy.missing == ("no", "010", "~")
    assert Policy.parse(policy.dump()) == policy


def test_fractions() -> None:
    for written, number in {"0.5": 0.5, ".5": 0.5, "1e-3": 0.001, "2.": 2.0, "1.5e+2": 150.0}.items():
        text = TEXT.replace("K", "10").replace("order:", f"weight: {written}, order:")
        assert Policy.parse(text).columns["answer"].weight == number
    for written in ("1_0.5", "1:30.5"):
        with pytest.raises(PolicyError, match="everybody reads alike"):
            Policy.parse(TEXT.replace("K", "10").replace("order:", f"weight: {written}, order:"))


def test_json() -> None:
    policy = {
        "columns": {"😀": {"role": "quasi-identifier", "order": ["no", "010"]}},
        "privacy": [{"k-anonymity": {"k": 10}}],
    }
    assert list(Policy.parse(json.dumps(policy)).columns) == ["😀"], "JSON writes it as two halves"
    with pytest.raises(PolicyError, match="half a character"):
        Policy.parse(json.dumps(policy).replace("\\ude00", ""))
    with pytest.raises(PolicyError, match="everybody reads alike"):
        Policy.parse(json.dumps(policy).replace(": 10", ": 010"))
    with pytest.raises(PolicyError, match="already on line"):
        Policy.parse(json.dumps(policy).replace('"k":', '"k": 2, "k":'))


def test_numbers_on_the_command_line() -> None:
    assert options.whole("--k", "010", 2) == 10
    for text in ("0x10", "1_000", "1:30", "1e1"):
        with pytest.raises(InputError, match=r"^--k must be a whole number"):
            options.whole("--k", text, 2)
    assert options.parameters("--option", ["tables=5", "search=lsh", "sizes=[1, 2]"]) == {
        "tables": 5,
        "search": "lsh",
        "sizes": [1, 2],
    }
    with pytest.raises(PolicyError, match=r"^--option, line 1: '010' is not a number"):
        options.parameters("--option", ["tables=010"])
