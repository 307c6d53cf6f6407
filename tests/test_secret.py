"""The secret of a run: the same key, the same numbers; otherwise nothing that could be guessed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rothko as rk
from rothko.errors import InputError, PolicyError
from rothko.secret import Secret, read_key

KEY = bytes(range(32))


def test_numbers_hang_on_key_and_purpose() -> None:
    one = Secret(KEY).words("ties", 1000)
    assert one.tolist() == Secret(KEY).words("ties", 1000).tolist()
    assert one.tolist() != Secret(KEY).words("groups", 1000).tolist()
    assert one.tolist() != Secret(KEY + b"\0").words("ties", 1000).tolist()
    assert len(np.unique(one)) == 1000
    assert sorted(Secret(KEY).order("rows", 50).tolist()) == list(range(50))


def test_a_secret_is_drawn_for_each_run() -> None:
    assert Secret.of(None).words("ties", 4).tolist() != Secret.of(None).words("ties", 4).tolist()
    assert not Secret.of(None).given


def test_no_secret_is_shown() -> None:
    assert KEY.hex() not in repr(Secret(KEY))
    assert str(KEY) not in repr(Secret(KEY))


@pytest.mark.parametrize("key", [b"", b"short", "x" * 32, 7])
def test_what_could_be_guessed_is_no_key(key: object) -> None:
    with pytest.raises(PolicyError, match="token_bytes"):
        Secret.of(key)  # type: ignore[arg-type]


def test_keys_in_files(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(KEY)
    assert read_key(path) == KEY
    for wrong in (b"", b"short", bytes((1 << 20) + 1)):
        path.write_bytes(wrong)
        with pytest.raises(InputError, match="a key has 16 to"):
            read_key(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_key(tmp_path / "none")


def test_a_certificate_tells_where_the_secret_comes_from_and_not_what_it_is() -> None:
    people = pd.DataFrame({"age": [30] * 8, "note": [f"n{i}" for i in range(8)]})
    policy = rk.Policy.quick(people.columns, qi=["age"], keep="note", k=2, method="hilbert")
    text = rk.anonymize(people, policy, key=KEY).certificate.to_json()
    assert '"key": "given"' in text
    assert KEY.hex() not in text
    assert '"key": "drawn for this run"' in rk.anonymize(people, policy).certificate.to_json()
    assert '"key": null' in rk.anonymize(people, policy.but(method="mondrian")).certificate.to_json()
