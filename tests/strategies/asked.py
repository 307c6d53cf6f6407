"""Requirements to draw from: every kind, about a column of few numbers, with bounds that small classes meet or miss."""

from __future__ import annotations

from hypothesis import strategies as st

from rothko.privacy import (
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    FrequencyLDiversity,
    KAnonymity,
    PAlpha,
    PSensitive,
    RecursiveLDiversity,
    Requirement,
    SquaredErrorDiversity,
    TCloseness,
    VarianceDiversity,
)

NUMBERS = (0, 1, 5, 10)
"""The values of a sensitive column; a record may also have none."""
CATEGORIES = {"0": "low", "1": "low", "5": "high", "10": "high"}
TREES = (
    {"low": ["0", "1"], "high": ["5", "10"]},
    ["0", {"any": ["1", {"more": ["5", "10"]}]}],
    {"all": {"small": ["0", "1", "5"], "odd": ["10"]}, "never": ["77"]},
)


def requirements(of: str = "s") -> dict[str, st.SearchStrategy[Requirement]]:
    """Policy name → requirements of that kind. A new one belongs here: the tests then hold it to their rules."""
    column = st.just(of)
    whole = st.integers(2, 4)
    shares = st.sampled_from((0, 0.1, 0.15, 0.25, 1 / 3, 0.5, 1))
    real = st.sampled_from((1.5, 2, 2.5, 3, 4, 4 / 3))
    closeness = st.one_of(
        st.builds(TCloseness, t=shares, of=column, distance=st.sampled_from(("equal", "ordered"))),
        st.builds(
            TCloseness,
            t=shares,
            of=column,
            distance=st.just("hierarchy"),
            hierarchy=st.sampled_from([{"tree": tree} for tree in TREES]),
        ),
    )
    return {
        "k-anonymity": st.builds(KAnonymity, k=st.integers(2, 6)),
        "distinct-l-diversity": st.builds(DistinctLDiversity, l=whole, of=column),
        "entropy-l-diversity": st.builds(EntropyLDiversity, l=real, of=column),
        "recursive-l-diversity": st.builds(
            RecursiveLDiversity, c=st.sampled_from((0.5, 1, 1.5, 2, 3)), l=st.integers(1, 4), of=column
        ),
        "frequency-l-diversity": st.builds(FrequencyLDiversity, l=real, of=column),
        "alpha-k": st.builds(
            AlphaK, alpha=st.sampled_from((0.3, 0.4, 0.5, 2 / 3, 0.75, 1)), k=st.integers(2, 5), of=column
        ),
        "p-sensitive": st.builds(PSensitive, p=whole, k=st.integers(2, 5), of=column),
        "p-alpha": st.builds(PAlpha, p=st.integers(2, 3), categories=st.just(CATEGORIES), of=column),
        "t-closeness": closeness,
        "variance-diversity": st.builds(VarianceDiversity, v=st.sampled_from((0, 0.25, 4, 12.5, 25)), of=column),
        "squared-error-diversity": st.builds(
            SquaredErrorDiversity, error=st.sampled_from((0, 0.5, 10, 50, 62.5)), of=column
        ),
    }


def any_requirement(of: str = "s") -> st.SearchStrategy[Requirement]:
    """A requirement of any kind."""
    return st.one_of(*requirements(of).values())
