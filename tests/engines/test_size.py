"""How large a table is that nobody has read yet: where the guess is wrong, ``auto`` still finds an engine."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import rothko as rk
from rothko.data.source.open import open_source
from rothko.errors import PolicyError, TooLargeError

LIMIT = 404_000_000
"""Just enough for an engine on disk; in memory a table of 10 MB fits."""
LINES = b"".join(b"%d,%s\n" % (i % 9, b"mf"[i % 2 : i % 2 + 1]) for i in range(360)) * 2500
POLICY = rk.Policy.quick(["age", "sex"], qi=["age", "sex"], k=5)


def packed(folder: Path, first: bytes = b"") -> Path:
    """A thousandth of its text, which in turn is a third of its table."""
    path = folder / "people.csv.gz"
    path.write_bytes(gzip.compress(b"age,sex\n" + first + LINES, mtime=0))
    return path


@pytest.mark.parametrize("first", [b"", b"7,%s\n" % (b"x" * 500) * 100], ids=["alike", "other first lines"])
def test_auto_takes_a_gzip_file_that_does_not_fit_in_memory_to_disk(first: bytes, tmp_path: Path) -> None:
    path = packed(tmp_path, first)
    assert path.stat().st_size < 20_000
    release = rk.anonymize(path, POLICY, memory=LIMIT)
    assert release.certificate.engine == "rothko-s"
    assert "needs about" in release.certificate.engine_reason
    assert release.certificate.verification.rows == 900_000 + 100 * bool(first)


def test_memory_that_is_asked_for_and_does_not_suffice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TooLargeError, match=r"the limit is 404.0 MB; raise memory=…, or use engine: auto\.$"):
        rk.anonymize(packed(tmp_path), POLICY, memory=LIMIT, engine="memory")


def test_a_method_that_needs_memory_says_so(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"topdown sees all records at once.*raise memory=…, or use mondrian"):
        rk.anonymize(packed(tmp_path), POLICY.but(method="topdown"), memory=LIMIT)


def test_the_size_of_a_text_file_is_about_that_of_its_table(tmp_path: Path) -> None:
    text = b"a,b,c,d\n" + b"".join(b"%d,%d,%s,x\n" % (i % 7, i, b"y" * (i % 40)) for i in range(5000))
    for name, raw in {"t.csv": text, "t.csv.gz": gzip.compress(text), "T.CSV.GZ": gzip.compress(text)}.items():
        (tmp_path / name).write_bytes(raw)
        source = open_source(tmp_path / name)
        assert source.read().nbytes <= source.size(source.names) * 1.5
        assert source.size(source.names) <= source.read().nbytes * 2
        assert source.size(["a"]) < source.size(["a", "c"]) < source.size(source.names)
