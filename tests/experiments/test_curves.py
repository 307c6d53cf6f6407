"""Small runs of the experiments on curves, and their claims."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from experiments import curve_figures, curves, survey
from experiments.claims import checked, table
from experiments.curve_claims import CLAIMS, SURVEYED
from experiments.curve_measures import (
    at_most,
    below,
    falls,
    mostly_ahead,
    rises_then_falls,
    small_classes,
    steady,
    within,
)
from experiments.curves import MADE_UP, Curves, Runs, adult, anatomised, divergence
from experiments.figures import Panel
from experiments.survey import grouped
from experiments.widest import WIDEST, Widest
from rothko.data.encode import encode
from rothko.data.source.open import open_source
from rothko.data.typed import typed
from rothko.in_memory import in_memory
from rothko.plots.model import Points
from tests.experiments.drawn import draw


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like that of real tables, with made-up people."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "adult/hierarchies").mkdir(parents=True)
    stream = np.random.default_rng(0)
    columns: dict[str, Any] = {
        "age": stream.integers(17, 90, 400),
        "salary-class": stream.choice(["<=50K", ">50K"], 400),
    }
    for name in curves.ADULT:
        if name != "age":
            columns[name] = stream.choice(list("abcd"), 400)
            rows = "\n".join(f"{value};{group};*" for value, group in zip("abcd", "xxyy", strict=True))
            (folder / f"adult/hierarchies/adult_hierarchy_{name}.csv").write_text(rows + "\n", "utf-8")
    csv.write_csv(pa.table(columns), folder / "adult/adult_arx.csv")
    return folder


def test_from_run_to_picture(data: Path, tmp_path: Path) -> None:
    results = json.loads(json.dumps(curves.run(Curves.quick(data))))
    assert set(results["figures"]) == set(curves.FIGURES)
    assert results["settings"]["data"] is True
    assert set(results["figures"]["13"]["gcp"]) == {*curves.ALL, *curves.BY_PAPER}
    assert set(results["figures"]["13"]["seconds"]) == set(curves.ALL) - {WIDEST}
    assert set(results["figures"]["15"]["gcp"]) == set(curves.ALL) - {"topdown"}
    rows = checked(results, CLAIMS)
    assert table(rows)
    assert not [row for row in rows if row["measured"].startswith("not run: Fig.")]
    assert all(row["reason"] for row in rows if row["holds"] is False)
    assert set(curve_figures.DRAWN) == set(curves.FIGURES)
    assert draw(results, tmp_path, curve_figures.DRAWN, prefix="curve") == "curve-12"


def test_the_figure_of_real_data_is_left_out_without_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert curves.run(Curves.quick(), ["12"])["figures"] == {}
    assert "it needs --data" in capsys.readouterr().out


def test_quasi_identifiers_of_adult(data: Path) -> None:
    _, policy = adult(data)
    assert set(policy.quasi_identifiers) == set(curves.ADULT)
    assert policy.columns["age"].hierarchy is None
    assert all(policy.columns[name].hierarchy is not None for name in curves.ADULT if name != "age")


def test_fewer_dimensions_leave_attributes_out() -> None:
    policy = MADE_UP.policy(3, l=4)
    assert policy.quasi_identifiers == ("age", "gender", "education")
    assert policy.identifiers == ("marital_status", "race", "work_class", "country")
    assert [requirement.describe() for requirement in policy.privacy] == [
        "frequency-l-diversity of occupation with l = 4"
    ]


@pytest.mark.parametrize("values", [10, 30, 50])
def test_neighbouring_sensitive_values_are_made_one(values: int) -> None:
    people = MADE_UP.people(5_000)
    before, after = (table["occupation"].to_pylist() for table in (people, grouped(people, values)))
    pairs = sorted(set(zip(before, after, strict=True)))
    assert len(pairs) == 50
    assert [group for _, group in pairs] == sorted(group for _, group in pairs)
    assert len(set(after)) == values


def test_topdown_is_not_given_more_than_it_can_do() -> None:
    runs = Runs(1, slow_classes=39)
    runs(5, MADE_UP.people(200), MADE_UP.policy(k=5), ["topdown", "mondrian"])
    assert list(runs.found["gcp"]) == ["mondrian"]
    assert list(runs.found["refused"]) == ["topdown"]
    runs = Runs(1, slow_classes=40)
    runs(5, MADE_UP.people(200), MADE_UP.policy(k=5), ["topdown"])
    assert list(runs.found["gcp"]) == ["topdown"]


def test_two_tables_have_every_record_and_value() -> None:
    policy = MADE_UP.policy(2, l=3)
    two = anatomised(MADE_UP.people(600), policy)
    assert two.records.num_rows == 600
    assert sum(two.values["count"].to_pylist()) == 600
    assert two.records.column_names == ["age", "gender", "group"]
    per_group = np.bincount(two.values["group"].to_numpy(), weights=two.values["count"].to_numpy())
    assert (per_group == np.bincount(two.records["group"].to_numpy())).all()
    assert per_group.min() >= 3
    assert (two.values["count"].to_numpy() * 3 <= per_group[two.values["group"].to_numpy()]).all()


def test_divergence_by_level_is_that_of_a_release() -> None:
    from rothko.metrics.cube import cube_divergence

    policy, people = MADE_UP.policy(3, l=3), MADE_UP.people(400)
    release = in_memory(open_source(people), policy)
    cube = cube_divergence(people, release, policy, levels=[1, 3], of="occupation")
    assert divergence(people, policy, [1, 3]) == {level.level: level.divergence for level in cube.levels}


def plain(records: list[tuple[int, ...]], lines: Any, allowed: Any) -> list[list[int]]:
    """The paper's Mondrian, one record at a time: the widest attribute alone, at the median or into children."""

    def parts(rows: list[int]) -> list[list[int]]:
        ends = [(min(records[i][a] for i in rows), max(records[i][a] for i in rows)) for a in range(len(lines))]
        widths = [float(line.width(low, high)) for line, (low, high) in zip(lines, ends, strict=True)]
        a = widths.index(max(widths))
        if widths[a] == 0:
            return [rows]
        if lines[a].tree is None:
            middle = sorted(records[i][a] for i in rows)[len(rows) // 2]
            sides = [[i for i in rows if records[i][a] < at] for at in (middle, middle + 1)]
            left = min((side for side in sides if 0 < len(side) < len(rows)), key=lambda s: abs(2 * len(s) - len(rows)))
            cut = [left, [i for i in rows if i not in left]]
        else:
            tree = lines[a].tree
            above = int(tree.lowest(*ends[a]))
            under = [c for c, parent in enumerate(tree.parent) if parent == above]
            cut = [[i for i in rows if tree.low[c] <= records[i][a] <= tree.high[c]] for c in under]
            cut = [some for some in cut if some]
        return [one for some in cut for one in parts(some)] if all(map(allowed, cut)) else [rows]

    return parts(list(range(len(records))))


@pytest.mark.parametrize("privacy", [{"k": 3}, {"k": 9}, {"l": 2}, {"l": 4}])
def test_the_papers_mondrian_is_its_plain_twin(privacy: dict[str, int]) -> None:
    people, policy = MADE_UP.people(240), MADE_UP.policy(**privacy)
    encoded = encode(typed(people, policy), policy)
    values = encoded.sensitive["occupation"].codes.tolist()

    def allowed(rows: list[int]) -> bool:
        most = max(Counter(values[i] for i in rows).values())
        return len(rows) >= privacy.get("k", 1) and most * privacy.get("l", 1) <= len(rows)

    made = Widest().partition(encoded, policy.privacy)
    found = {frozenset(part.tolist()) for part in np.split(made.order, made.starts[1:-1])}
    expected = plain([tuple(record) for record in encoded.codes.T.tolist()], encoded.lines, allowed)
    assert found == {frozenset(part) for part in expected}
    assert len(found) > 1


def test_a_survey_becomes_a_census(tmp_path: Path) -> None:
    (tmp_path / "acs_income_2018").mkdir()
    stream = np.random.default_rng(1)
    columns: dict[str, Any] = {name: stream.choice(list("abc"), 200) for name in survey.COLUMNS}
    columns |= {"Age": stream.integers(17, 90, 200), "Education": stream.choice(survey.EDUCATION, 200)}
    columns |= {
        "Marital Status": stream.choice(["Married", "Widowed"], 200),
        "Workclass": stream.choice(["Federal government employee", "Working without pay"], 200),
        "Place of birth": stream.choice(["Ohio/OH", "Peru", "South America", "Atlantis"], 200),
        "Occupation": stream.choice([f"job {i:03d}" for i in range(120)], 200),
    }
    pq.write_table(pa.table(columns), tmp_path / survey.FILE)
    one = curves.census_of(Curves(tmp_path, census="survey"))
    assert one.people(30).num_rows == 30
    assert one.people(30).equals(one.people(60).slice(0, 30))
    assert max(one.people(200)["education"].to_pylist()) < len(survey.EDUCATION)
    assert one.trees["country"]["tree"] == {
        "elsewhere": ["Atlantis", "South America"], "in the United States": ["Ohio/OH"], "in South America": ["Peru"],
    }  # fmt: skip
    runs = Runs(1, 200)
    runs(3, one.people(200), one.policy(k=3), ["hilbert", WIDEST])
    assert set(runs.found["gcp"]) == {"hilbert", WIDEST}


# ── claims


def loss(**by_method: dict[str, float]) -> dict[str, Any]:
    return {"13": {"gcp": by_method}}


PLACE = ("13", "gcp")


def test_below_at_every_value_that_both_have() -> None:
    good = loss(hilbert={"5": 0.1, "10": 0.2}, mondrian={"5": 0.2, "10": 0.3}, topdown={"5": 0.15})
    assert below(PLACE, ["hilbert"], ["mondrian", "topdown"])(good).holds
    bad = loss(hilbert={"5": 0.1, "10": 0.31}, mondrian={"5": 0.2, "10": 0.3})
    found = below(PLACE, ["hilbert"], ["mondrian", "topdown"])(bad)
    assert found.holds is False
    assert "without topdown" in found.measured
    assert "topdown not at 10" in below(PLACE, ["hilbert"], ["mondrian", "topdown"])(good).measured
    assert below(PLACE, ["hilbert"], ["cluster"])(good).holds is None


def test_a_method_that_did_not_run_makes_a_claim_not_measured() -> None:
    found = loss(hilbert={"5": 0.1, "10": 0.05}, mondrian={"5": 0.2, "10": 0.3})
    for one in (below(PLACE, ["hilbert"], ["mondrian", "topdown"]), falls(PLACE, ["hilbert", "topdown"])):
        assert one(found).holds is None
        assert one(found).measured.startswith("not measured: hilbert")
        assert "without topdown, which did not run here" in one(found).measured
    assert falls(PLACE, ["mondrian", "topdown"])(found).holds is False


def test_what_the_papers_mapping_comes_to_stands_beside() -> None:
    papers = {"hilbert-paper": {"5": 0.3}, "idistance-paper": {"5": 0.4}}
    found = loss(hilbert={"5": 0.1}, idistance={"5": 0.2}, topdown={"5": 0.2}, **papers)
    told = below(PLACE, ["hilbert"], ["idistance", "topdown"])(found)
    assert told.holds, "rothko's own is judged"
    by_paper = "by the paper's mapping hilbert 0.75 of idistance's; hilbert 1.50 of topdown's"
    assert told.measured == f"hilbert 0.50 of idistance's; hilbert 0.50 of topdown's; {by_paper}"


def test_a_lead_is_counted_over_all_cases() -> None:
    ahead, behind = {"2": 0.1}, {"2": 0.3}
    parts = {name: {"hilbert": ahead, "anatomy": behind} for name in ("l", "level", "d")}
    found = {"20": parts | {"rows": {"hilbert": behind, "anatomy": ahead}}}
    assert mostly_ahead(found).holds
    assert mostly_ahead(found).measured == "ahead by l 1 of 1, by level 1 of 1, by d 1 of 1, by rows 0 of 1"
    found["20"]["level"] = found["20"]["d"] = {"hilbert": behind, "anatomy": ahead}
    assert mostly_ahead(found).holds is False


def test_bounds_of_ratios() -> None:
    found = loss(hilbert={"5": 0.2}, mondrian={"5": 0.4})
    assert at_most(PLACE, ["hilbert"], ["mondrian"], 0.5)(found).holds
    assert at_most(PLACE, ["hilbert"], ["mondrian"], 0.49)(found).holds is False
    assert within(PLACE, "hilbert", "mondrian", 2)(found).holds
    assert within(PLACE, "mondrian", "hilbert", 1.9)(found).holds is False
    assert within(PLACE, "mondrian", "cluster", 2)(found).holds is None


def test_courses() -> None:
    found = loss(hilbert={"5": 0.4, "10": 0.3, "20": 0.1}, mondrian={"5": 0.4, "10": 0.5, "20": 0.1})
    assert falls(PLACE, ["hilbert"])(found).holds
    assert falls(PLACE, ["hilbert", "mondrian"])(found).holds is False
    assert falls(PLACE, ["hilbert"], rises=True)(found).holds is False
    assert steady(PLACE, ["hilbert"], 4)(found).holds
    assert steady(PLACE, ["hilbert"], 3.9)(found).holds is False
    assert steady(PLACE, ["anatomy"], 2)(found).holds is None


def test_sizes_of_classes() -> None:
    def found(smallest: int, largest: int) -> dict[str, Any]:
        sizes = {"gcp": 0.1, "smallest": smallest, "largest": largest}
        methods = ("hilbert", "idistance", "topdown")
        return {"12": {part: {method: {"5": number} for method in methods} for part, number in sizes.items()}}

    assert small_classes(found(5, 9)).holds
    assert small_classes(found(5, 10)).holds is False
    assert small_classes(found(4, 9)).holds is False


def test_the_papers_mondrian_is_judged_and_ours_stands_beside() -> None:
    found = loss(hilbert={"5": 0.1}, mondrian={"5": 0.08}, **{WIDEST: {"5": 0.5}})
    told = below(PLACE, ["hilbert"], [WIDEST])(found)
    assert told.holds
    assert told.measured == f"hilbert 0.20 of {WIDEST}'s; hilbert 1.25 of mondrian's"
    both = below(PLACE, ["hilbert"], [WIDEST, "mondrian"])(found)
    assert both.measured == told.measured  # once


def test_what_is_nothing_is_not_drawn_on_a_scale_of_powers() -> None:
    panel = Panel(x="d", log=True)
    curve_figures.lines(panel, {"hilbert": {"2": 0.0, "3": 0.1, "4": 0.2}}, curve_figures.INK)
    [mark] = panel.marks
    assert isinstance(mark, Points)
    assert (mark.label, mark.y) == ("hilbert", (0.1, 0.2))
    assert panel.x == "d (0 at 2: hilbert)"


def test_a_peak_in_the_middle() -> None:
    peak = {"20": {"d": {"hilbert": {"2": 0.1, "4": 0.3, "7": 0.2}}}}
    assert rises_then_falls(peak).holds
    peak["20"]["d"]["hilbert"]["7"] = 0.4
    assert rises_then_falls(peak).holds is False


def test_claims_are_numbered_in_order() -> None:
    ids = [claim.id for claim in CLAIMS]
    assert [claim.id for claim in SURVEYED] == [name for name in ids if not name.startswith("12")]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    assert all(claim.id[:2] in claim.figures for claim in CLAIMS)
