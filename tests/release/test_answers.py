"""What answers a question is true or false as its answer is."""

from __future__ import annotations

import ast
import importlib

import pyarrow as pa
import pytest

import rothko as rk
from rothko.release.verify import verify
from tests.test_layers import MODULES

PEOPLE = {"age": [30, 30, 41, 41], "disease": ["flu", "cold", "flu", "cold"]}


@pytest.mark.parametrize("k", [2, 3])
def test_a_check_is_true_where_it_holds(k: int) -> None:
    found = rk.check(PEOPLE, rk.Policy.quick(PEOPLE, qi=["age"], sensitive=["disease"], k=k))
    assert bool(found) is bool(found.verification) is bool(found.verification.findings[0]) is found.holds is (k == 2)


def test_a_check_is_false_where_an_identifier_is_left() -> None:
    policy = {
        "columns": {"age": {"role": "quasi-identifier"}, "disease": {"role": "identifier"}},
        "privacy": [{"k-anonymity": {"k": 2}}],
    }
    found = rk.check(PEOPLE, policy)
    assert found.verification
    assert not found


def test_nothing_that_was_looked_at_is_no_yes() -> None:
    found = verify(pa.table(PEOPLE), [], {"age": ["age"]})
    assert not found.holds
    assert not found


def test_whatever_can_hold_answers_by_itself() -> None:
    """An object that says whether something holds, and is always true, answers yes to whoever forgets to ask it."""
    for module, path in MODULES.items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and {"holds"} & {*_names(node)}:
                assert "__bool__" in vars(getattr(importlib.import_module(module), node.name)), node.name


def _names(node: ast.ClassDef) -> list[str]:
    fields = [one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    return fields + [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
