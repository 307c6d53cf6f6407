"""Golden cases of set-valued records: methods, options, files, utilities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rothko as rk
from tests.golden import data
from tests.golden.ran import Case, Run
from tests.golden.releases import SEED, turn

SET_METHODS: dict[str, Any] = {
    "set-mondrian": {},
    "set-mondrian even": {"criterion": "even"},
    "set-mondrian entropy": {"criterion": "entropy"},
    "set-cluster": {},
    "set-cluster all": {"search": "all"},
    "set-cluster random": {"search": "random", "candidates": 5},
    "set-iterative": {"tables": 3},
    "set-iterative all": {"search": "all", "rounds": 2},
    "set-two-phase": {},
    "set-k1": {},
    "set-k1 lsh": {"search": "lsh", "tables": 2},
    "set-k1 all": {"search": "all", "noise": 0.1},
}
SET_SOURCES: dict[str, dict[str, Any]] = {
    "baskets.txt": {},
    "baskets.parquet": {"form": "list"},
    "long.csv": {"record": "who", "item": "what"},
    "long.parquet": {"record": "who", "item": "what", "worth": "worth"},
    "marks.csv": {"form": "boolean"},
    "commas.txt": {"delimiter": ","},
    "people.csv": {"form": "table", "columns": ("age", "job", "town", "grade"), "bins": {"age": 10}},
    "people.parquet": {"form": "table", "columns": ("age", "job", "smoker"), "bins": {"age": 5}},
    "people.feather": {"form": "list", "column": "tags"},
}
SET_ENDINGS = (".txt", ".parquet", ".csv", ".tsv", ".arrow", ".txt.gz")


def sets() -> Iterator[Case]:
    """Set-valued records: methods, options, files, utilities."""

    def case(
        name: str, method: str, source: str, ending: str, k: int, *, utility: bool = False, quick: bool = False,
        **more: Any,
    ) -> Case:  # fmt: skip
        def make(run: Run) -> None:
            reading = rk.sets.Reading(**SET_SOURCES[source], **more)
            made = rk.sets.anonymize(
                run.data / source, k=k, method={method.split()[0]: SET_METHODS[method]}, reading=reading, seed=SEED,
                utility=run.data / "utility.csv" if utility else None, threads=run.threads,
            )  # fmt: skip
            run.saved(made.save(run.out / f"release{ending}"))
            run.text("classes", repr(sorted(made.classes.tolist())))

        return Case(f"sets/{name}", make, quick)

    plain = ("baskets.txt", "baskets.parquet", "long.csv", "marks.csv", "commas.txt")
    for method in SET_METHODS:
        for k in (3, 12):
            name = f"{method} {k}"
            yield case(
                name, method, turn(name, "source", plain), turn(name, "ending", SET_ENDINGS), k, utility=k == 12,
                quick=k == 12 and method in ("set-mondrian", "set-cluster", "set-iterative", "set-two-phase", "set-k1"),
            )  # fmt: skip
    for source in SET_SOURCES:
        for ending in (".csv", turn(source, "ending", (".txt", ".parquet")) if "people" not in source else ".parquet"):
            yield case(
                f"{source}{ending}",
                turn(source + ending, "method", ("set-mondrian", "set-two-phase")),
                source,
                ending,
                5,
            )
    for method in ("set-mondrian", "set-two-phase", "set-k1"):
        foods = rk.Hierarchy.from_nested(data.FOODS)
        yield case(f"hierarchy {method}", method, "baskets.txt", ".txt", 5, hierarchy=foods)

    def command(run: Run) -> None:
        told = ("--threads", run.threads, "--seed", SEED)
        out = run.out / "json.parquet"
        run.command(
            "json", "sets", run.data / "baskets.txt", "--out", out, "--k", 6, "--utility", run.data / "utility.csv",
            "--method", "set-mondrian", "--option", "criterion=entropy", "--hierarchy", run.data / "foods.csv",
            "--json", *told,
        )  # fmt: skip
        run.file(out)
        run.command(
            "shown",
            "sets",
            run.data / "long.csv",
            "--record",
            "who",
            "--item",
            "what",
            "--out",
            run.out / "a.csv",
            *told,
        )
        run.file(run.out / "a.csv")
        run.command(
            "k1",
            "sets",
            run.data / "commas.txt",
            "--delimiter",
            ",",
            "--method",
            "set-k1",
            "--out",
            run.out / "b.txt",
            *told,
        )
        run.file(run.out / "b.txt")
        run.command("exists", "sets", run.data / "commas.txt", "--delimiter", ",", "--out", run.out / "b.txt", *told)
        run.command("too few", "sets", run.data / "baskets.txt", "--k", 1000, "--out", run.out / "c.txt", *told)

    def compare(run: Run) -> None:
        told = ("--threads", run.threads, "--utility", run.data / "utility.csv")
        methods = "set-mondrian criterion=even,set-two-phase,set-k1"
        run.command(
            "json",
            "compare",
            run.data / "baskets.txt",
            "--sets",
            "--method",
            methods,
            "--k",
            "3,9,999",
            "--json",
            *told,
        )
        run.command(
            "shown", "compare", run.data / "baskets.parquet", "--sets", "--method", methods, "--k", "3,9", *told
        )

    yield Case("sets/command", command, quick=True)
    yield Case("sets/compare", compare, quick=True)


GROUPS = (sets,)
