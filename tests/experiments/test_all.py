"""All experiments in one go: what was run is not run again, and what it was run by is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments import __main__ as experiments
from experiments import curves, minimality, page, provenance, runs
from experiments.parts import PARTS, Part


@dataclass(frozen=True)
class Little:
    data: Path | None = None
    much: int = 1


class Counted:
    """A part of two figures, one of which needs data."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.ran: list[str] = []
        self.code = "one"
        monkeypatch.setattr(Part, "code", lambda _: self.code)
        monkeypatch.setattr(Part, "modules", lambda _: {"experiments.little": self.code})
        self.part = Part("little", "", "", ("1", "2"), lambda asked: Little(asked.data, asked.much), self.run)
        self.folder = folder

    def run(self, settings: Little, figures: list[str], *, workers: int, keep: runs.Keep) -> runs.Results:
        running = runs.Running(settings, keep)
        for number in figures:
            running.figure(number, f"Fig. {number}", lambda _, n=number: self.found(n), needs_data=number == "2")
        return running.results

    def found(self, number: str) -> dict[str, Any]:
        self.ran.append(number)
        return {"found": int(number)}

    def go(self, data: Path | None = None, much: int = 1, again: bool = False) -> list[str]:
        asked = SimpleNamespace(data=data, much=much, again=again, quick=True, figures=None, out=self.folder, workers=0)
        self.ran.clear()
        experiments.run([self.part], asked)  # type: ignore[arg-type]
        return list(self.ran)


def test_what_was_run_is_not_run_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    little = Counted(monkeypatch, tmp_path)
    assert little.go(tmp_path) == ["1", "2"]
    assert "2 figures to run, 0 known" in capsys.readouterr().out
    assert little.go(tmp_path) == []
    assert "0 figures to run, 2 known" in capsys.readouterr().out
    assert little.go(tmp_path, again=True) == ["1", "2"]
    little.code = "two"
    assert little.go(tmp_path) == ["1", "2"]
    kept = runs.read(tmp_path / "little.json")
    assert {by["code"] for by in kept["ran"].values()} == {"two"}
    assert kept["code"]["two"] == {"experiments.little": "two"}
    assert little.go(tmp_path, much=2) == ["1", "2"]
    assert runs.read(tmp_path / "little-before.json")["settings"]["much"] == 1, "results with other settings stay"


def test_a_run_that_was_stopped_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    little = Counted(monkeypatch, tmp_path)
    whole = little.found

    def stopped(number: str) -> dict[str, Any]:
        if number == "2":
            raise KeyboardInterrupt
        return whole(number)

    monkeypatch.setattr(little, "found", stopped)
    with pytest.raises(KeyboardInterrupt):
        little.go(tmp_path)
    monkeypatch.setattr(little, "found", whole)
    assert little.go(tmp_path) == ["2"]
    assert set(runs.read(tmp_path / "little.json")["figures"]) == {"1", "2"}


def test_figures_without_data_are_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    little = Counted(monkeypatch, tmp_path)
    assert little.go() == ["1"]
    assert set(runs.read(tmp_path / "little.json")["ran"]) == {"1"}


def test_a_forecast_follows_how_fast_it_went(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(runs.time, "perf_counter", lambda: now[0])
    forecast = runs.Forecast({"a": 10, "b": 20}, unknown=30, begun=0)
    assert forecast.left(["a", "b", "c"]) == 60
    now[0] = 20.0
    forecast.finish("a")
    assert forecast.left(["b", "c"]) == 100


@pytest.fixture
def forget() -> Iterator[Callable[[], None]]:
    """Read modules anew, and those of rothko in the end."""

    def forgotten() -> None:
        for cached in (provenance.imports, provenance._path, provenance._tree, provenance._said):
            cached.cache_clear()

    yield forgotten
    forgotten()


def test_code_is_what_a_module_says_and_imports(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, forget: Callable[[], None]
) -> None:
    def code() -> str:
        forget()
        return provenance.code_of("experiments.one")

    monkeypatch.setattr(provenance, "PACKAGES", {"experiments": tmp_path})
    (tmp_path / "one.py").write_text("def f():\n    from experiments import two\n    return two.x\n", "utf-8")
    (tmp_path / "two.py").write_text("x = 1\n", "utf-8")
    (tmp_path / "three.py").write_text("", "utf-8")
    (tmp_path / "__init__.py").write_text("", "utf-8")
    first = code()
    (tmp_path / "three.py").write_text("y = 1\n", "utf-8")
    (tmp_path / "two.py").write_text('"""Text."""\n\nx = 1  # more text\n', "utf-8")
    assert code() == first
    (tmp_path / "two.py").write_text("x = 2\n", "utf-8")
    assert code() != first


def test_results_hang_on_the_methods_that_they_are_about() -> None:
    seen = provenance.reached("experiments.sets")
    assert "rothko.kernels.sets.records" in seen
    assert "rothko.sets.methods.cluster" in seen
    assert not any(one.startswith(("rothko.cli", "rothko.report", "experiments.sets_")) for one in seen)


def test_results_do_not_hang_on_methods_that_are_not_run() -> None:
    for part in PARTS.values():
        seen = provenance.reached(part.module, part.unused)
        for one in part.unused:
            below = {module for module in provenance.reached(part.module) if f"{module}.".startswith(f"{one}.")}
            assert below, "each is loaded, under the name it has"
            assert not seen & below
        assert provenance.code_of(part.module, part.unused) == part.code()
    assert "rothko.methods.cluster.repair" in provenance.reached("experiments.refine", PARTS["refine"].unused)
    assert curves.OPTIONS["cluster"] == {"cluster": {"effort": "fast"}}
    assert "cluster" not in minimality.METHODS


@pytest.mark.parametrize("name", PARTS)
def test_a_part_names_its_module_and_draws_its_figures(name: str) -> None:
    part = PARTS[name]
    assert part.module.startswith("experiments.")
    drawn = set(part.figures) - {"tds", "edges", "letter"}
    assert not part.prefix or drawn <= set(part.drawn)
    assert {number for claim in part.claims for number in claim.figures} <= set(part.figures)


def test_who_reads_the_page_can_ask_whether_this_code_made_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(experiments, "DOCS", tmp_path)
    monkeypatch.setattr(Part, "code", lambda part: f"now-{part.name}")
    ran = {figure: {"code": "now-scale", "date": "2026-01-02"} for figure in PARTS["scale"].figures}
    runs.save({"settings": {}, "ran": ran}, page.saved_claims("scale", tmp_path))
    ran = {"1": {"code": "now-refine", "date": "2026-01-02"}, "2": {"code": "then", "date": "2026-01-01"}}
    then = PARTS["refine"].modules() | {"rothko.data.line": "then", "rothko.gone": "then"}
    runs.save({"settings": {}, "ran": ran, "code": {"then": then}}, page.saved_claims("refine", tmp_path))
    experiments.main(["code"])
    told = capsys.readouterr().out.splitlines()
    assert "scale       now-scale  all by this code on 2026-01-02" in told
    refined = "1 by this code on 2026-01-02; 2 by other code, then on 2026-01-01"
    assert f"refine      now-refine  {refined}" in told
    assert "            then differs in rothko.data.line, rothko.gone" in told
    assert len(told) == len(PARTS) + 1
