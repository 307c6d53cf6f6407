"""What is edited and was not saved can be gone on with when the studio has ended."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rothko.policy.policy import Policy
from rothko.studio import unsaved
from rothko.studio.desk import Desk
from rothko.studio.unsaved import LONGEST, Kept
from tests.studio.served import served


def test_a_policy_outlives_the_studio_until_it_is_saved(ward: Path, tmp_path: Path) -> None:
    state = tmp_path / "state" / "rothko"
    with served(ward, keep_in=state, ahead=False) as client:
        client.open("patients.csv")
        assert not state.exists()  # a draft is made anew
        client.done("requirements/set", at=0, name="k-anonymity", k=7)
        client.until(lambda: list(state.glob("*.yaml")))  # soon, not at the end: it may be killed
        client.done("roles/agree", column="*")
        edited = client.desk.policy
    [file] = state.iterdir()
    assert Policy.parse(file.read_text()) == edited
    assert (file.stat().st_mode | state.stat().st_mode) & 0o077 == 0
    with served(ward, keep_in=state, ahead=False) as client:
        client.open("patients.csv")
        assert client.desk.policy != edited  # nobody said that they agree to it for the table as it is now
        assert "was being edited when the studio ended" in client.main("roles")
        client.done("open/go-on")
        assert client.desk.policy == edited
        assert "when the studio ended" not in client.main("roles")
        client.done("open/undo")
        client.desk.keep()
        assert not list(state.iterdir())
        client.done("open/redo")
        client.desk.keep()
        assert list(state.iterdir())
        client.done("take-away/policy", out="kept.yaml", overwrite="yes")
        assert not list(state.iterdir())
    assert not list(state.iterdir())


def test_it_can_be_forgotten_and_belongs_to_one_table(ward: Path, tmp_path: Path) -> None:
    (ward / "others.csv").write_text("a,b\n" + "1,x\n2,y\n" * 30)
    policy = Policy.quick(["a", "b"], qi=["a"], keep=["b"], k=3)
    holds = Kept(tmp_path)
    for name in ("others.csv", "patients.csv"):
        holds.keep(str(ward / name), policy.dump(), dropped=False)
    with served(ward, keep_in=tmp_path, ahead=False) as client:
        client.open("patients.csv")
        assert client.desk.offered is None  # it names other columns
        client.open("others.csv")
        assert client.desk.offered is not None
        client.done("open/forget")
        assert client.desk.offered is None
        assert "Nothing was kept" in client.refused("open/go-on")
    assert len(list(tmp_path.iterdir())) == 1


def test_nothing_is_kept_where_nothing_may_be_written(ward: Path, tmp_path: Path) -> None:
    assert Desk(ward, tmp_path, writes=False, kept=Kept(tmp_path)).kept is None


@pytest.mark.parametrize("home", ["~", "state"])
def test_nothing_is_kept_of_who_has_no_home(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", home)
    assert unsaved.place() is None


def test_what_is_old_or_of_nobody_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    place = unsaved.place()
    assert place == tmp_path / "rothko" / "studio"
    holds = Kept(place)
    policy = Policy.quick(["a", "b"], qi=["a"], keep=["b"], k=3)
    table = str(tmp_path / "visits.csv")
    holds.keep("postgresql://ann@host/clinic?table=visits", policy.dump(), dropped=False)
    holds.keep(table, policy.dump(), dropped=True)
    assert not holds.folder.exists()  # labels of what does not lie on this machine must not stay here
    holds.keep(table, policy.dump(), dropped=False)
    assert holds.find(table, ["a", "b"]) is not None
    [file] = holds.folder.iterdir()
    long_ago = time.time() - LONGEST - 60
    os.utime(file, (long_ago, long_ago))
    assert holds.find(table, ["a", "b"]) is None
    assert not file.exists()
    file.write_text("columns: [")
    assert holds.find(table, ["a", "b"]) is None
    Kept(file).keep(table, policy.dump(), dropped=False)  # no folder can be made there, which is no reason to stop
