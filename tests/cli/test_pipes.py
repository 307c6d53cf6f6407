"""Input through pipes: read whole, kept privately for the run, and gone with it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from rothko.cli import pipes
from tests.command import Rothko

LINES = "age,disease\n" + "".join(f"{20 + i % 5},{'xyz'[i % 3]}\n" for i in range(60))
QUICK = ("--qi", "age", "--sensitive", "disease", "--k", "3")


def parquet() -> bytes:
    sink = io.BytesIO()
    columns = {"age": [20 + i % 5 for i in range(60)], "disease": ["xyz"[i % 3] for i in range(60)]}
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def arrow() -> bytes:
    sink = io.BytesIO()
    pa.feather.write_feather(pq.read_table(io.BytesIO(parquet())), sink, compression="uncompressed")
    return sink.getvalue()


FORMS = {"csv": LINES.encode(), "gzip": gzip.compress(LINES.encode()), "parquet": parquet(), "arrow": arrow()}


@pytest.fixture(autouse=True)
def _nothing_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder for temporary files, in which nothing is left."""
    (folder / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "tmp"))
    yield
    assert os.listdir(folder / "tmp") == []


@pytest.fixture
def pipe() -> Iterator[int]:
    """The reading end of a pipe, as a shell opens it for ``<(…)``; a thread writes into it."""
    ends: list[int] = []
    writers = []

    def opened(content: bytes) -> int:
        reading, writing = os.pipe()
        ends.append(reading)

        def write() -> None:
            with open(writing, "wb") as file:
                file.write(content)

        writers.append(threading.Thread(target=write))
        writers[-1].start()
        return reading

    yield opened  # type: ignore[misc]
    for writer in writers:
        writer.join()
    for end in ends:
        os.close(end)


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.parametrize("form", FORMS)
def test_process_substitution_is_read_in_every_format(form: str, rothko: Rothko, pipe, folder: Path) -> None:
    ran = rothko("check", f"/dev/fd/{pipe(FORMS[form])}", *QUICK)
    assert (ran.code, "60 records in 5 classes" in ran.out) == (0, True), ran.err


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input(name: str, rothko: Rothko, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    stdin(monkeypatch, FORMS["csv"])
    assert rothko("anonymize", name, *QUICK, "--out", "out").code == 0
    assert sorted(os.listdir("out")) == ["certificate.json", "release.csv", "report.html", "report.json"]


def test_a_fifo(rothko: Rothko, folder: Path) -> None:
    os.mkfifo("people.csv")
    writer = threading.Thread(target=lambda: Path("people.csv").write_bytes(FORMS["csv"]))
    writer.start()
    ran = rothko("check", "people.csv", *QUICK)
    writer.join()
    assert (ran.code, "60 records" in ran.out) == (0, True), ran.err


def test_a_pipe_is_larger_than_what_is_read_at_once(
    rothko: Rothko, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(pipes, "AT_ONCE", 100)
    stdin(monkeypatch, FORMS["csv"])
    assert "60 records" in rothko("check", "-", *QUICK).out


def test_sets_a_record_a_line(rothko: Rothko, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for content in (b"a b\nb c\n" * 5, gzip.compress(b"a b\nb c\n" * 5)):
        stdin(monkeypatch, content)
        ran = rothko("sets", "-", "--k", "3", "--out", "out.txt", "--overwrite")
        assert (ran.code, "10 records" in ran.out) == (0, True), ran.err


def test_what_is_kept_is_private_and_goes_though_the_run_fails(
    rothko: Rothko, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    seen: list[int] = []
    kept = pipes._keep

    def looked(*given: object) -> Path:
        path = kept(*given)  # type: ignore[arg-type]
        seen.append(stat.S_IMODE(path.parent.stat().st_mode))
        return path

    monkeypatch.setattr(pipes, "_keep", looked)
    stdin(monkeypatch, FORMS["csv"])
    assert rothko("check", "-", "--qi", "none such").code == 2
    stdin(monkeypatch, FORMS["csv"])
    assert rothko("anonymize", "-", *QUICK, "--nonsense").code == 2  # what Typer refuses, it refuses before
    stdin(monkeypatch, FORMS["csv"])
    assert rothko("anonymize", "-", *QUICK).code == 2  # --out is missing, which is found after the file
    assert seen == [0o700] * len(seen)
    assert len(seen) >= 2


@pytest.mark.parametrize(
    ("content", "why"), [(b"", "stdin.csv is empty."), (b"\x00\x01\x02", "stdin.csv")], ids=["empty", "binary"]
)
def test_errors_speak_of_what_came(
    content: bytes, why: str, rothko: Rothko, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    stdin(monkeypatch, content)
    ran = rothko("check", "-", *QUICK)
    assert (ran.code, why in ran.err) == (2, True), ran.err


def test_a_terminal_is_not_waited_for(rothko: Rothko, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    terminal = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert "Nothing comes through standard input" in rothko("check", "-", *QUICK).err


def test_a_draft_names_what_was_named(rothko: Rothko, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    stdin(monkeypatch, FORMS["csv"])
    told = rothko("draft", "-", "--out", "policy.yaml").out
    assert "rothko anonymize - --policy policy.yaml" in told
    assert "rothko-spill" not in told


def test_python_says_that_a_pipe_is_one(folder: Path) -> None:
    import rothko as rk

    os.mkfifo("people.csv")
    with pytest.raises(rk.errors.InputError, match="is a pipe or a device, which can be read only once"):
        rk.draft("people.csv")


# ── Out again


def test_a_release_to_standard_output(rothko: Rothko, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    stdin(monkeypatch, FORMS["csv"])
    ran = rothko("anonymize", "-", *QUICK, "--out", "-", "--certificate", "proof.json")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("age,disease\n")
    assert ran.out.count("\n") == 61
    assert "verified on the written bytes" in ran.err
    assert ran.err.splitlines()[-1] == "proof.json"
    told = json.loads(Path("proof.json").read_text())
    assert told["file_sha256"] == hashlib.sha256(ran.out.encode()).hexdigest()
    assert sorted(os.listdir()) == ["proof.json", "tmp"]  # neither a recoding nor a report is left


def test_a_release_to_standard_output_without_a_certificate(rothko: Rothko, folder: Path) -> None:
    Path("people.csv").write_bytes(FORMS["csv"])
    ran = rothko("anonymize", "people.csv", *QUICK, "--method", "mondrian", "--out", "-", "--format", "tsv",
                 "--recoding", "hidden/")  # fmt: skip
    assert (ran.code, ran.out.startswith("age\tdisease\n")) == (0, True), ran.err
    assert "Nothing is kept of its certificate; --certificate names a file for it." in ran.err
    assert ran.err.splitlines()[-1] == "hidden/recoding.json"
    again = rothko("apply", "hidden", "people.csv", "--out", "-")
    assert (again.code, again.out.count("\n"), "60 records in" in again.err) == (0, 61, True), again.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--json",), "--json does not go with --out -"),
        (("--report",), "--report does not go with --out -"),
        (("--parts", "64MB"), "--parts does not go with --out -"),
        (("--format", "xml"), "--format must be one of csv, tsv, parquet, arrow, not 'xml'."),
        (("--certificate", "people.csv"), "people.csv"),
        (("--k", "1000"), "cannot meet k-anonymity"),
    ],
)
def test_nothing_goes_to_standard_output_where_something_is_wrong(
    options: tuple[str, ...], says: str, rothko: Rothko, folder: Path
) -> None:
    Path("people.csv").write_bytes(FORMS["csv"])
    ran = rothko("anonymize", "people.csv", *QUICK, "--out", "-", *options)
    assert ran.code in (2, 3)
    assert says in ran.out + ran.err
    assert "age,disease" not in ran.out
    assert sorted(os.listdir()) == ["people.csv", "tmp"]


@pytest.mark.parametrize("option", [("--format", "csv"), ("--certificate", "c.json")])
def test_what_goes_with_standard_output_alone(option: tuple[str, str], rothko: Rothko, folder: Path) -> None:
    Path("people.csv").write_bytes(FORMS["csv"])
    ran = rothko("anonymize", "people.csv", *QUICK, "--out", "out/", *option)
    assert (ran.code, f"{option[0]} goes with --out -" in ran.err) == (2, True), ran.err


def test_binary_is_not_sent_to_a_terminal(rothko: Rothko, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    Path("people.csv").write_bytes(FORMS["csv"])
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    ran = rothko("anonymize", "people.csv", *QUICK, "--out", "-", "--format", "parquet")
    assert (ran.code, "A terminal cannot show parquet" in ran.err) == (2, True), ran.err


def test_standard_output_that_is_closed(folder: Path) -> None:
    Path("few.csv").write_text("age,disease\n" + "1,flu\n" * 20)
    command = f"{sys.executable} -m rothko anonymize few.csv {' '.join(QUICK)} --out - >&-"
    ran = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    assert "Standard output is closed, and nobody would get the release" in ran.stderr


def test_a_reader_that_has_seen_enough(folder: Path) -> None:
    """In processes of their own: a release that is larger than a pipe, of which two lines are read."""
    rows = "".join(f"{i % 9},{'x' * 200}\n" for i in range(2000))
    Path("many.csv").write_text("age,disease\n" + rows)
    command = [sys.executable, "-m", "rothko", "anonymize", "many.csv", *QUICK, "--method", "mondrian", "--out", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert run.stdout.readline() == "age,disease\n"
        run.stdout.close()
        said = run.stderr.read()
        assert (run.wait(60), "Traceback" in said, "Broken" in said) == (0, False, False), said


@pytest.mark.parametrize("packed", ["bz2", "zstd"])
def test_packed_text(packed: str, rothko: Rothko, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, packed) as stream:
        stream.write(FORMS["csv"])
    stdin(monkeypatch, sink.getvalue().to_pybytes())
    assert "60 records" in rothko("check", "-", *QUICK).out
