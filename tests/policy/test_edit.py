"""One entry of a policy is put in, and nothing else of the text changes."""

from __future__ import annotations

import pytest
import yaml

from rothko.errors import PolicyError
from rothko.policy.edit import put
from rothko.policy.policy import Policy

HEAD = "# ours\ncolumns:\n"
TAIL = "  age: {role: keep}  # years\nprivacy: [{k-anonymity: {k: 2}}]\n"
WRITTEN = {
    "flow": "  zip: {role: quasi-identifier}  # five digits\n",
    "flow with one": "  zip: {role: quasi-identifier, hierarchy: {mask: right}, weight: 2}  # five digits\n",
    "flow on lines": "  zip: {role: quasi-identifier,\n        hierarchy: flat}\n",
    "block": "  zip:\n    # why\n    role: quasi-identifier  # here\n    weight: 2\n    # after\n",
    "block with one": "  zip:\n    hierarchy: auto # old\n    role: quasi-identifier\n",
    "block below": "  zip:\n    hierarchy: # old\n     tree:\n       a: [b,\n         c]\n    role: quasi-identifier\n",
    "last": "  zip:\n    role: quasi-identifier\n    hierarchy:\n      tree:\n        a:\n          - b\n",
}


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("value", ["zip.csv", {"mask": "left"}, {"tree": {"a: b": ["01", "no", "#"], "ü": ["{"]}}])
def test_only_the_entry_changes(form: str, value: object) -> None:
    text = HEAD + WRITTEN[form] + TAIL
    changed = put(text, "zip", "hierarchy", value, where="policy.yaml")
    wanted = yaml.safe_load(text)
    wanted["columns"]["zip"]["hierarchy"] = value
    assert yaml.safe_load(changed) == wanted
    assert changed.startswith(HEAD)
    assert changed.endswith(TAIL)
    for comment in ("# five digits", "# why", "# here", "# after"):
        assert (comment in changed) == (comment in text)
    assert Policy.parse(changed).columns["zip"].hierarchy is not None


def test_what_cannot_be_changed_is_said() -> None:
    with pytest.raises(PolicyError, match=r"policy\.yaml has no column 'zap'; did you mean 'zip'"):
        put(HEAD + WRITTEN["flow"] + TAIL, "zap", "hierarchy", "auto", where="policy.yaml")
    with pytest.raises(PolicyError, match="write column 'zip' as a mapping"):
        put("columns:\n  zip: keep\n", "zip", "hierarchy", "auto", where="policy.yaml")
