"""Classes by prices: every record is in one of them, what is asked holds, and where there are none."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from rothko.data.encode import Encoded
from rothko.kernels.cluster import price as kernels
from rothko.kernels.cluster.walk import Found as Boxes
from rothko.kernels.cluster.walk import Ladder, Pool, boxes
from rothko.methods import Cluster
from rothko.methods.cluster import price
from rothko.methods.cluster.price import dearest, ladder_of, priced
from rothko.methods.cluster.repair import Effort
from rothko.methods.cluster.room import UNLIMITED, Room, of_block, of_levels, of_member
from rothko.methods.cluster.tuples import Entries, Tuples
from rothko.privacy import FrequencyLDiversity, KAnonymity, Requirement
from tests.strategies.columns import heaped
from tests.strategies.tables import Case

K = (KAnonymity(k=6),)
TREE = {"tree": {"north": ["a", "b"], "south": {"near": ["c"], "far": ["d", "e"]}}}


@cache
def table(rows: int = 400, *, age: bool = True) -> Encoded:
    cells = np.random.default_rng(2)
    columns = {name: cells.choice(list("abcde"), rows, p=[0.4, 0.3, 0.1, 0.1, 0.1]).tolist() for name in "pqr"}
    if age:
        columns["age"] = cells.integers(20, 70, rows).tolist()
    specs = {name: {} if name == "age" else {"hierarchy": TREE} for name in columns}
    return Case(columns, specs, K).encoded()


def grown(encoded: Encoded, asked: tuple[Requirement, ...] = K) -> tuple[Tuples, Entries]:
    tuples = Tuples.of(encoded, asked, threads=1)
    return tuples, tuples.entries(Cluster(repair=False).partition(encoded, asked))


def made_anew(
    tuples: Tuples, entries: Entries, most: int = 1 << 30, room: Room = UNLIMITED
) -> tuple[Entries | None, Entries]:
    some, pieces, rest = dearest(tuples, entries, most, turn=1, threads=1)
    effort = Effort.for_table(tuples)
    made = priced(tuples, some, pieces, effort, turn=1, seed=0, threads=1, over=lambda: False, room=room)
    return made and made[0], rest


def held(entries: Entries, count: int) -> list[int]:
    return np.bincount(entries.tuples, weights=entries.amounts, minlength=count).astype(int).tolist()


def test_every_record_is_in_one_class_and_every_class_holds() -> None:
    tuples, entries = grown(table())
    found, rest = made_anew(tuples, entries)
    assert found is not None
    assert rest.count == 0
    assert held(found, tuples.count) == tuples.counts.tolist()
    assert np.bincount(found.classes, weights=found.amounts).min() >= 6
    assert tuples.partition(found).gcp(table().lines) != tuples.partition(entries).gcp(table().lines)


def test_requirements_hold_for_what_is_priced() -> None:
    encoded = heaped([60, 50, 40, 30], seed=1)
    tuples, entries = grown(encoded, (KAnonymity(k=5), FrequencyLDiversity(l=2, of="disease")))
    found, _ = made_anew(tuples, entries)
    assert found is not None
    classes = tuples.partition(found)
    values = encoded.sensitive["disease"].codes[classes.order]
    for begin, end in zip(classes.starts, classes.starts[1:], strict=False):
        assert end - begin >= 5
        assert np.bincount(values[begin:end]).max() * 2 <= end - begin


def test_of_a_large_table_the_dearest_blocks_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price, "BLOCK", 100)
    tuples, entries = grown(table())
    some, pieces, rest = dearest(tuples, entries, 200, turn=1, threads=1)
    assert [begin for begin, _ in pieces] == [0, pieces[0][1]]
    assert pieces[-1][1] == len(some.tuples)
    together = np.add(held(some, tuples.count), held(rest, tuples.count))
    assert together.tolist() == tuples.counts.tolist()
    assert price._costs(tuples, some).mean() > price._costs(tuples, rest).mean()
    found, _ = made_anew(tuples, entries, 200)
    assert found is not None
    assert held(found, tuples.count) == held(some, tuples.count)


def test_of_too_many_boxes_those_that_were_found_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    tuples, entries = grown(table())
    monkeypatch.setattr(price, "LOOKS", 20)
    monkeypatch.setattr(kernels, "dive", None)
    found, _ = made_anew(tuples, entries)
    assert found is not None
    assert held(found, tuples.count) == tuples.counts.tolist()
    assert np.bincount(found.classes, weights=found.amounts).min() >= 6
    assert tuples.partition(found).gcp(table().lines) < tuples.partition(entries).gcp(table().lines)


def test_all_boxes_are_found_in_parts_and_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    tuples, entries = grown(table())
    ladder = ladder_of(tuples)
    assert ladder is not None
    _, pool = price._pool_of(tuples, ladder, entries)
    first, top = np.zeros_like(ladder.top), ladder.top
    monkeypatch.setattr(price, "REACHES", (1.05,))
    whole, _, looked = boxes(tuples.lines, ladder, pool, 6, 1.05, 1 << 20, 1 << 40, first, top)
    found, all_of_them, _ = price._boxes(tuples, ladder, pool, price.MOST, 1)
    assert all_of_them
    assert members(found) == members(whole)
    for name, least, most in (("LOOKS", 10, looked // len(pool.amounts)), ("MOST", 100, len(whole.tuples) - 1)):
        for limit in (least, most):
            with monkeypatch.context() as limited:
                limited.setattr(price, name, limit)
                some, all_of_them, _ = price._boxes(tuples, ladder, pool, price.MOST, 1)
                assert not all_of_them
                assert members(some) < members(whole)
                alike(price._boxes(tuples, ladder, pool, price.MOST, 3)[0], some)


def test_of_too_many_boxes_fewer_count(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = table(age=False)
    tuples, entries = grown(encoded)
    ladder = ladder_of(tuples)
    assert ladder is not None
    _, pool = price._pool_of(tuples, ladder, entries)
    first, top, n = np.zeros_like(ladder.top), ladder.top, len(pool.amounts)
    one, other = (boxes(tuples.lines, ladder, pool, 6, reach, 1 << 20, 1 << 40, first, top) for reach in (9.0, 0.3))
    assert members(other[0]) < members(one[0])
    monkeypatch.setattr(price, "REACHES", (9.0, 0.3))
    monkeypatch.setattr(price, "FAR", 0)
    for name, limit in (("LOOKS", one[2] // n), ("MOST", len(one[0].tuples) - 1)):
        with monkeypatch.context() as limited:
            limited.setattr(price, name, limit)
            found, all_of_them, _ = price._boxes(tuples, ladder, pool, price.MOST, 1)
            assert all_of_them
            assert members(found) == members(other[0])
            alike(price._boxes(tuples, ladder, pool, price.MOST, 3)[0], found)


def test_where_no_reach_would_end_only_the_lowest_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tuples, entries = grown(table())
    ladder = ladder_of(tuples)
    assert ladder is not None
    _, pool = price._pool_of(tuples, ladder, entries)
    asked: list[tuple[float, int]] = []
    walked = price._walked

    def told(*given: Any, short: bool) -> tuple[list[Boxes], int, bool]:
        asked.append((given[4], given[6]))
        return walked(*given, short=short)

    monkeypatch.setattr(price, "_walked", told)
    monkeypatch.setattr(price, "LOOKS", 40)
    monkeypatch.setattr(price, "FAR", 1.1)
    some, whole, endless = price._boxes(tuples, ladder, pool, price.MOST, 1)
    alike(price._boxes(tuples, ladder, pool, price.MOST, 3)[0], some)
    assert endless
    assert not whole
    reaches, looks = zip(*asked[:2], strict=True)
    assert reaches == (price.REACHES[0], price.REACHES[-1])
    assert looks[1] <= looks[0] == 10 * len(pool.amounts)
    asked.clear()
    monkeypatch.setattr(price, "FAR", 0)
    price._boxes(tuples, ladder, pool, price.MOST, 1)
    assert [reach for reach, _ in asked] == [price.REACHES[0], *price.REACHES]
    assert [looks // len(pool.amounts) for _, looks in asked[2:]] == [40, 40, 40]


def alike(one: Boxes, other: Boxes) -> None:
    for a, b in zip(one, other, strict=True):
        assert a.tolist() == b.tolist()


def members(found: Boxes) -> set[tuple[int, ...]]:
    """The tuples of each box, and what it costs."""
    ends = found.begin.tolist()
    return {
        (int(cost), *sorted(found.tuples[begin:end].tolist()))
        for cost, begin, end in zip(found.cost, ends, ends[1:], strict=False)
    }


def test_there_are_none_where_they_would_take_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    tuples, entries = grown(table())
    monkeypatch.setattr(price, "LARGEST", 10)
    assert ladder_of(tuples) is None
    assert made_anew(tuples, entries)[0] is None
    monkeypatch.setattr(price, "MOST_LINES", 3)
    assert ladder_of(tuples) is None
    assert (Cluster().partition(table(), K).sizes >= 6).all()


def test_fewer_boxes_are_kept_in_less_room(monkeypatch: pytest.MonkeyPatch) -> None:
    tuples, entries = grown(table())
    kept: list[tuple[int, int]] = []
    look = price._boxes

    def looked(tuples: Tuples, ladder: Ladder, pool: Pool, most: int, threads: int) -> tuple[Boxes, bool, bool]:
        found, whole, endless = look(tuples, ladder, pool, most, threads)
        kept.append((most, len(found.tuples)))
        return found, whole, endless

    monkeypatch.setattr(price, "_boxes", looked)
    ladder = ladder_of(tuples)
    assert ladder is not None
    fixed = ladder.node.nbytes + ladder.cost.nbytes + of_block(400, 4, 6)
    rooms = [Room(), Room(fixed + 500 * of_member(6)), Room(fixed + 100 * of_member(6)), Room(fixed)]
    assert rooms[-1].fits(2 * of_levels(tuples.encoded.lines))
    made = [made_anew(tuples, entries, room=room)[0] for room in rooms]
    assert [most for most, _ in kept] == [price.MOST, 500, 100], "without any room boxes are not looked for"
    assert all(found <= most for most, found in kept)
    assert kept[0][1] > 500
    for found in made:
        assert found is not None
        assert held(found, tuples.count) == tuples.counts.tolist()
        assert np.bincount(found.classes, weights=found.amounts).min() >= 6
    assert made_anew(tuples, entries, room=Room(2 * of_levels(tuples.encoded.lines) - 1))[0] is None
