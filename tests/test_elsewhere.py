"""Pages that need more than a folder are followed as well: a server, a bucket, a cluster, Python with tables at hand.

What a page names (a host, a bucket, ``/shared``) is put in the place of what the reader has: a PostgreSQL, an S3
server and a Spark session of the tests.
"""

from __future__ import annotations

import ast
import gzip
import json
import re
import shlex
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import boto3
import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv

import rothko as rk
from experiments.__main__ import _parser
from rothko.generate.patients import patients
from tests.databases import copied_hash, told
from tests.documented import Desk, Made, blocks, desk, elsewhere, made, page, section
from tests.spark import spark
from tests.stores import bucket, s3_server

__all__ = ["bucket", "desk", "made", "s3_server", "spark"]

README = Path(__file__).parent.parent / "README.md"


def visits(rows: int = 400) -> pa.Table:
    """Visits that are 10-anonymous by age and place as they are."""
    i = range(rows)
    return pa.table(
        {
            "age": [30 + n % 4 for n in i],
            "zip": [f"{53100 + n % 2}" for n in i],
            "disease": [("flu", "cold", "asthma")[n % 3] for n in i],
            "year": [2026 - n % 5 // 4 for n in i],
        }
    )


def agree(policy: Path) -> None:
    """Look at a draft, and delete the names that wait for it."""
    policy.write_text(re.sub(r"^confirm:\n(?:  - .*\n)+", "", policy.read_text("utf-8"), flags=re.MULTILINE), "utf-8")


def run(text: str, **at_hand: Any) -> dict[str, Any]:
    """Run the Python of a page that has no prompts, one block after the other."""
    for block in blocks(text, "python"):
        if ">>>" not in block:
            exec(compile(ast.parse(block), "page", "exec"), at_hand)
    return at_hand


def test_databases(desk: Desk, postgres: str) -> None:
    """Addresses of a server and of files; the hash of a table is what the page says how to ask for."""
    table = visits()
    pyarrow.csv.write_csv(table, desk.folder / "visits.csv")
    rows = [tuple(row.values()) for row in table.to_pylist()]
    with sqlite3.connect(desk.folder / "clinic.db") as lite:
        lite.execute("CREATE TABLE visits (age INTEGER, zip TEXT, disease TEXT, year INTEGER)")
        lite.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", rows)
    lite.close()
    (desk.folder / "data").mkdir()
    with duckdb.connect(desk.folder / "data/clinic.db") as duck:
        duck.sql("CREATE TABLE visits AS FROM read_csv('visits.csv', types = {'zip': 'VARCHAR'})")
    values = ", ".join(map(str, rows))
    told(
        postgres,
        "CREATE SCHEMA open",
        "CREATE TABLE visits (age int, zip text, disease text, year int)",
        f"INSERT INTO visits VALUES {values}",
    )
    try:
        here = {"postgresql://ann@host/clinic?": f"{postgres}&", "/data/": f"{desk.folder}/data/"}
        text = elsewhere(page("how-to/databases.md"), here)
        first, rest = text.split("Look at the columns", 1)
        assert desk.follow(first) == 1
        agree(desk.folder / "policy.yaml")
        assert desk.follow(rest) == 3
        [[released]] = told(postgres, "SELECT count(*) FROM open.visits")
        assert released == table.num_rows
        # The page asks for the hash of a table of two columns.
        two = f"{postgres}&table=open.two"
        query = f"{postgres}&query=SELECT age, disease FROM visits"
        rk.anonymize(query, qi=["age"], sensitive="disease", k=5).save(two)
        [asked] = re.findall(r"COPY \((.*)\) TO STDOUT", section(text, "The hash of a table"), re.DOTALL)
        certificate = json.loads((desk.folder / "two.certificate.json").read_text("utf-8"))
        assert copied_hash(postgres, asked.replace("open.visits", "open.two")) == certificate["file_sha256"]
    finally:
        told(postgres, "DROP SCHEMA open CASCADE", "DROP TABLE visits")


def test_object_stores(desk: Desk, made: Made, bucket: str) -> None:
    made("generate patients -n 300 -o patients.parquet", "generate patients -n 300 -o visits.csv")
    (desk.folder / "visits.csv.gz").write_bytes(gzip.compress((desk.folder / "visits.csv").read_bytes()))
    store = boto3.client("s3")
    store.upload_file("patients.parquet", bucket, "patients.parquet")
    store.upload_file("visits.csv.gz", bucket, "visits/2026-01.csv.gz")
    (desk.folder / "policy.yaml").write_text(next(blocks(README.read_text("utf-8"), "yaml")))
    here = {"s3://hospital-open-data/": f"s3://{bucket}/open/", "s3://hospital/": f"s3://{bucket}/"}
    [block] = blocks(elsewhere(page("how-to/object-stores.md"), here), "console")
    assert desk.follow(f"```console\n{block.replace('--out policy.yaml', '--out drafted.yaml')}```\n") == 2
    written = {one["Key"] for one in store.list_objects_v2(Bucket=bucket, Prefix="open/")["Contents"]}
    assert {"open/patients/release.parquet", "open/patients/certificate.json"} <= written
    assert "diagnosis:" in (desk.folder / "drafted.yaml").read_text("utf-8")


def test_engines_on_disk(desk: Desk, made: Made) -> None:
    (desk.folder / "scratch").mkdir()
    made("generate agrawal -n 1000 -o people.parquet", "draft people.parquet -o policy.yaml")
    agree(desk.folder / "policy.yaml")
    here = {"/scratch": "scratch", "512MB": "4GB"}
    assert desk.follow(elsewhere(page("engines.md"), here)) == 1
    certificate = json.loads((desk.folder / "release/certificate.json").read_text("utf-8"))
    assert certificate["engine"]["name"] == "rothko-s"


def test_sets(desk: Desk) -> None:
    text = page("sets.md")
    assert desk.follow(elsewhere(text.partition("## What is published")[0], {"1e5": "2e3"})) == 2
    for name in ("baskets.txt", "utility.csv"):
        (desk.folder / name).unlink()
    assert desk.follow(section(text, "Compare methods")) == 2


def test_what_models_learn(desk: Desk) -> None:
    text = page("evaluate.md")
    first, rest = text.split("## Two protocols")
    [policy] = blocks(first, "yaml")
    (desk.folder / "policy.yaml").write_text(policy, "utf-8")
    assert desk.follow("".join(f"```console\n{block}```\n" for block in blocks(first, "console"))) == 3
    people = pd.read_parquet("people.parquet")
    other = rk.Policy.parse(policy.replace("k: 25", "k: 50"))
    at_hand = {"table": people, "policy": rk.Policy.load("policy.yaml"), "other": other, "rk": rk}
    some = people[:1000]
    at_hand |= {"X": some.drop(columns=["class", "target"]), "y": some["class"]}
    found = run(rest, **at_hand)["search"].cv_results_["mean_test_score"]
    assert [f"{one:.3f}" for one in found] == re.findall(r"0\.\d{3}", section(text, "In a pipeline"))[:3]


def test_spark(desk: Desk, made: Made, spark: Any, bucket: str) -> None:
    text, here = page("spark.md"), desk.folder / "shared"
    for name in ("shared/scratch", "people", "baskets"):
        (desk.folder / name).mkdir(parents=True)
    made("generate agrawal -n 600 -o people/a.parquet", "draft people/ -o policy.yaml")
    agree(desk.folder / "policy.yaml")
    made("generate longtail -n 600 --items 30 --mean 6 --deviation 3 --least 0.02 -o baskets/a.parquet")
    places = {"s3a://bucket/": f"{desk.folder}/", "/shared/": f"{here}/", "spark://host:7077": "local[2]"}
    followed = elsewhere(text, places)
    run(followed, spark=spark, policy="policy.yaml")
    shutil.rmtree(here)
    here.mkdir()
    commands = [block for block in blocks(followed, "console") if "$ rothko" in block]
    assert desk.follow("".join(f"```console\n{block}```\n" for block in commands)) == 4


def test_python_without_prompts(desk: Desk, made: Made) -> None:
    """Blocks that name tables which the reader has."""
    (desk.folder / "data").mkdir()
    made(
        "generate patients -n 200 --seed 1 -o data/2026-01.parquet",
        "generate patients -n 200 --seed 2 -o data/2026-02.parquet",
        "generate longtail -n 400 --items 30 --mean 6 --deviation 3 --least 0.02 -o baskets.txt",
        "generate longtail -n 400 --items 30 --mean 6 --deviation 3 --least 0.02 -o interests.parquet",
    )
    policy = rk.Policy.parse(next(blocks(README.read_text("utf-8"), "yaml")))
    run(page("how-to/several-files.md"), rk=rk)
    run(page("methods/refine.md"))
    for name in ("methods/set-cluster.md", "methods/set-iterative.md", "methods/set-k1.md"):
        run(page(name), rk=rk)
    run(page("report.md"), rk=rk, patients=patients(300), policy=policy)
    assert all((desk.folder / name).exists() for name in ("report.html", "steward.html", "out/report.html"))


def test_python_of_the_readme(desk: Desk, made: Made) -> None:
    """What its comments say is what the lines give."""
    made("generate patients -o patients.csv", "generate agrawal -n 10000 --noise 0.05 -o people.csv")
    (desk.folder / "policy.yaml").write_text(next(blocks(README.read_text("utf-8"), "yaml")))
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    at_hand: dict[str, Any] = {"make_pipeline": make_pipeline, "DecisionTreeClassifier": DecisionTreeClassifier}
    at_hand["next_months_patients"] = pd.read_csv("patients.csv", dtype=str)[:50]
    told_of = 0
    for block in blocks(README.read_text("utf-8"), "python"):
        for line in ast.parse(block).body:
            code = ast.unparse(line)
            said = re.search(rf"^{re.escape(code)}  # ([\dR].*)$", block, re.MULTILINE)
            if said is None:
                exec(code, at_hand)
            else:
                told_of += 1
                assert str(eval(code, at_hand)).startswith(said[1].rstrip("…")), code
    assert told_of == 3


def test_experiments_are_called_as_there() -> None:
    """They take hours; what they are given is what they take."""
    [block] = blocks(page("experiments.md"), "console")
    lines = [shlex.split(line.removeprefix("$ "), comments=True) for line in block.splitlines()]
    ours = [words[3:] for words in lines if words[:3] == ["python", "-m", "experiments"]]
    of_make = [words[2:] for words in lines if words[:2] == ["make", "experiments"]]
    ours += [["all", *given.removeprefix("ARGS=").split()] for words in of_make for given in words]
    assert len(ours) >= 5
    for words in ours:
        _parser().parse_args(words)
