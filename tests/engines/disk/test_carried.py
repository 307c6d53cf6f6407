"""Which classes of a range go on to the next one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.survey.coded import Coded
from rothko.engines.disk.carried import SHARE, dearest, rooms, without_dearest
from rothko.engines.part import Part
from rothko.methods.classes import LocalClasses
from rothko.methods.curve.segments import Segment
from tests.strategies.tables import Case, cases, classes, unhurried


@given(cases(), st.integers(1, 6), st.integers(0, 30), st.integers(0, 9))
@settings(unhurried, max_examples=60)
def test_the_classes_that_lose_most_go_and_all_others_stay(case: Case, count: int, room: int, seed: int) -> None:
    encoded = case.encoded()
    drawn = np.random.default_rng(seed).integers(0, count, encoded.rows)
    _, class_of = np.unique(drawn, return_inverse=True)
    found = LocalClasses.of(encoded, class_of, int(class_of.max()) + 1)
    kept = pa.table({"record": np.arange(encoded.rows)})
    values = {name: codes for name, (codes, _) in encoded.sensitive.items()}
    part, gone = without_dearest(
        Part(encoded, found, kept, 3), Coded(encoded.codes, values, kept), encoded.lines, room
    )  # fmt: skip
    dear = dearest(found, encoded.lines, min(room, int(SHARE * encoded.rows)))
    numbers = part.kept["record"].to_numpy()
    assert part.leaf == 3
    assert (part.encoded.codes == encoded.codes[:, numbers]).all()
    stay = [members for members, goes in zip(classes(found), dear, strict=True) if not goes]
    assert [sorted(numbers[members].tolist()) for members in classes(part.partition)] == [sorted(one) for one in stay]
    alone = LocalClasses.of(part.encoded, part.partition.class_of(), part.classes)
    assert part.partition.gcp(encoded.lines) == alone.gcp(encoded.lines)
    assert sorted([*numbers, *gone.kept["record"].to_pylist()]) == list(range(encoded.rows))
    assert gone.rows <= min(room, SHARE * encoded.rows)

    weight = np.array([line.weight for line in encoded.lines])
    lost = (found.widths(encoded.lines) * weight).sum(axis=1)
    assert min(lost[dear], default=np.inf) >= max(lost[~dear], default=0) - 1e-12 or not dear.any()
    assert (lost[dear] > 0).all()
    left = np.flatnonzero(~dear & (lost > 0))
    if len(left):  # the next one was too many
        first = left[np.argmax(lost[left])]
        assert found.sizes[dear].sum() + found.sizes[first] > min(room, int(SHARE * encoded.rows))


def test_segments_hand_on_as_much_as_the_next_one_has_room_for() -> None:
    segments = [Segment(0, 100, True), Segment(1, 70), Segment(2, 120), Segment(3, 90), Segment(4, 100)]
    assert rooms(segments, 100) == {1: 10, 3: 0, 4: 0}
    assert rooms(segments[:1], 100) == {}
    assert rooms([], 100) == {}
