"""Bad input: an exit code, one sentence, nothing written, and no cell value in sight."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import resource
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from rothko.privacy import KAnonymity
from rothko.release.release import Release
from rothko.release.verify import Finding, Verification, verify

SECRET = "Zx9-SECRET"
"""A cell value that is in every table and must be in no message."""

HEADER = "name,age,sex,zip,income,disease"
ROWS = [
    f"{SECRET}-{i},{20 + i},{'mf'[i % 2]},0213{i % 10},{1000.5 + i},{(SECRET, 'flu', 'cold')[i % 3]}" for i in range(12)
]
PEOPLE = "\n".join([HEADER, *ROWS]) + "\n"

POLICY = """\
columns:
  name: {role: identifier}
  age: {role: quasi-identifier}
  sex: {role: quasi-identifier}
  zip: {role: keep}
  income: {role: keep}
  disease: {role: sensitive}
privacy:
- k-anonymity: {k: 2}
- distinct-l-diversity: {l: 2, of: disease}
"""

QUICK = "--qi age,sex --sensitive disease --drop name --keep-rest --out out.csv"
BY_POLICY = "anonymize people.csv --policy policy.yaml --out out.csv"
FAR = ROWS * 200
"""Enough rows for the bad one to lie beyond what is sniffed."""

Content = str | bytes | Callable[[Path], object]


@dataclass(frozen=True)
class Case:
    """A command on files, and what it must say."""

    command: str
    says: str
    """A part of the sentence."""
    files: Mapping[str, Content] = field(default_factory=dict)
    code: int = 2


def people(*rows: str, header: str = HEADER) -> dict[str, Content]:
    return {"people.csv": "\n".join([header, *rows]) + "\n"}


def policy(old: str, new: str) -> dict[str, Content]:
    assert old in POLICY
    return {"policy.yaml": POLICY.replace(old, new, 1)}


def hierarchy(*lines: str) -> dict[str, Content]:
    spec = "sex: {role: quasi-identifier, hierarchy: sex.csv}"
    return {**policy("sex: {role: quasi-identifier}", spec), "sex.csv": "\n".join(lines) + "\n"}


def parquet(column: str, values: list[Any]) -> Content:
    return lambda path: pq.write_table(pa.table({column: values, "note": [SECRET] * len(values)}), path)


def cut_short(path: Path) -> None:
    parquet("age", list(range(1000)))(path)
    path.write_bytes(path.read_bytes()[:-100])


def damaged(path: Path) -> None:
    parquet("age", list(range(1000)))(path)
    raw = bytearray(path.read_bytes())
    raw[4:2000] = b"\xff" * 1996
    path.write_bytes(bytes(raw))


def arrow_cut_short(path: Path) -> None:
    feather.write_feather(pa.table({"age": list(range(1000)), "note": [SECRET] * 1000}), path)
    path.write_bytes(path.read_bytes()[:-400])


JUNK = bytes(range(256)) * 20
SHORT = ROWS[3].rsplit(",", 1)[0]
LONG = f"{ROWS[3]},{SECRET}"
BROKEN = f"{ROWS[3]}\udcff"  # one byte that is no UTF-8


def raw(*rows: str) -> dict[str, Content]:
    return {"people.csv": "\n".join([HEADER, *rows, ""]).encode("utf-8", "surrogateescape")}


STRANGE = [row.replace(",m,", f",{SECRET}{i % 2},") for i, row in enumerate(ROWS[::2])]
AGE = "anonymize age.parquet --qi age --drop note --k 2 --out out.parquet"
REFUSED = {
    # the table
    "no file": Case("anonymize nobody.csv --qi age --keep-rest --k 2 --out out.csv", "There is no file 'nobody.csv'"),
    "a folder": Case("anonymize . --qi age --keep-rest --k 2 --out out.csv", "lies in the folder that is read"),
    "a folder without files": Case("check none --qi age --k 2", "has no file that rothko reads", {"none/x.doc": ""}),
    "a pattern that the shell has expanded": Case(
        "evaluate a.csv b.csv --qi age --k 2", "quote a pattern, 'data/*.csv'", {"a.csv": "", "b.csv": ""}
    ),
    "a pattern that nothing matches": Case("check '*.parquet' --qi age --k 2", "No file matches '*.parquet'."),
    "unknown ending": Case(
        "anonymize people.doc --qi age --keep-rest --k 2 --out out.csv",
        "rothko does not know",
        {"people.doc": PEOPLE},
    ),
    "a text that calls itself a workbook": Case(
        "anonymize people.xlsx --qi age --keep-rest --k 2 --out out.csv", "call it .csv", {"people.xlsx": PEOPLE}
    ),
    "a page that calls itself a workbook": Case("check p.xls --qi age --k 2", "web page", {"p.xls": "<html>1</html>"}),
    "half a workbook": Case("draft p.ods", "damaged or cut short", {"p.ods": b"PK\x03\x04" + bytes(99)}),
    "no statistics file": Case("draft p.sav", "is not a .sav file", {"p.sav": PEOPLE}),
    "empty file": Case(f"anonymize people.csv {QUICK} --k 2", "people.csv is empty", {"people.csv": ""}),
    "empty parquet": Case(AGE, "is empty", {"age.parquet": b""}),
    "blank lines only": Case(f"anonymize people.csv {QUICK} --k 2", "no header", {"people.csv": "\n\n"}),
    "header only": Case(f"anonymize people.csv {QUICK} --k 2", "no records", people()),
    "header only, by policy": Case(BY_POLICY, "no records", people()),
    "no rows in parquet": Case(AGE, "no records", {"age.parquet": parquet("age", [])}),
    "one row": Case(f"anonymize people.csv {QUICK} --k 2", "cannot meet k-anonymity with k = 2", people(ROWS[0]), 3),
    "one row, by policy": Case(BY_POLICY, "its 1 records together reach 1", people(ROWS[0]), 3),
    "duplicate columns": Case(
        f"anonymize people.csv {QUICK} --k 2", "'age' 2 times", people(*ROWS, header=HEADER.replace("zip", "age"))
    ),
    "a column without a name": Case(
        f"anonymize people.csv {QUICK} --k 2", "column 4 has no name", people(*ROWS, header=HEADER.replace("zip", ""))
    ),
    "broken UTF-8": Case(f"anonymize people.csv {QUICK} --k 2", "--encoding latin-1", raw(*ROWS, BROKEN)),
    "broken UTF-8 far down": Case(f"anonymize people.csv {QUICK} --k 2", "--encoding latin-1", raw(*FAR, BROKEN)),
    "a field too few": Case(
        f"anonymize people.csv {QUICK} --k 2", "line 14: the line has 5 fields", people(*ROWS, SHORT)
    ),
    "a field too many": Case(
        f"anonymize people.csv {QUICK} --k 2", "line 14: the line has 7 fields", people(*ROWS, LONG)
    ),
    "a field too few far down": Case(f"anonymize people.csv {QUICK} --k 2", "the line has 5", people(*FAR, SHORT)),
    "a field too many far down": Case(f"anonymize people.csv {QUICK} --k 2", "the line has 7", people(*FAR, LONG)),
    "a quote left open": Case(f"anonymize people.csv {QUICK} --k 2", "people.csv", people(*ROWS, f'"{ROWS[0]}', *FAR)),
    "binary junk": Case(f"anonymize people.csv {QUICK} --k 2", "people.csv", {"people.csv": JUNK}),
    "null bytes": Case(
        f"anonymize people.csv {QUICK} --k 2", "not a text file", {"people.csv": PEOPLE.replace("-", "\0").encode()}
    ),
    "junk called gzip": Case(
        "anonymize people.csv.gz --qi age --keep-rest --k 2 --out out.csv", "gzip", {"people.csv.gz": JUNK}
    ),
    "parquet cut short": Case(AGE, "cut short", {"age.parquet": cut_short}),
    "parquet damaged": Case(AGE, "damaged", {"age.parquet": damaged}),
    "text called parquet": Case(AGE, "not a Parquet file", {"age.parquet": PEOPLE}),
    "arrow cut short": Case(
        "anonymize age.arrow --qi age --keep-rest --k 2 --out out.csv", "cut short", {"age.arrow": arrow_cut_short}
    ),
    "infinity in CSV": Case(
        "anonymize people.csv --qi income --drop name --keep-rest --k 2 --out out.csv",
        "'income' has infinite numbers",
        people(*ROWS, ROWS[0].replace("1000.5", "inf")),
    ),
    "infinity far down in CSV": Case(
        "anonymize people.csv --qi income --drop name --keep-rest --k 2 --out out.csv",
        "'income' has infinite numbers",
        people(*FAR, ROWS[0].replace("1000.5", "-inf")),
    ),
    "minus infinity": Case(AGE, "'age' has infinite numbers", {"age.parquet": parquet("age", [1.0, -math.inf, 2, 3])}),
    # what is asked
    **{
        f"k = {k}": Case(
            f"anonymize people.csv {QUICK} --k {k}", f"--k must be a whole number of at least 2, not '{k}'"
        )
        for k in ("1", "0", "2.5", "abc", "-3", "1e3")
    },
    **{
        f"k: {k}": Case(BY_POLICY, "k must be a whole number of at least 2", policy("k: 2", f"k: {k}"))
        for k in ("1", "0", "2.5", "ten", "true", "null")
    },
    "l = 1": Case(f"anonymize people.csv {QUICK} --k 2 --l 1", "--l must be a whole number of at least 2"),
    "k above the rows": Case(f"anonymize people.csv {QUICK} --k 13", "its 12 records together reach 12", code=3),
    "k above the rows, by policy": Case(BY_POLICY, "cannot meet k-anonymity", policy("k: 2", "k: 13"), 3),
    "l above the values": Case(
        f"anonymize people.csv {QUICK} --k 2 --l 4", "distinct-l-diversity of disease with l = 4", code=3
    ),
    "l without a sensitive column": Case(
        "anonymize people.csv --qi age --keep-rest --l 2 --out out.csv", "needs a sensitive column"
    ),
    "no privacy": Case(f"anonymize people.csv {QUICK}", "no privacy is asked for"),
    "no quasi-identifier": Case("anonymize people.csv --k 2 --out out.csv", "--qi"),
    "no quasi-identifier in the policy": Case(
        BY_POLICY,
        "no column is a quasi-identifier",
        {"policy.yaml": POLICY.replace("quasi-identifier", "keep")},
    ),
    "unknown --qi": Case(
        "anonymize people.csv --qi aeg --keep-rest --k 2 --out out.csv",
        "'aeg' is not a column of the table; did you mean 'age'?",
    ),
    "unknown --sensitive": Case(
        "anonymize people.csv --qi age --keep-rest --sensitive diseases --k 2 --out out.csv", "did you mean 'disease'?"
    ),
    "unknown --drop": Case(
        "anonymize people.csv --qi age --keep-rest --drop nmae --k 2 --out out.csv", "did you mean 'name'?"
    ),
    "two roles": Case(
        "anonymize people.csv --qi age --keep-rest --drop age --k 2 --out out.csv", "'age' is asked for as"
    ),
    "unknown method": Case(f"anonymize people.csv {QUICK} --k 2 --method mondrain", "did you mean 'mondrian'?"),
    "unknown method over a policy": Case(f"{BY_POLICY} --method mondrain", "did you mean 'mondrian'?"),
    "unknown form": Case(f"{BY_POLICY} --publish rage", "did you mean 'range'?"),
    "unknown engine": Case(f"{BY_POLICY} --engine sparc", "is not an engine"),
    "policy and --qi": Case(f"{BY_POLICY} --qi age", "not both"),
    "policy and --of": Case(f"{BY_POLICY} --of name", "not both"),
    "policy without l and --l": Case(
        f"{BY_POLICY} --l 2",
        "no requirement of the policy has an l",
        {"policy.yaml": POLICY.replace("- distinct-l-diversity: {l: 2, of: disease}\n", "")},
    ),
    "bad --memory": Case(f"{BY_POLICY} --memory lots", "--memory must be a size such as 512MB"),
    "negative --memory": Case(f"{BY_POLICY} --memory -1GB", "--memory must be a size"),
    "little --memory": Case(f"{BY_POLICY} --memory 1MB", "raise --memory"),
    "no --threads": Case(f"{BY_POLICY} --threads 0", "--threads"),
    "bad --threads": Case(f"{BY_POLICY} --threads two", "--threads"),
    "bad --seed": Case(f"{BY_POLICY} --seed x", "--seed"),
    "unknown option": Case(f"{BY_POLICY} --overwrit", "--overwrite"),
    "bad --delimiter": Case(f"{BY_POLICY} --delimiter ab", "one character"),
    "wrong --delimiter": Case(f"{BY_POLICY} --delimiter ;", "no such column"),
    "bad --encoding": Case(f"{BY_POLICY} --encoding utf-9", "try utf-8"),
    # the workload
    **{
        f"{option} {value!r} {how}": Case(f"anonymize people.csv {rest} {option} {shlex.quote(value)}", says)
        for how, rest in {
            "without a file": f"{QUICK} --k 2",
            "over a policy": "--policy policy.yaml --out out.csv",
        }.items()
        for option, value, says in (
            (
                "--classify",
                "age",
                "classify.target: the column 'age' is 'quasi-identifier', which is released generalised",
            ),
            ("--classify", "disease,name", "classify.target: the column 'name' is 'identifier', which is dropped"),
            ("--regress", "incom", "regress.target: 'incom' is not a column of the policy; did you mean 'income'?"),
            ("--classify", " , ", "--classify needs the name of a column."),
            ("--aggregate", "", "--aggregate needs the name of a column."),
            (
                "--aggregate",
                "income",
                "aggregate.of: the column 'income' is 'keep', which is released as it is and needs no",
            ),
            ("--select", "", "select.where: is empty; write a predicate such as"),
            ("--select", "age >= 30 and sex", "select.where: at the end: expected a comparison of 'sex'"),
            ("--select", "age != 30", "select.where: character 5, '!=': this takes a box away"),
            ("--select", "age > 30 and age < 20", "select.where: nothing can meet age > 30 and age < 20"),
            ("--select", "income > 3", "select.where: the column 'income' is 'keep', which is released as it is"),
            ("--select", "sex = 'x'", "Column 'sex': a predicate asks for 'x', a label that no value has"),
            ("--select", "sex > 'f'", "Column 'sex': sex > 'f' asks for an order"),
            ("--select", "sex = 'f' and sex = 'm'", "workload: nothing can meet sex = 'f' and sex = 'm'"),
            ("--select", "age > 'old'", "Column 'age': age > 'old' compares it with 'old', and it takes a number"),
            ("--select", "age > 200", "select age > 200: no value of this table satisfies it"),
            ("--option", "relaxd=true", "method.mondrian: unknown parameter 'relaxd'; did you mean 'relaxed'?"),
            ("--option", "relaxed=maybe", "method.mondrian: relaxed must be true or false, not 'maybe'"),
            ("--option", "relaxed", "--option must be a name and a value, such as a=1, not 'relaxed'."),
            ("--minimum-gain", "much", "--minimum-gain must be a number of at least 0, not 'much'."),
            ("--minimum-gain", "-1", "--minimum-gain must be a number of at least 0, not '-1'."),
            ("--minimum-gain", "inf", "--minimum-gain must be a number of at least 0, not 'inf'."),
        )
    },
    "a task that does not exist": Case(
        BY_POLICY, "policy.yaml, line 12", {"policy.yaml": POLICY + "workload:\n- clasify: {target: income}\n"}
    ),
    "a predicate that is none": Case(
        BY_POLICY,
        "policy.yaml, line 12, workload[0].select.where: character 5, 'like': a pattern does not form a box",
        {"policy.yaml": POLICY + "workload:\n- select: {where: sex like 'm%'}\n"},
    ),
    # the policy
    "no policy file": Case(BY_POLICY, "'policy.yaml' does not exist", {"policy.yaml": lambda path: None}),
    "policy is a folder": Case("anonymize people.csv --policy . --out out.csv", "cannot be read"),
    "policy is not UTF-8": Case(BY_POLICY, "not UTF-8", {"policy.yaml": b"columns: \xff\xfe"}),
    "policy is not YAML": Case(BY_POLICY, "policy.yaml", {"policy.yaml": "columns: [age\nprivacy: {"}),
    "policy is a list": Case(BY_POLICY, "expected a mapping", {"policy.yaml": "- 1\n- 2\n"}),
    "policy is empty": Case(BY_POLICY, "policy", {"policy.yaml": ""}),
    "wrong key": Case(
        BY_POLICY,
        "did you mean 'hierarchy'?",
        policy("age: {role: quasi-identifier}", "age: {role: quasi-identifier, hierachy: flat}"),
    ),
    "wrong key, its line": Case(BY_POLICY, "policy.yaml, line 11", {"policy.yaml": POLICY + "publsh: range\n"}),
    "wrong key in place of a needed one": Case(BY_POLICY, "did you mean 'privacy'?", policy("privacy:", "privcy:")),
    "wrong role": Case(BY_POLICY, "did you mean 'keep'?", policy("role: keep", "role: kep")),
    "unknown requirement": Case(BY_POLICY, "did you mean 'k-anonymity'?", policy("k-anonymity", "k-anonimity")),
    "of an unknown column": Case(BY_POLICY, "did you mean 'disease'?", policy("of: disease", "of: desease")),
    "unknown column": Case(
        BY_POLICY, "columns.agee: people.csv has no such column; did you mean 'age'?", policy("age:", "agee:")
    ),
    "a column that is not named": Case(
        BY_POLICY, "1 column(s) that the policy does not name: 'zip'", policy("  zip: {role: keep}\n", "")
    ),
    "region of a local recoding": Case(
        BY_POLICY,
        "set relaxed: false",
        {"policy.yaml": POLICY + "method: {mondrian: {relaxed: true}}\npublish: region\n"},
    ),
    "two columns of one name": Case(
        f"{BY_POLICY} --publish bounds",
        "'age_min'",
        policy("zip:", "age_min:") | people(*ROWS, header=HEADER.replace("zip", "age_min")),
    ),
    "text where the policy says number": Case(
        BY_POLICY,
        "'disease': 3 distinct value(s) cannot be read as a number",
        policy("disease: {role: sensitive}", "disease: {role: sensitive, type: number}"),
    ),
    "a date that is none": Case(
        BY_POLICY,
        "30th of February",
        policy("zip: {role: keep}", "zip: {role: quasi-identifier, type: date}")
        | people(*(row.replace("0213", "2024-02-3") for row in ROWS[:1] * 4)),
    ),
    "an order that leaves values out": Case(
        BY_POLICY,
        "'sex': 'order' leaves out 1 of its 2 values",
        policy("sex: {role: quasi-identifier}", "sex: {role: quasi-identifier, order: [m, x]}"),
    ),
    "intervals over text": Case(
        BY_POLICY,
        "'sex': intervals need numbers",
        policy("sex: {role: quasi-identifier}", "sex: {role: quasi-identifier, hierarchy: {intervals: [5]}}"),
    ),
    "dates over text": Case(
        BY_POLICY,
        "'sex': a hierarchy of dates needs dates",
        policy("sex: {role: quasi-identifier}", "sex: {role: quasi-identifier, hierarchy: {dates: [year]}}"),
    ),
    # hierarchies
    "no hierarchy file": Case(BY_POLICY, "sex.csv", hierarchy() | {"sex.csv": lambda path: None}),
    "empty hierarchy": Case(BY_POLICY, "is empty", hierarchy()),
    "a hierarchy that lacks values": Case(
        BY_POLICY,
        "2 of 4 distinct values of column 'sex' have no leaf",
        hierarchy("m;any;*", "f;any;*") | people(*ROWS, *STRANGE),
    ),
    "two parents": Case(BY_POLICY, "another parent", hierarchy(f"m;{SECRET};A;*", f"f;{SECRET};B;*")),
    "a leaf twice": Case(BY_POLICY, "another path", hierarchy("m;A;*", "f;A;*", "m;B;*")),
    "a cycle": Case(BY_POLICY, "stands above itself", hierarchy(f"m;{SECRET};B;{SECRET};*", "f;B;*")),
    "a cycle over two lines": Case(BY_POLICY, "sex.csv, line 2", hierarchy("m;A;B;*", "f;B;A;*")),
    "a hierarchy that is not UTF-8": Case(BY_POLICY, "sex.csv, line 2", hierarchy() | {"sex.csv": b"m;*\nf\xff;*\n"}),
    # the output
    "output exists": Case(
        f"anonymize people.csv {QUICK} --k 2", "'out.csv' exists; use --overwrite", {"out.csv": "mine"}
    ),
    "certificate exists": Case(
        f"anonymize people.csv {QUICK} --k 2", "use --overwrite", {"out.certificate.json": "mine"}
    ),
    "recoding exists": Case(
        f"anonymize people.csv {QUICK} --k 2", "use --overwrite", {"out-recoding/recoding.json": "mine"}
    ),
    "release exists in the folder": Case(
        "anonymize people.csv --policy policy.yaml --out out", "use --overwrite", {"out/release.csv": "mine"}
    ),
    "output is the input": Case(
        "anonymize people.csv --policy policy.yaml --out people.csv --overwrite", "The output is the input"
    ),
    "output is the input by a link": Case(
        "anonymize people.csv --policy policy.yaml --out link.csv --overwrite",
        "The output is the input",
        {"link.csv": lambda path: path.symlink_to("people.csv")},
    ),
    "output is the input by another way": Case(
        "anonymize people.csv --policy policy.yaml --out sub/../people.csv --overwrite",
        "The output is the input",
        {"sub/x": ""},
    ),
    "output folder is missing": Case(
        "anonymize people.csv --policy policy.yaml --out nowhere/out.csv", "There is no folder 'nowhere'"
    ),
    "output under a file": Case(
        "anonymize people.csv --policy policy.yaml --out people.csv/out.csv", "There is no folder 'people.csv'"
    ),
    "output folder under a file": Case(
        "anonymize people.csv --policy policy.yaml --out people.csv/out", "cannot be written"
    ),
    "output folder is a file": Case(
        "anonymize people.csv --policy policy.yaml --out taken", "is a file", {"taken": "mine"}
    ),
    "output is a folder": Case(
        "anonymize people.csv --policy policy.yaml --out out.csv", "is a folder", {"out.csv/x": "mine"}
    ),
    "output cannot be written": Case(
        "anonymize people.csv --policy policy.yaml --out /proc/out.csv", "cannot be written"
    ),
    "output folder cannot be made": Case(
        "anonymize people.csv --policy policy.yaml --out /proc/out", "cannot be written"
    ),
    "name too long": Case(f"anonymize people.csv --policy policy.yaml --out {'x' * 300}.csv", "cannot be written"),
    "name too long for the certificate": Case(
        f"anonymize people.csv --policy policy.yaml --out {'x' * 245}.csv", "cannot be written"
    ),
    "unknown output": Case("anonymize people.csv --policy policy.yaml --out out.doc", "it writes .parquet"),
    # other commands
    "recoding is missing": Case("apply nothing.json people.csv --out out.csv", "There is no file"),
    "recoding is not JSON": Case("apply policy.yaml people.csv --out out.csv", "is not a recoding"),
    "recoding is something else": Case("apply x.json people.csv --out out.csv", "not a recoding", {"x.json": "{}"}),
    "recoding is damaged": Case(
        "apply x.json people.csv --out out.csv",
        "damaged",
        {"x.json": '{"format": "rothko recoding 1", "tree": {}}'},
    ),
    "check without requirements": Case("check people.csv", "--policy"),
    "check an unknown column": Case("check people.csv --qi aeg --keep-rest --k 2", "did you mean 'age'?"),
    "check what the policy does not fit": Case(
        "check people.csv --policy policy.yaml", "columns.agee", policy("age:", "agee:")
    ),
    "check nothing": Case("check people.csv --policy policy.yaml", "no records", people()),
    "measure other rows": Case(
        "measure people.csv other.csv --policy policy.yaml",
        "12 records",
        {"other.csv": "\n".join([HEADER, *ROWS[:5]]) + "\n"},
    ),
    "measure what is no release": Case(
        "measure people.csv other.csv --policy policy.yaml",
        "neither values of the original nor",
        {"other.csv": PEOPLE.replace(",m,", f",{SECRET},")},
    ),
    "draft nothing": Case("draft people.csv --out p.yaml", "is empty", {"people.csv": ""}),
    "draft over a file": Case("draft people.csv --out policy.yaml", "use --overwrite"),
    "draft to nowhere": Case("draft people.csv --out nowhere/p.yaml", "There is no folder"),
    "draft with k = 1": Case("draft people.csv --out p.yaml --k 1", "--k must be"),
    "generate nothing": Case("generate agrawal -n 0 --out g.csv", "-n must be a whole number"),
    "generate half a record": Case("generate agrawal -n 1.5 --out g.csv", "-n must be a whole number"),
    "generate an unknown function": Case("generate agrawal -n 9 --function 11 --out g.csv", "function"),
    "generate an unknown target": Case("generate agrawal -n 9 --target R9 --out g.csv", "--target must be R7 or R10"),
    "generate too much noise": Case("generate agrawal -n 9 --noise 2 --out g.csv", "noise"),
    "generate an unknown ending": Case("generate agrawal -n 9 --out g.doc", "ending"),
    "generate over a file": Case("generate agrawal -n 9 --out people.csv", "use --overwrite"),
    "unknown command": Case("anonymise people.csv", "anonymise"),
}


def lay_out(folder: Path, files: Mapping[str, Content]) -> None:
    for name, content in {"people.csv": PEOPLE, "policy.yaml": POLICY, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            content(path)


def everything_in(folder: Path) -> dict[str, bytes | None]:
    """All files and folders, hidden ones too, with their content."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def assert_refused(ran: Any, code: int, says: str) -> None:
    """One sentence on standard error, nothing on standard output, nothing of the table in either."""
    assert "Internal error" not in ran.err
    assert "Traceback" not in ran.err
    assert SECRET not in ran.out + ran.err
    errors = [line for line in ran.err.splitlines() if line.startswith("Error:")]
    assert len(errors) == 1, ran.err
    assert ran.err.splitlines()[-1] == errors[0]
    assert says in errors[0]
    assert ran.code == code
    assert ran.out == ""


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_bad_input_is_refused_with_one_sentence(case: Case, rothko, folder):
    lay_out(folder, case.files)
    before = everything_in(folder)
    ran = rothko(*shlex.split(case.command))
    assert_refused(ran, case.code, case.says)
    assert everything_in(folder) == before


UNKNOWN_LABEL = "--select \"sex = 'x'\" over a policy"


@pytest.mark.parametrize(
    "name", ["a hierarchy that lacks values", "an order that leaves values out", "two parents", UNKNOWN_LABEL]
)
def test_values_are_listed_when_asked_for(name: str, rothko, folder):
    case = REFUSED[name]
    lay_out(folder, case.files)
    before = everything_in(folder)
    ran = rothko(*shlex.split(case.command), "--show-values")
    first, *values = ran.err.strip("\n").splitlines()
    assert ran.code == 2
    assert first.startswith("Error: ")
    assert case.says in first
    listed = {
        "a hierarchy that lacks values": [f"{SECRET}0", f"{SECRET}1"],
        "an order that leaves values out": ["f"],
        "two parents": [SECRET],
        UNKNOWN_LABEL: ["f", "m"],
    }
    assert values == [f"  {value}" for value in listed[name]]
    assert everything_in(folder) == before


# ── what looks bad and is fine ───────────────────────────────────────────────────────────────────


def released(rothko: Callable[..., Any], command: str) -> list[dict[str, str]]:
    ran = rothko(*command.split())
    assert ran.code == 0, ran.err
    assert "Error" not in ran.err
    with Path("out.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_column_that_is_missing_throughout_is_published_missing(rothko, folder):
    lay_out(folder, people(*(f"{SECRET},{20 + i},,,1,flu" for i in range(6))))
    asked = "--method mondrian --qi age,sex,zip --keep-rest --drop name --k 2"
    rows = released(rothko, f"anonymize people.csv {asked} --out out.csv")
    assert {row["sex"] for row in rows} == {""}
    assert {row["zip"] for row in rows} == {""}
    assert {row["age"] for row in rows} == {"[20, 22]", "[23, 25]"}


def test_a_column_of_one_value_is_published_as_it_is(rothko, folder):
    lay_out(folder, people(*(f"{SECRET},{20 + i},f,02139,7.50,flu" for i in range(6))))
    rows = released(rothko, "anonymize people.csv --qi age,sex,income --keep-rest --drop name --k 2 --out out.csv")
    assert {row["sex"] for row in rows} == {"f"}
    assert {float(row["income"]) for row in rows} == {7.5}
    assert {row["zip"] for row in rows} == {"02139"}


def test_nan_is_missing(rothko, folder):
    lay_out(folder, {"age.parquet": parquet("age", [1.5, 2.5, math.nan, math.nan, None, 3.5])})
    rows = released(rothko, "anonymize age.parquet --qi age --keep-rest --drop note --k 2 --out out.csv")
    assert sorted(row["age"] for row in rows) == ["", "", "", "[1.5, 3.5]", "[1.5, 3.5]", "[1.5, 3.5]"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
def test_missing_values_are_written_in_every_format(ending: str, rothko, folder):
    lay_out(folder, {"age.parquet": parquet("age", [1, 2, None, None, None, 3])})
    ran = rothko(
        "anonymize", "age.parquet", "--qi", "age", "--keep-rest", "--drop", "note", "--k", 2, "--out", f"out.{ending}"
    )
    assert ran.code == 0, ran.err
    if ending in ("csv", "tsv"):
        text = Path(f"out.{ending}").read_text(encoding="utf-8").splitlines()
        shown = [None if cell == '""' else cell.strip('"') for cell in text[1:]]
    else:
        shown = (pq if ending == "parquet" else feather).read_table(f"out.{ending}")["age"].to_pylist()
    assert sorted(shown, key=str) == [None] * 3 + ["[1, 3]"] * 3
    assert rothko("check", f"out.{ending}", "--qi", "age", "--keep-rest", "--k", 3).code == 0


@pytest.mark.parametrize("before", [0, 300])
def test_nan_in_csv_is_missing(before: int, rothko, folder):
    """Wherever it stands: the type of a column does not depend on the order of the rows."""
    ages = ["7.5"] * before + ["1.5", "2.5", "NaN", "nan", "", "3.5"]
    lay_out(folder, people(*(f"{SECRET},{age},m,1,1,flu" for age in ages)))
    rows = released(rothko, "anonymize people.csv --qi age --keep-rest --drop name --k 3 --out out.csv")
    ages = sorted(row["age"] for row in rows if row["age"] != "7.5")
    assert ages == ["", "", "", "[1.5, 3.5]", "[1.5, 3.5]", "[1.5, 3.5]"]


@pytest.mark.parametrize("before", [0, 300])
def test_empty_cells_do_not_hide_what_a_column_holds(before: int, rothko, folder):
    dates = [""] * before + [f"2024-02-{day}" for day in (10, 11, 12, 13)]
    files = people(*(f"{SECRET},1,m,{date},1,flu" for date in dates))
    files["policy.yaml"] = POLICY.split("- distinct")[0].replace("zip: {role: keep}", "zip: {role: quasi-identifier}")
    lay_out(folder, files)
    rows = released(rothko, BY_POLICY)
    assert {row["zip"] for row in rows if row["zip"]} == {"[2024-02-10, 2024-02-11]", "[2024-02-12, 2024-02-13]"}


def test_infinity_may_be_listed_as_missing(rothko, folder):
    """What the error about infinite numbers advises."""
    lay_out(folder, {"age.parquet": parquet("age", [1.5, 2.5, math.inf, -math.inf])})
    rows = released(
        rothko, "anonymize age.parquet --qi age --keep-rest --drop note --missing inf,-inf --k 2 --out out.csv"
    )
    assert sorted(row["age"] for row in rows) == ["", "", "[1.5, 2.5]", "[1.5, 2.5]"]


def test_cells_of_10_000_characters(rothko, folder):
    long = "x" * 9_999
    lay_out(folder, people(*(f"{SECRET},{20 + i // 2},{long}{i % 2},1,1,{long}" for i in range(8))))
    rows = released(
        rothko, "anonymize people.csv --qi age,sex --keep-rest --sensitive disease --drop name --k 2 --out out.csv"
    )
    assert len(rows) == 8
    assert {row["disease"] for row in rows} == {long}
    assert all(row["sex"] in ("*", f"{long}0", f"{long}1", f"{{{long}0, {long}1}}") for row in rows)


ODD_NAMES = ["first name", 'the "age"', "🙂", "it's; drop", "a,b", "naïve\tcolumn", "{x}", "$1", "*", " lead", "SELECT"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
def test_odd_column_names(ending: str, rothko, folder):
    table = {name: [i % 4 + 10 * j for i in range(8)] for j, name in enumerate(ODD_NAMES)}
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([ODD_NAMES, *zip(*table.values(), strict=True)])
    quasi = "".join(f"  {name!r}: {{role: quasi-identifier}}\n" for name in ODD_NAMES[:3])
    rest = "".join(f"  {_yaml(name)}: {{role: keep}}\n" for name in ODD_NAMES[3:])
    lay_out(
        folder,
        {"odd.csv": text.getvalue(), "odd.yaml": f"columns:\n{quasi}{rest}privacy: [{{k-anonymity: {{k: 2}}}}]\n"},
    )
    ran = rothko("anonymize", "odd.csv", "--policy", "odd.yaml", "--out", f"out.{ending}")
    assert ran.code == 0, ran.err
    if ending in ("csv", "tsv"):
        with Path(f"out.{ending}").open(newline="", encoding="utf-8") as file:
            header = next(csv.reader(file, delimiter="\t" if ending == "tsv" else ","))
    else:
        header = (pq if ending == "parquet" else feather).read_table(f"out.{ending}").column_names
    assert header == ODD_NAMES
    assert rothko("check", f"out.{ending}", "--policy", "odd.yaml").code == 0


def _yaml(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'


def test_overwrite_replaces_what_exists(rothko, folder):
    lay_out(folder, {"out.csv": "mine", "out.certificate.json": "mine", "out-recoding/recoding.json": "mine"})
    rows = released(rothko, f"{BY_POLICY} --overwrite")
    assert len(rows) == 12
    assert not [name for name in os.listdir(folder) if "partial" in name]
    assert "mine" not in (folder / "out.certificate.json").read_text(encoding="utf-8")


# ── when it goes wrong at the end ────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """A disk that is full: no file may grow above the size (EFBIG, since Python ignores SIGXFSZ)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let the disk be full once the release is saved, and not before: compiled code may be cached until then."""

    def arrange(size: int) -> None:
        save = Release.save

        def limited(*arguments: Any, **options: Any) -> Any:
            with no_file_above(size):
                return save(*arguments, **options)

        monkeypatch.setattr(Release, "save", limited)

    return arrange


@pytest.mark.parametrize("out", ["out.csv", "out.tsv", "out.parquet", "out.arrow", "there", "new"])
@pytest.mark.parametrize("what", ["data", "recoding", "certificate"])
def test_a_full_disk_leaves_nothing_behind(what: str, out: str, rothko, folder, full_disk):
    """Whichever of the files does not fit any more."""
    rows = {"data": FAR, "recoding": [f"n,{i},m,1,1,flu" for i in range(400)], "certificate": ROWS}[what]
    lay_out(folder, people(*rows))
    (folder / "there").mkdir()
    command = shlex.split("anonymize people.csv --method mondrian --qi age --keep-rest --drop name --k 2 --out")
    assert rothko(*command, f"fine/{out}" if "." not in out else out.replace("out.", "fine.")).code == 0
    written = {p.name: p.stat().st_size for p in folder.rglob("*") if "people" not in p.name and p.is_file()}
    certificate = next(size for name, size in written.items() if "certificate" in name)
    recoding = next(size for name, size in written.items() if "recoding" in name)
    data = next(size for name, size in written.items() if "json" not in name and "yaml" not in name)
    limit = {"data": data // 2, "recoding": recoding // 2, "certificate": certificate // 2}[what]
    if what != "data" and data >= limit:
        pytest.skip(f"here the data is larger than the {what}")
    full_disk(limit)
    before = everything_in(folder)
    ran = rothko(*command, out)
    assert_refused(ran, 2, "cannot be written")
    assert everything_in(folder) == before


def test_a_full_disk_while_recoding_or_generating(rothko, folder):
    lay_out(folder, people(*FAR))
    command = shlex.split("anonymize people.csv --method mondrian --qi age,sex --keep-rest --drop name --k 2 --out out")
    assert rothko(*command).code == 0
    assert rothko("apply", "out-recoding", "people.csv", "--out", "fine.csv").code == 0
    before = everything_in(folder)
    with no_file_above(1000):
        applied = rothko("apply", "out-recoding", "people.csv", "--out", "new.csv")
        generated = [rothko("generate", "agrawal", "-n", 1000, "--out", f"g.{end}") for end in ("csv", "parquet")]
    for ran in (applied, *generated):
        assert_refused(ran, 2, "cannot be written")
    assert everything_in(folder) == before


@pytest.mark.parametrize("out", ["out.csv", "there", "new"])
def test_what_fails_verification_is_not_released(out: str, rothko, folder, monkeypatch):
    lay_out(folder, {"there/mine.txt": "mine"})

    def failing(*arguments: Any, **options: Any) -> Verification:
        found = verify(*arguments, **options)
        bad = Finding(KAnonymity(k=2), 2, 1, False, found.classes, 3, 3)
        return replace(found, findings=(bad, *found.findings[1:]))

    monkeypatch.setattr("rothko.release.meant.verify", failing)
    before = everything_in(folder)
    ran = rothko("anonymize", "people.csv", "--policy", "policy.yaml", "--out", out)
    assert_refused(ran, 4, "k-anonymity with k = 2 does not hold in 3 of")
    assert everything_in(folder) == before


@pytest.mark.parametrize("change", [{"rows": 11}, {"columns": ("age", "sex")}])
def test_a_file_that_is_not_what_it_should_be_is_not_released(change: dict[str, Any], rothko, folder, monkeypatch):
    monkeypatch.setattr("rothko.release.meant.verify", lambda *a, **o: replace(verify(*a, **o), **change))
    lay_out(folder, {})
    before = everything_in(folder)
    assert_refused(rothko(*BY_POLICY.split()), 4, "other rows or columns")
    assert everything_in(folder) == before


def test_a_bug_is_told_without_cell_values(rothko, folder, monkeypatch):
    """Messages of other libraries quote what they stumble over."""
    lay_out(folder, {})

    def stumble(*_: Any, **__: Any) -> None:
        raise ValueError(f"cannot convert {SECRET}")

    monkeypatch.setattr("rothko.release.meant.verify", stumble)
    before = everything_in(folder)
    ran = rothko(*BY_POLICY.split())
    assert ran.code == 1
    assert "Internal error (ValueError)" in ran.err
    assert SECRET not in ran.out + ran.err
    assert everything_in(folder) == before
