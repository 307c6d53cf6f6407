"""Golden cases of the command line, and of the transformer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rothko as rk
from tests.golden import data
from tests.golden.ran import Case, Run, plain
from tests.golden.releases import REQUIREMENTS, SEED, WORKED, WORKLOADS, names_of, policy, turn


def commands() -> Iterator[Case]:
    """Every command, with what it prints and writes."""

    def prepared(run: Run, *, source: str = "people.csv", privacy: str = "several", **rest: Any) -> tuple[Path, Path]:
        """A policy file, and a release that was made by the command line."""
        asked = rk.Policy(**policy(WORKED, REQUIREMENTS[privacy], names=names_of(source), **rest))
        path = run.out / "policy.yaml"
        asked.save(path)
        return run.data / source, path

    def anonymized(run: Run, *options: object, ending: str = ".csv", **rest: Any) -> tuple[Path, Path, Path]:
        source, path = prepared(run, **rest)
        made = run.out / f"release{ending}"
        run.command(
            "anonymize", "anonymize", source, "--policy", path, "--out", made, "--seed", SEED, "--key-file",
            run.data / "key", "--threads", run.threads, *options,
        )  # fmt: skip
        return source, path, made

    def anonymize(run: Run) -> None:
        _, path, made = anonymized(run, "--json", ending=".parquet")
        run.file(made)
        run.file(path)

    def told(run: Run) -> None:
        _, _, made = anonymized(run, "--method", "hilbert", "--select", "age > 40", "--publish", "bounds")
        assert not made.exists()  # hilbert takes no workload

    def shown(run: Run) -> None:
        _, _, made = anonymized(run, workload=WORKLOADS["all"])
        run.file(made)

    def quick(run: Run) -> None:
        source = run.data / "people.csv"
        run.command(
            "quick", "anonymize", source, "--qi", "age,smoker,town", "--sensitive", "disease", "--drop", "name",
            "--keep", "note", "--keep-rest", "--k", 6, "--l", 3, "--classify", "disease", "--missing", "007",
            "--out", run.out / "folder", "--threads", run.threads, "--key-file", run.data / "key", "--json",
        )  # fmt: skip
        for path in sorted((run.out / "folder").glob("*.csv")):
            run.file(path)

    def check(run: Run) -> None:
        source, path, made = anonymized(run)
        run.command("release", "check", made, "--policy", path, "--json", "--threads", run.threads)
        run.command("shown", "check", made, "--policy", path, "--threads", run.threads)
        run.command("original", "check", source, "--policy", path, "--json", "--threads", run.threads)
        asked = ("--qi", "age,job", "--sensitive", "disease", "--keep", "name,note", "--keep-rest", "--k", 2, "--l", 2)
        run.command("quick", "check", source, *asked, "--json")

    def measure(run: Run, **rest: Any) -> None:
        source, path, made = anonymized(run, **rest)
        told = ("--threads", run.threads)
        run.command("json", "measure", source, made, "--policy", path, "--json", *told)
        run.command("shown", "measure", source, made, "--policy", path, *told)
        run.command(
            "queries", "measure", source, made, "--policy", path, "--cube", "1,2", "--of", "disease", "--queries", 200,
            "--selectivity", 0.1, "--seed", 4, "--json", *told,
        )  # fmt: skip
        run.command(
            "cube", "measure", source, made, "--policy", path, "--cube", 1, "--of", "disease", "--queries", 50, *told
        )

    def apply(run: Run, *, method: str, publish: str, ending: str) -> None:
        fresh = run.data / f"fresh{'.csv' if ending == '.csv' else '.parquet'}"
        anonymized(run, "--no-recoding", ending=".tsv", method=method, publish=publish)
        source, path = run.data / f"people{fresh.suffix}", run.out / "again.yaml"
        rk.Policy(
            **policy(WORKED, REQUIREMENTS["k"], names=names_of(source.name), method=method, publish=publish)
        ).save(path)
        phi = run.out / "phi.json"
        run.command(
            "recoding", "anonymize", source, "--policy", path, "--out", run.out / f"whole{ending}", "--recoding", phi,
            "--threads", run.threads,
        )  # fmt: skip
        run.file(phi)
        for name, options in (("mixed", ()), ("kept", ("--keep-order",)), ("some", ("--memory", "450MB"))):
            run.command(name, "apply", phi, fresh, "--out", run.out / f"{name}{ending}", *options)
            run.file(run.out / f"{name}{ending}", ordered=name == "kept")
        if method == "refine":
            recoding = rk.Recoding.load(phi)
            run.text("sql", recoding.to_sql("people"))
            recoding.to_hierarchies(run.out / "hierarchies", source)
            for one in sorted((run.out / "hierarchies").iterdir()):
                run.file(one)

    def compare(run: Run) -> None:
        source, path = prepared(run, source="people.parquet", privacy="entropy")
        told = ("--policy", path, "--threads", run.threads, "--seed", 2)
        run.command(
            "several k", "compare", source, *told, "--method", "mondrian,hilbert,topdown", "--k", "3,8,500", "--json"
        )
        run.command(
            "several l", "compare", source, *told, "--method", "mondrian,hilbert-fast,cluster", "--l", "2,3", "--json"
        )
        run.command("bound", "compare", source, *told, "--method", "mondrian,refine", "--max-loss", 0.4, "--json")
        run.command("shown", "compare", source, *told, "--method", "mondrian,idistance centres=9", "--k", "3,8")

    def written(run: Run) -> None:
        source, path = prepared(run, source="people.parquet", privacy="entropy")
        run.command(
            "out", "compare", source, "--policy", path, "--method", "mondrian,hilbert", "--k", "3,9", "--out",
            run.out / "found", "--no-plots", "--threads", run.threads,
        )  # fmt: skip
        run.text("files", "\n".join(sorted(path.name for path in (run.out / "found").iterdir())))
        run.file(run.out / "found" / "results.json")

    def plan(run: Run) -> None:
        told = ("plan", "--rows", "1e9", "--columns", 9, "--memory", "2GB", "--no-calibration")
        run.command("json", *told, "--k", 100, "--json")
        run.command("shown", *told, "--k", 100, "--test", "normal", "--alpha", 0.01)
        run.command("small", "plan", "--rows", 5000, "--columns", 3, "--memory", "1GB", "--no-calibration", "--json")
        run.command("none", "plan", "--rows", 5000, "--columns", 3, "--memory", "100MB", "--no-calibration")

    def draft(run: Run) -> None:
        for source in ("people.csv", "people.parquet", "fresh.csv"):
            run.command(f"{source} json", "draft", run.data / source, "--json")
        run.command("shown", "draft", run.data / "people.csv", "--k", 4, "--missing", "007")
        run.command("written", "draft", run.data / "people.feather", "--out", run.out / "drafted.yaml")
        run.file(run.out / "drafted.yaml")

    def in_another_form(run: Run) -> None:
        source, drafted, made = run.data / "comma.csv", run.out / "drafted.yaml", run.out / "release.csv"
        run.command("draft", "draft", source, "--out", drafted)
        run.command(
            "anonymize", "anonymize", source, "--policy", drafted, "--out", made, "--threads", run.threads,
            "--key-file", run.data / "key", "--accept-draft",
        )  # fmt: skip
        run.command("check", "check", made, "--policy", drafted, "--json")
        run.command("measure", "measure", source, made, "--policy", drafted, "--json")
        run.file(drafted)
        run.file(made)

    def generate(run: Run) -> None:
        run.command(
            "agrawal", "generate", "agrawal", "-n", 300, "-o", run.out / "a.csv", "--function", 7, "--noise", 0.1
        )
        run.command("random", "generate", "agrawal", "-n", 300, "-o", run.out / "r.parquet", "--random-constants")
        run.command(
            "census", "generate", "census", "-n", 300, "-o", run.out / "c.parquet", "--policy", run.out / "c.yaml"
        )
        run.command(
            "longtail", "generate", "longtail", "-n", 200, "-o", run.out / "l.txt", "--utility", run.out / "u.csv"
        )
        run.command("list", "generate", "longtail", "-n", 200, "-o", run.out / "l.parquet", "--items", 60, "--mean", 6)
        for path in sorted(run.out.iterdir()):
            run.file(path)

    def report(run: Run) -> None:
        source, path, made = anonymized(run, workload=WORKLOADS["models"])
        page, original = run.out / "page.html", ("--for", "steward", "--original", source, "--policy", path)
        run.command("public", "report", made, "-o", page, "--threads", run.threads)
        run.file(page.with_suffix(".json"))
        run.command("steward", "report", made, "-o", run.out / "steward.html", *original, "--threads", run.threads)
        run.file(run.out / "steward.json")
        run.command("paint", "paint", made, "--by", "disease", "-o", run.out / "painting.json")
        run.file(run.out / "painting.json")

    def schema(run: Run) -> None:
        run.command("schema", "schema")
        run.command("version", "--version")

    def help_of(run: Run) -> None:
        for name in ("draft", "anonymize", "check", "measure", "compare", "evaluate", "apply", "sets", "plan", "demo"):
            run.command(name, name, "--help")
        for name in ("report", "paint"):
            run.command(name, name, "--help")
        for name in ("agrawal", "census", "longtail"):
            run.command(name, "generate", name, "--help")

    def evaluate(run: Run) -> None:
        source, path = prepared(run, source="people.parquet", privacy="k", workload=WORKLOADS["models"])
        told = ("--policy", path, "--folds", 2, "--threads", run.threads, "--json")
        run.command("scores", "evaluate", source, *told, "--models", "tree,bayes,linear", "--rows", 200)

    def mistakes(run: Run) -> None:
        source, path = prepared(run)
        run.command("no policy", "anonymize", source, "--out", run.out / "x.csv")
        run.command("both", "anonymize", source, "--policy", path, "--qi", "age", "--out", run.out / "x.csv")
        run.command("ending", "anonymize", source, "--policy", path, "--out", run.out / "x.docx")
        run.command("no file", "anonymize", run.data / "nobody.csv", "--policy", path, "--out", run.out / "x.csv")
        run.command("unnamed", "anonymize", source, "--qi", "age", "--k", 5, "--out", run.out / "x.csv")
        run.command("k", "anonymize", source, "--qi", "age", "--k", 1, "--out", run.out / "x.csv")
        asked = ("--qi", "age", "--keep-rest", "--drop", "name,note", "--k", 5000)
        run.command("too much", "anonymize", source, *asked, "--out", run.out / "x.csv")
        run.command("onto itself", "anonymize", source, "--policy", path, "--out", source, "--overwrite")
        run.command("engine", "anonymize", source, "--policy", path, "--out", run.out / "x.csv", "--engine", "spork")
        run.command(
            "memory",
            "anonymize",
            source,
            "--policy",
            path,
            "--out",
            run.out / "x.csv",
            "--engine",
            "rothko-t",
            "--memory",
            "50MB",
        )
        run.command("method", "anonymize", source, "--policy", path, "--out", run.out / "x.csv", "--method", "hilbrt")
        run.command(
            "option",
            "sets",
            run.data / "baskets.txt",
            "--option",
            "criterion=odd",
            "--method",
            "set-mondrian",
            "--out",
            run.out / "x.txt",
        )
        run.command(
            "unknown",
            "sets",
            run.data / "baskets.txt",
            "--option",
            "criterium=even",
            "--method",
            "set-mondrian",
            "--out",
            run.out / "x.txt",
        )
        path.write_text("columns:\n  age: {role: quasi}\nprivacy:\n  - k-anonymity: {k: 010}\n", encoding="utf-8")
        run.command("policy", "anonymize", source, "--policy", path, "--out", run.out / "x.csv")
        assert not (run.out / "x.csv").exists()

    yield Case("command/anonymize", anonymize)
    yield Case("command/anonymize shown", shown)
    yield Case("command/anonymize refused", told)
    yield Case("command/anonymize quick", quick)
    yield Case("command/check", check, quick=True)
    yield Case("command/measure", measure, quick=True)
    for publish in ("region", "bounds", "mean"):
        yield Case(f"command/measure {publish}", lambda run, p=publish: measure(run, publish=p))
    for method in ("cluster", "refine"):
        yield Case(f"command/measure {method}", lambda run, m=method: measure(run, method=m))
    for task in ("models", "select", "aggregate"):
        yield Case(f"command/measure for {task}", lambda run, t=task: measure(run, workload=WORKLOADS[t]))
    for method, publish, ending in (
        ("mondrian", "range", ".csv"), ("mondrian", "region", ".parquet"), ("mondrian", "bounds", ".csv"),
        ("refine", "range", ".csv"), ("refine", "region", ".parquet"),
    ):  # fmt: skip
        yield Case(
            f"command/apply {method} {publish}",
            lambda run, m=method, p=publish, e=ending: apply(run, method=m, publish=p, ending=e),
            quick=publish == "range",
        )
    yield Case("command/compare", compare, quick=True)
    yield Case("command/compare written", written)
    yield Case("command/plan", plan, quick=True)
    yield Case("command/draft", draft, quick=True)
    yield Case("command/values in another form", in_another_form, quick=True)
    yield Case("command/generate", generate)
    yield Case("command/report", report, quick=True)
    yield Case("command/schema", schema, quick=True)
    yield Case("command/help", help_of)
    yield Case("command/evaluate", evaluate)
    yield Case("command/mistakes", mistakes, quick=True)


def learning() -> Iterator[Case]:
    """The transformer."""

    def case(regions: str, task: str, **options: Any) -> Case:
        def make(run: Run) -> None:
            table = data.people()
            X = table.select(["age", "height", "job", "smoker"]).to_pandas()
            y = table["disease"].to_pandas() if task == "classify" else table["height"].to_pandas()
            anonymizer = rk.Anonymizer(k=8, regions=regions, seed=3, threads=run.threads, **options)
            made = anonymizer.fit(X, y).transform(X.head(120))
            run.text("names", " ".join(map(str, anonymizer.get_feature_names_out())))
            run.json("made", made.tolist() if isinstance(made, np.ndarray) else plain(made))

        return Case(f"learn/{regions} {task}", make)

    for regions in ("corners", "edges", "midpoint", "mean", "sample", "published"):
        yield case(regions, turn(regions, "task", ("classify", "regress")))


GROUPS = (commands, learning)
