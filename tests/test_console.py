"""Commands on the pages print what the pages show."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

from rothko.calibrate import Speed
from tests.documented import DOCS, Desk, Made, blocks, desk, made, page, plain, section

__all__ = ["desk", "made"]

ROOT = Path(__file__).parent.parent
REQUIREMENTS = [
    "distinct-l-diversity", "entropy-l-diversity", "recursive-l-diversity", "frequency-l-diversity", "alpha-k",
    "p-sensitive", "p-alpha", "t-closeness", "variance-diversity", "squared-error-diversity",
]  # fmt: skip


def test_the_tutorial(desk: Desk) -> None:
    assert desk.follow(page("tutorial.md")) > 15
    (desk.folder / "new-recoded.csv").unlink()
    assert desk.follow(page("how-to/apply-a-recoding.md")) == 1


def test_the_readme(desk: Desk, made: Made) -> None:
    made("generate patients -o patients.csv")
    text = plain((ROOT / "README.md").read_text("utf-8"))
    assert desk.follow(section(text, "From a file to a release")) == 1
    head = (desk.folder / "release/release.csv").read_text("utf-8").splitlines()[:4]
    assert "".join(f"    {line}\n" for line in head) in text
    assert desk.follow(section(text, "Less lost")) == 1
    made("generate agrawal -n 10000 --noise 0.05 -o people.csv")
    assert desk.follow(section(text, "Made for a use").partition("What models learn")[0]) == 1


def test_report_and_painting(desk: Desk, made: Made) -> None:
    baskets = "generate longtail -n 1000 --items 50 --mean 8 --deviation 4 --least 0.01 -o baskets.txt"
    made("generate patients -n 1000 -o patients.csv", baskets)
    (desk.folder / "policy.yaml").write_text(next(blocks((ROOT / "README.md").read_text("utf-8"), "yaml")))
    assert desk.follow(page("report.md")) == 5


def test_a_policy_is_written(desk: Desk, made: Made) -> None:
    made("generate patients -o patients.csv", "generate patients -n 1000 -o people.csv")
    assert desk.follow(page("how-to/write-a-policy.md")) == 4


def test_a_hierarchy_is_chosen(desk: Desk, made: Made) -> None:
    made("generate patients -n 1000 -o people.csv", "draft people.csv --out policy.yaml")
    assert desk.follow(page("how-to/choose-a-hierarchy.md")) == 3


def test_values_are_read(desk: Desk, made: Made) -> None:
    made("generate patients -n 1000 -o patients.csv")
    assert desk.follow(page("how-to/read-values.md")) == 1


def test_files_of_any_dialect(desk: Desk) -> None:
    lines = "".join(f"{20 + i};'höh; {i}'\n" for i in range(20))
    (desk.folder / "people.csv").write_text(lines, encoding="latin-1")
    assert desk.follow(page("how-to/csv-files.md")) == 1


def test_a_table_in_several_files(desk: Desk, made: Made) -> None:
    (desk.folder / "data").mkdir()
    made(
        "generate patients -n 300 --seed 1 -o data/2026-01.parquet",
        "generate patients -n 300 --seed 2 -o data/2026-02.parquet",
    )
    (desk.folder / "policy.yaml").write_text(next(blocks((ROOT / "README.md").read_text("utf-8"), "yaml")))
    assert desk.follow(page("how-to/several-files.md")) == 3


def test_a_workbook(desk: Desk, made: Made) -> None:
    made("generate patients -n 500 -o people.xlsx")
    assert desk.follow(page("how-to/spreadsheets.md")) == 2


def test_a_statistics_file(desk: Desk, made: Made) -> None:
    made("generate patients -n 300 -o patients.csv")
    pyreadstat.write_sav(pd.read_csv(desk.folder / "patients.csv"), desk.folder / "survey.sav")
    assert desk.follow(page("how-to/statistics-files.md")) == 2


def test_a_pipe(desk: Desk, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    made("generate patients -n 300 -o patients.csv")
    (desk.folder / "policy.yaml").write_text(next(blocks((ROOT / "README.md").read_text("utf-8"), "yaml")))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (desk.folder / "patients.csv.gz").write_bytes(gzip.compress((desk.folder / "patients.csv").read_bytes()))
    [block] = blocks(page("how-to/pipes.md"), "console")
    lines = "\n".join(line.removeprefix("$ ") for line in block.splitlines())
    ran = subprocess.run(["bash", "-c", f"set -eo pipefail\n{lines}"], capture_output=True, text=True, check=False)
    assert (ran.returncode, "300 records in" in ran.stdout) == (0, True), ran.stderr
    assert (desk.folder / "patients.certificate.json").is_file()


def test_a_release_for_a_use(desk: Desk) -> None:
    assert desk.follow(page("how-to/release-for-a-use.md")) == 7


def test_a_release_of_every_night(desk: Desk, made: Made) -> None:
    made("generate census -n 500 -o people.parquet --policy policy.yaml")
    assert desk.follow(page("how-to/run-it-every-night.md")) == 2


def test_a_release_of_another_tool(desk: Desk) -> None:
    assert desk.follow(page("how-to/check-a-release.md")) == 3


def test_methods_are_compared(desk: Desk) -> None:
    assert desk.follow(page("how-to/compare-methods.md")) == 3


def test_a_plan(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    # A machine that takes hours for it, as the page's did: minutes are wider.
    monkeypatch.setattr("rothko.calibrate.calibrate", lambda: Speed(3e-8, 3e-8, 1e-8, 1e-8, 1e-8, 2e-7))
    assert desk.follow(page("reference/command-line.md")) == 2


def test_a_mistake_in_a_policy(desk: Desk, made: Made) -> None:
    made("generate patients -n 100 -o patients.csv")
    text = page("reference/policy.md")
    (desk.folder / "policy.yaml").write_text("columns:\n  name: {role: identifer}\nprivacy: [{k-anonymity: {k: 2}}]\n")
    [block] = blocks(text, "console")
    assert desk.follow(f"```console\n{block}```\n") == 1


def test_the_examples_of_requirements(desk: Desk) -> None:
    assert desk.follow(page("requirements/k-anonymity.md")) == 4
    assert desk.follow(page("requirements/distinct-l-diversity.md")) == 3
    (desk.folder / "k3.csv").unlink()
    (desk.folder / "k3.certificate.json").unlink()
    (desk.folder / "k3-recoding/recoding.json").unlink()
    assert desk.follow(page("requirements/index.md")) == 5
    for name in REQUIREMENTS[1:]:
        assert desk.follow(page(f"requirements/{name}.md")) == 2, name


def test_people_of_other_pages(desk: Desk) -> None:
    rows = [f"p{i},{20 + i % 37},{53100 + 7 * i % 90},d{i % 5}\n" for i in range(60)]
    (desk.folder / "people.csv").write_text("name,age,zip,disease\n" + "".join(rows))
    assert desk.follow(page("methods/anatomy.md")) == 1
    assert desk.follow(page("coming-from.md")) == 1


def test_sets(desk: Desk, made: Made) -> None:
    made("generate longtail -n 1e4 -o baskets.txt --utility utility.csv")
    for name in ("methods/set-mondrian.md", "methods/set-two-phase.md", "requirements/k1-anonymity.md"):
        assert desk.follow(page(name).replace("--out release.txt", "--out release.txt --overwrite")) in (1, 2)


def test_the_language_of_workloads(desk: Desk) -> None:
    words = {
        "sex": ("Male", "Female"),
        "nationality": ("French", "Spanish", "Japanese", "Nepali"),
        "education": ("School", "Bachelors", "Masters", "Doctorate"),
        "disease": ("flu", "cold", "asthma"),
    }
    rows = [["name", "age", *words, "salary"]]
    rows += [[f"p{i}", f"{18 + i % 50}", *(one[i % len(one)] for one in words.values()), str(i % 9)] for i in range(99)]
    (desk.folder / "people.csv").write_text("".join(f"{','.join(row)}\n" for row in rows))
    assert desk.follow(page("workload.md")) == 2


def test_every_page_with_commands_is_followed() -> None:
    """Here, or by the tests of pages that need a server, a bucket, a cluster or a while."""
    followed = {f"requirements/{name}.md" for name in REQUIREMENTS}
    for path in (Path(__file__), Path(__file__).with_name("test_elsewhere.py")):
        followed |= set(re.findall(r'"([\w/-]+\.md)"', path.read_text("utf-8")))
    with_commands = {
        path.relative_to(DOCS).as_posix()
        for path in DOCS.rglob("*.md")
        if any("$ rothko" in block for block in blocks(path.read_text("utf-8"), "console"))
    }
    assert with_commands - followed == set()
