"""The views, asked as a browser asks them: the whole way, changes and their undoing, and input that is wrong."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from rothko.data.schema import Role
from rothko.policy.policy import Policy
from rothko.report.painting import chosen_sides
from rothko.report.released import read_release
from rothko.studio.desk import REMEMBERED, Desk
from rothko.studio.views import VIEWS
from rothko.studio.views.start import files_below
from rothko.studio.worker import Worker
from tests.studio.served import Client, served, text


def test_a_page_for_each_view(studio: Client) -> None:
    for word, view in VIEWS.items():
        page = studio.http.get(f"/{word}").text
        assert f"<title>{view.title} · rothko studio</title>" in page
        assert f'href="/{word}" aria-current="page"' in page


def test_every_view_answers_without_a_table_and_nothing_is_left(ward: Path) -> None:
    with served(ward, ahead=False) as client:
        for word in VIEWS:
            assert client.http.get(f"/{word}").status_code == 200
            assert client.http.get(f"/part/{word}/main").status_code == 200
        assert "There is no table yet" in client.main("roles")
        assert "There is no table yet" in client.refused("roles/agree", column="*")
        assert "There is no table yet" in client.refused("run/make")
        folder = client.desk.folder
        client.desk.dropped("people.csv").write_text("a,b\n1,2\n")
    assert not folder.exists()


# ── roles


def test_a_role_changes_the_numbers_at_once(studio: Client) -> None:
    before = studio.shows("roles", "Counted in all 400 records")
    assert "100.0% of records are unique" in before
    told = studio.done("roles/role", column="birth_date", role="keep")
    assert "birth_date" in told
    studio.until(lambda: "Counted in all" in studio.main("roles") and "100.0% of records" not in studio.main("roles"))
    exact = float(studio.main("roles").split("% of records are unique")[0].split()[-1])
    assert 0 < exact < 100
    assert studio.desk.policy.columns["birth_date"].role is Role.KEEP
    studio.done("open/undo")
    assert studio.desk.policy.columns["birth_date"].role is Role.QUASI_IDENTIFIER
    assert studio.desk.policy.columns["birth_date"].hierarchy is not None
    studio.done("open/redo")
    assert studio.desk.policy.columns["birth_date"].role is Role.KEEP


def test_what_was_asked_of_a_column_goes_with_its_role(studio: Client) -> None:
    studio.done("purpose/predict", target="diagnosis", task="classify")
    studio.done("roles/role", column="diagnosis", role="identifier")
    assert [one.name for one in studio.desk.policy.privacy] == ["k-anonymity"]
    assert studio.desk.policy.workload == ()


def test_roles_that_cannot_be(studio: Client) -> None:
    assert "no role" in studio.refused("roles/role", column="sex", role="loved")
    assert "no column" in studio.refused("roles/role", column="sexes", role="keep")
    for name in ("birth_date", "sex", "zip"):
        studio.done("roles/role", column=name, role="keep")
    before = studio.desk.policy
    assert "no column is a quasi-identifier" in studio.refused("roles/role", column="education", role="keep")
    assert studio.desk.policy == before


def test_nothing_is_made_before_a_person_agreed(studio: Client) -> None:
    assert studio.desk.policy.confirm
    assert "wait for you" in studio.refused("run/make")
    studio.done("roles/agree", column="*")
    assert not studio.desk.policy.confirm


# ── requirements and uses


def test_requirements_in_sentences(studio: Client) -> None:
    studio.done("requirements/set", at=0, name="k-anonymity", k=7)
    assert studio.desk.policy.privacy[0].k == 7
    assert "at least 6 others" in studio.main("requirements")
    studio.done("requirements/add", name="t-closeness", of="diagnosis")
    assert studio.desk.policy.privacy[-1].t == 0.2
    studio.done("requirements/remove", at=2, name="t-closeness")
    studio.done("requirements/suppress", records="0.02", becomes="left-out")
    assert studio.desk.policy.suppress.becomes == "left-out"
    assert "fall short" in studio.shows("requirements", "Does not hold yet")


@pytest.mark.parametrize(("given", "told"), [
    ({"k": "1"}, "at least 2"),
    ({"k": "many"}, "must be a number"),
    ({"k": "2.5"}, "whole number"),
    ({"at": "9"}, "have changed"),
    ({"at": "-1"}, "at least 0"),
])  # fmt: skip
def test_requirements_that_cannot_be(studio: Client, given: dict[str, str], told: str) -> None:
    before = studio.desk.policy
    assert told in studio.refused("requirements/set", **{"at": "0", "name": "k-anonymity", "k": "5"} | given)
    assert studio.desk.policy == before


def test_other_mistakes_are_sentences(studio: Client) -> None:
    assert "asked of a sensitive column" in studio.refused("requirements/add", name="t-closeness", of="sex")
    assert "asked for already" in studio.refused("requirements/add", name="k-anonymity", of="")
    assert "whole number of them" in studio.refused("requirements/suppress", records="-3", becomes="star")
    assert studio.refused("purpose/select", where="age >=")
    assert "is not a column" in studio.refused("purpose/select", where="agee >= 3")
    assert "at least one method" in studio.refused("purpose/compare", k="5")
    assert "at least 2" in studio.refused("purpose/compare", method="mondrian", k="1, 5")
    assert "memory" in studio.refused("run/make", memory="a lot") or studio.desk.policy.confirm


def test_uses(studio: Client) -> None:
    studio.done("purpose/select", where="sex = 'female'")
    studio.done("purpose/how", method="mondrian", publish="bounds")
    assert studio.desk.policy.publish == "bounds"
    assert [task.describe() for task in studio.desk.policy.workload] == ["select sex = 'female'"]
    studio.done("purpose/remove", at=0, task="select sex = 'female'")
    assert studio.desk.policy.workload == ()


# ── hierarchies


def test_a_tree_is_edited(studio: Client) -> None:
    studio.done("hierarchies/look", column="education")
    studio.shows("hierarchies", "7 values lie on a line")
    some = ["none", "primary", "secondary"]
    studio.done("hierarchies/edit", column="education", do="group", name="school", node=some)
    studio.shows("hierarchies", "What a level costs")
    studio.done("hierarchies/edit", column="education", do="rename", name="at school", node="school")
    studio.shows("hierarchies", "at school")
    studio.done("hierarchies/move", column="education", node="vocational", under="at school")
    studio.shows("hierarchies", "4 below")
    tree = studio.desk.policy.columns["education"].hierarchy.nested
    assert {"at school": ["none", "primary", "secondary", "vocational"]} in tree
    exported = studio.http.get("/file/hierarchies/csv", params={"at": 4}).text
    assert "vocational;at school;*" in exported
    studio.done("hierarchies/edit", column="education", do="ungroup", node="at school")
    studio.drop("education.csv", exported.encode(), "hierarchy:education")
    assert studio.desk.policy.columns["education"].hierarchy.nested == tree


def test_a_hierarchy_with_a_hole_is_told_and_filled(studio: Client) -> None:
    assert studio.drop("e.csv", b"none;low;*\nprimary;low;*\n", "hierarchy:education").status_code == 200
    studio.done("hierarchies/look", column="education")
    told = studio.shows("hierarchies", "5 of 7 values have no leaf")
    assert "bachelor" in told
    studio.done("roles/agree", column="*")
    run = studio.made()
    assert "have no leaf" in run.error
    studio.done("hierarchies/fill", column="education", under="*")
    studio.shows("hierarchies", "What a level costs")


@pytest.mark.parametrize(("given", "told"), [
    ({"kind": "intervals", "value": "5, 10"}, ""),
    ({"kind": "prefix", "value": "1, 3"}, "must fall"),
    ({"kind": "breaks", "value": "x"}, "finite numbers"),
    ({"kind": "dates", "value": "week"}, "is not a unit"),
    ({"kind": "nothing", "value": ""}, "no kind of hierarchy"),
    ({"kind": "mask", "value": "middle"}, "right or left"),
    ({"kind": "order", "value": ""}, "every value once"),
    ({"kind": "flat", "value": "", "weight": "0"}, "weight"),
])  # fmt: skip
def test_kinds_of_hierarchies(studio: Client, given: dict[str, str], told: str) -> None:
    said = {"column": "zip", "weight": "1"} | given
    if told:
        assert told in studio.refused("hierarchies/set", **said)
        return
    studio.done("hierarchies/set", **said)
    studio.done("hierarchies/look", column="zip")
    assert "need numbers" in studio.shows("hierarchies", "need numbers")  # zips are texts here


def test_what_is_dropped_is_named_as_its_owner_does(studio: Client) -> None:
    """And not by where it lies in the private folder."""
    for kind, name, content, told in (
        ("hierarchy:zip", "zips.csv", b"1;a;*\n1;b;*\n", "zips.csv, line 2: the leaf has another path"),
        ("policy", "other.yaml", b"columns: [", "other.yaml, line 1: not valid YAML"),
    ):
        answer = studio.drop(name, content, kind)
        assert answer.status_code == 422
        assert text(answer.text).startswith(told)


def test_a_tree_of_very_many_labels_stands_in_the_file_alone(studio: Client) -> None:
    zips = "".join(f"{at:05d};{at // 100:03d}*;*\n" for at in range(20_000))
    assert studio.drop("zips.csv", zips.encode(), "hierarchy:zip").status_code == 200
    assert "… 20,200 labels …" in studio.main("take-away")
    written = studio.http.get("/file/take-away/policy").text
    assert Policy.parse(written) == studio.desk.policy
    assert "19999" in written


def test_labels_in_an_order_are_shown_in_it(studio: Client) -> None:
    order = ["none", "primary", "secondary", "vocational", "bachelor", "master", "doctorate"]
    studio.done("hierarchies/set", column="education", kind="order", value=", ".join(order), weight="1")
    studio.done("hierarchies/look", column="education")
    studio.shows("hierarchies", "7 values lie on a line")
    page = studio.http.get("/part/hierarchies/tree").text
    assert re.findall(r'data-node="([^"]+)"', page) == order


def test_trees_that_cannot_be(studio: Client) -> None:
    studio.done("hierarchies/look", column="sex")
    studio.shows("hierarchies", "2 values lie on a line")
    edit = "hierarchies/edit"
    assert "Choose a node" in studio.refused(edit, column="sex", do="group", name="all")
    assert "Write a name" in studio.refused(edit, column="sex", do="group", name="", node="male")
    assert "already" in studio.refused(edit, column="sex", do="group", name="female", node="male")
    assert "Only groups" in studio.refused(edit, column="sex", do="rename", name="m", node="male")
    assert "below a value" in studio.refused(edit, column="sex", do="move", under="female", node="male")
    assert "have changed" in studio.refused(edit, column="sex", do="ungroup", node="other").replace("has", "have")
    assert "no quasi-identifier" in studio.refused(edit, column="name", do="group", name="x", node="y")


# ── the release


def test_a_policy_can_be_taken_and_loaded_again(studio: Client, ward: Path) -> None:
    studio.done("requirements/set", at=0, name="k-anonymity", k=5)
    studio.done("roles/agree", column="*")
    taken = studio.http.get("/file/take-away/policy").text
    assert Policy.parse(taken) == studio.desk.policy
    studio.done("take-away/policy", out="mine.yaml", overwrite="yes")
    assert (ward / "mine.yaml").read_text() == taken
    studio.open("patients.csv")
    assert studio.drop("policy.yaml", taken.encode(), "policy").status_code == 200
    assert studio.desk.policy == Policy.parse(taken)
    other = studio.drop("policy.yaml", taken.replace("sex:", "gender:").encode(), "policy")
    assert other.status_code == 422
    assert "not a policy for this table" in other.text
    assert studio.drop("policy.yaml", b"columns: [", "policy").status_code == 422


def test_a_killed_worker_loses_nothing_but_the_run(studio: Client) -> None:
    studio.done("roles/agree", column="*")
    before = studio.desk.policy
    studio.shows("roles", "Counted in all")
    assert studio.desk.looks.pid is not None
    os.kill(studio.desk.looks.pid, signal.SIGKILL)
    studio.done("roles/role", column="sex", role="keep")
    studio.shows("roles", "Counted in all")
    studio.done("open/undo")
    studio.done("run/make", seed="0")
    run = studio.desk.runs[-1]
    studio.until(lambda: studio.desk.makes.pid is not None)
    studio.done("run/cancel")
    studio.until(lambda: not run.going)
    assert run.stopped
    assert not run.folder.exists()
    assert "Cancelled" in studio.main("run")
    studio.done("run/make", seed="0")
    killed = studio.desk.runs[-1]
    os.kill(studio.until(lambda: studio.desk.makes.pid), signal.SIGKILL)
    studio.until(lambda: not killed.going)
    assert "Stopped" in studio.main("run")
    assert "ended from outside" in studio.main("run")
    assert not killed.folder.exists()
    assert studio.desk.policy == before


def test_a_worker_that_cannot_be_started_is_told_of(ward: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_left(worker: Worker) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    with served(ward, ahead=False) as client:
        monkeypatch.setattr(Worker, "start", nothing_left)
        client.done("open/path", path="patients.csv")
        told = client.shows("open", "No process could be started")
        assert os.strerror(errno.EAGAIN) in told


def test_nothing_is_saved_where_nothing_may_be(studio: Client, ward: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studio.desk, "writes", False)
    assert "--no-write" in studio.refused("take-away/policy", out="x.yaml")
    assert "--no-write" in studio.refused("take-away/save", out="x")
    assert not (ward / "x.yaml").exists()
    assert "nothing is saved" in studio.http.get("/take-away").text


def test_another_k_is_painted_over_the_same_columns(studio: Client) -> None:
    """Where others would be chosen for it alone."""
    studio.done("roles/agree", column="*")
    studio.done("purpose/how", method="mondrian", publish="range")
    assert studio.made().error is None
    studio.done("result/if", k=150)
    studio.until(lambda: not studio.desk.makes_now)
    now, other = (read_release(run.release) for run in studio.desk.runs[-2:])
    assert chosen_sides(now, None, None) != chosen_sides(other, None, None)

    def painted(part: str) -> set[str]:
        page: str = studio.until(
            lambda: found if "hung" in (found := studio.http.get(f"/part/result/{part}").text) else ""
        )
        return {
            side.split()[0] for told in re.findall("<title>([^<]*)</title>", page) for side in told.split(" · ")[:2]
        }

    assert painted("painting") == painted("whatif") == {"zip", "education"}


def test_another_table_leaves_nothing_of_the_one_before(studio: Client) -> None:
    studio.done("roles/agree", column="*")
    studio.done("requirements/set", at=0, name="k-anonymity", k=1000)
    run = studio.made()
    assert run.error
    studio.open("patients.csv")
    assert studio.desk.runs == []
    assert "Nothing was made yet" in studio.main("run")
    assert not run.folder.exists()


# ── tables that are wrong


@pytest.mark.parametrize(("content", "told"), [
    (b"", "is empty"),
    (b"a,b,c\n", "no records"),
    (b"a,a\n1,2\n", "2 times"),
    (b"\x00\x01\x02\x00", ""),
])  # fmt: skip
def test_a_file_that_is_no_table_is_told(shared: Client, content: bytes, told: str) -> None:
    shared.drop("wrong.csv", content)
    shared.until(lambda: shared.desk.open_error)
    assert told in str(shared.desk.open_error)
    assert str(shared.desk.open_error) in shared.main("open")
    for word in VIEWS:
        assert shared.http.get(f"/{word}").status_code == 200


def test_five_hundred_columns(shared: Client) -> None:
    names = ",".join(f"c{i}" for i in range(500))
    rows = "\n".join(",".join(str((i * j) % 7) for j in range(500)) for i in range(40))
    shared.drop("wide.csv", f"{names}\n{rows}\n".encode())
    shared.looked()
    for word in VIEWS:
        assert shared.http.get(f"/{word}").status_code == 200
    assert "Counted in all 40 records" in shared.shows("roles", "Counted in all")
    shared.done("roles/role", column="c499", role="identifier")
    assert shared.desk.policy.columns["c499"].role is Role.IDENTIFIER


def test_k_above_the_number_of_records(studio: Client) -> None:
    studio.done("requirements/set", at=0, name="k-anonymity", k=1000)
    assert "Cannot hold. The table has 400 records" in studio.shows("requirements", "no release of it can hold this")
    studio.done("roles/agree", column="*")
    run = studio.made()
    assert "cannot meet k-anonymity with k = 1000" in run.error
    assert "Nothing was released" in studio.main("run")
    assert not run.folder.exists()


def test_a_text_that_is_not_utf8_is_told_of_in_words_of_the_page(shared: Client) -> None:
    rows = "\n".join(f"Müller{i};1,{60 + i % 40};0{1000 + i % 9};Grippe" for i in range(60))
    content = f"Name;Größe;PLZ;Krankheit\n{rows}\n"
    shared.drop("leute.csv", content.encode("latin-1"))
    shared.looked()
    shown = shared.shows("open", "is not UTF-8")
    assert "is read as cp1252; if letters look wrong, name what it is with “Encoding”" in shown
    assert "Größe" in shown
    assert shared.desk.policy.input.encoding == "cp1252"
    shared.drop("leute.csv", content.encode("latin-1") + b"x;1,5;01000;\x81\n")  # which is nothing in cp1252
    shared.until(lambda: shared.desk.open_error)
    assert "“Encoding”: latin-1" in str(shared.desk.open_error)
    shared.done("open/read", encoding="latin-1")
    shared.looked()
    assert "Größe" in shared.main("open")
    shared.done("open/missing", words="n/a, Grippe, n/a")
    assert shared.desk.policy.missing == ("n/a", "Grippe")


def test_a_folder_of_files_is_offered_as_one_table(ward: Path, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / "parts").mkdir(exist_ok=True)
        shutil.copyfile(ward / "patients.csv", tmp_path / "parts" / name)
    assert [name for name, _ in files_below(tmp_path)] == ["parts/", "parts/a.csv", "parts/b.csv"]


def test_a_kind_of_hierarchy_says_what_it_needs(studio: Client) -> None:
    studio.done("hierarchies/look", column="zip")
    studio.done("hierarchies/kind", column="zip", kind="prefix")
    assert studio.desk.policy.columns["zip"].hierarchy.kind == "mask"  # nothing is written yet
    assert "Characters kept, falling" in studio.main("hierarchies")
    studio.done("hierarchies/set", column="zip", kind="prefix", value="3, 1", weight="1")
    assert studio.desk.policy.columns["zip"].hierarchy.kind == "prefix"
    studio.done("hierarchies/kind", column="zip", kind="flat")
    assert studio.desk.policy.columns["zip"].hierarchy.kind == "flat"


def test_dates_that_can_be_read_in_two_ways_are_asked_for(shared: Client) -> None:
    rows = "\n".join(f"{i},{1 + i % 6:02d}/{1 + i % 4:02d}/2024,x" for i in range(60))
    shared.drop("visits.csv", f"age,seen,ward\n{rows}\n".encode())
    shared.looked()
    assert "How the dates of seen are written" in shared.main("open")
    shared.done("open/dates", column="seen", form="date|%d/%m/%Y")
    assert shared.desk.policy.columns["seen"].type.form == "%d/%m/%Y"
    assert "seen" not in shared.desk.policy.confirm


# ── who listens


def test_a_page_is_told_what_it_missed(ward: Path, tmp_path: Path) -> None:
    desk = Desk(ward, tmp_path)
    for name in ("bar", "run", "numbers"):
        desk.tell(name)
    assert desk.changed_since(3) == set()
    assert desk.changed_since(1) == {"run", "numbers"}
    for beyond in (-1, 4):  # of no version, or of that of another studio
        assert desk.changed_since(beyond) == {"page"}
    for _ in range(REMEMBERED):
        desk.tell("run")
    assert desk.changed_since(2) == {"page"}
    assert desk.changed_since(3) == {"run"}
