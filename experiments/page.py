"""The page of the experiments: figures, tables of claims, and what opens it, from results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments import claims, minimality
from experiments.parts import PARTS, Part
from experiments.provenance import differing
from experiments.runs import KEPT, Results, read

Row = Mapping[str, Any]
Rows = Mapping[str, list[Row]]
ADULT = "12"
"""The figure on Adult, which is run beside the made-up census."""
PAPERS: dict[str, Callable[[Rows], list[Row]]] = {
    "LeFevre, DeWitt, Ramakrishnan, TODS 2008, KDD 2006": lambda rows: [*rows["workload"], *rows["scale"]],
    "Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, on real tables": lambda rows: [
        *(row for row in rows["curves"] if row["id"].startswith(ADULT)),
        *rows["survey"],
    ],
    "the same claims on a made-up census": lambda rows: [r for r in rows["curves"] if not r["id"].startswith(ADULT)],
    "Fung, Wang, Yu, TKDE 2007; Chandrasekaran, Nammalwar": lambda rows: rows["refine"],
    "Podgursky, Vanderbilt 2011": lambda rows: rows["sets"],
}
"""Paper → its claims, of those of all parts."""


def _every(kind: str, first: int, last: int) -> list[str]:
    return [f"{kind} {number}" for number in range(first, last + 1)]


NUMBERED = {
    "LeFevre, DeWitt and Ramakrishnan": [*_every("Fig", 1, 24), *_every("Table", 1, 4)],
    "Ghinita, Karras, Kalnis and Mamoulis": [*_every("Fig", 1, 20), "Table 1"],
    "Fung, Wang and Yu; Chandrasekaran and Nammalwar": ["Fig 2", *_every("Table", 1, 2)],
    "Podgursky": [*_every("Fig", 1, 21), *_every("Table", 1, 15)],
}
"""Paper → the figures and tables that it has."""
CAPTIONS = {
    "13": "Survey, 200,000 records: loss and time against k.",
    "14": "Survey, k = 50: loss and time against the number of records.",
    "15": "Survey, 200,000 records, k = 50: loss and time against the number of quasi-identifiers.",
    "16": "Survey, 200,000 records, frequency l-diversity of the occupation: loss and time against l.",
    "17": "Survey, l = 5: loss and time against the number of records.",
    "18": "Survey, 200,000 records, l = 5: loss and time against the number of quasi-identifiers.",
    "19": "Survey, 200,000 records, l = 5: loss and time against the number of sensitive values.",
    "20": "Group-by queries on the survey: divergence of the cube of the release from that of the original.",
}
"""Of the figures on the survey."""
NAMES = {"workload": "claims", "minimality": "minimality"}
"""Part → the name of its table in the page, where that is not made of its own."""


def saved_claims(part: str, docs: Path) -> Path:
    """Where the claims are kept as JSON."""
    own = {"workload": "figures/claims.json", "minimality": "figures/minimality.json"}
    return docs / own.get(part, f"figures/claims-{part}.json")


def refresh(part: Part, results: Results, docs: Path) -> None:
    """Write figures, the claims as JSON, and the table of a part in the page; what was not run stays as it was."""
    saved = read(saved_claims(part.name, docs))
    kept: dict[str, Any] = {"settings": results["settings"]}
    if part.claims:
        kept["claims"] = _with_saved(claims.checked(results, part.claims), saved.get("claims", []))
        table = claims.table(kept["claims"])
    else:
        kept["figures"] = saved.get("figures", {}) | results["figures"]
        table = minimality.table(kept)
    kept |= {name: saved.get(name, {}) | results.get(name, {}) for name in KEPT if name != "figures"}
    shown = {by["code"] for by in kept["ran"].values()}
    kept["code"] = {code: modules for code, modules in kept["code"].items() if code in shown}
    draw(part, results, docs / "figures")
    if part.name == "survey":
        _rewrite(docs, pictures(part, kept["ran"]), "figures of survey")
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    saved_claims(part.name, docs).write_text(f"{text}\n", "utf-8")
    _rewrite(docs, table, NAMES.get(part.name, f"claims of {part.name}"))


def _with_saved(rows: Sequence[Row], saved: Sequence[Row]) -> list[Row]:
    """Claims, those that were not run as an earlier run found them, where it asked the same."""
    before = {(row["id"], row["claim"], row["where"]): row for row in saved}
    return [
        before.get((row["id"], row["claim"], row["where"]), row) if row["measured"].startswith("not run") else row
        for row in rows
    ]


def pictures(part: Part, numbers: Iterable[str]) -> str:
    """Figures with what they show."""
    shown = {number: CAPTIONS[number] for number in part.figures if number in numbers}
    return "\n\n".join(
        f"**Fig. {number}.** {text}\n![{text}](figures/{part.prefix}-{number}.svg)" for number, text in shown.items()
    )


def draw(part: Part, results: Results, folder: Path) -> None:
    """Draw the figures that there are results for."""
    if part.prefix:
        from experiments import figures

        figures.draw(results, folder, part.drawn, prefix=part.prefix)


def refresh_overview(docs: Path) -> None:
    """Write what opens the page: how many claims hold, and which code ran which figures."""
    kept = {name: read(saved_claims(name, docs)) for name in PARTS}
    _rewrite(docs, overview({name: some.get("claims", []) for name, some in kept.items()}), "overview")
    _rewrite(docs, ran({name: some.get("ran", {}) for name, some in kept.items()}), "ran")


def overview(rows: Mapping[str, Sequence[Row]]) -> str:
    """How many claims of each paper hold, and how many of ours, as a Markdown table."""
    lines = [
        "| paper | its claims | hold | do not | of these, reason known | not measured | ours | of these, hold |",
        "|---|---|---|---|---|---|---|---|",
    ]
    given = {name: list(rows.get(name, ())) for name in PARTS}
    for paper, of in PAPERS.items():
        every = of(given)
        theirs = [row for row in every if row["where"] != claims.OURS]
        ours = [row for row in every if row["where"] == claims.OURS]
        failed = [row for row in theirs if row["holds"] is False]
        counts = (
            len(theirs), _held(theirs), len(failed), sum(claims.explained(row) for row in failed),
            sum(row["holds"] is None for row in theirs), len(ours), _held(ours),
        )  # fmt: skip
        lines.append(f"| {paper} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def _held(rows: Iterable[Row]) -> int:
    return sum(row["holds"] is True for row in rows)


def ran(by_part: Mapping[str, Mapping[str, Mapping[str, str]]]) -> str:
    """Which code ran which figures, and when, as a Markdown table."""
    lines = ["| part | figures | code | run on |", "|---|---|---|---|"]
    for part, figures in by_part.items():
        for (code, date), some in by_code(figures).items():
            every = len(some) == len(PARTS[part].figures)
            lines.append(f"| {part} | {'all' if every else ', '.join(some)} | `{code}` | {date} |")
    return "\n".join(lines)


def by_code(ran: Mapping[str, Mapping[str, str]]) -> dict[tuple[str, str], list[str]]:
    """The figures of a part that each code has run on a day."""
    found: dict[tuple[str, str], list[str]] = {}
    for figure, by in ran.items():
        found.setdefault((by["code"], by["date"]), []).append(figure)
    return found


def compared(docs: Path) -> str:
    """Whether the code that there is now made the figures of the page, part by part, and what differs where not."""
    lines = []
    for name, part in PARTS.items():
        saved, now = read(saved_claims(name, docs)), part.code()
        told, others = [], []
        for (code, date), some in by_code(saved.get("ran", {})).items():
            which = "all" if len(some) == len(part.figures) else ", ".join(some)
            told.append(f"{which} {'by this code' if code == now else f'by other code, {code}'} on {date}")
            if code != now and code in saved.get("code", {}):
                others.append(f"{'':<11} {code} differs in {', '.join(differing(part.modules(), saved['code'][code]))}")
        lines += [f"{name:<11} {now}  {'; '.join(told)}", *others]
    return "\n".join(lines)


def _rewrite(docs: Path, table: str, name: str) -> None:
    page = docs / "experiments.md"
    page.write_text(with_table(page.read_text("utf-8"), table, name), "utf-8")


def with_table(page: str, table: str, name: str = "claims") -> str:
    """The page with another table between its marks."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = page.split(begin)
    return f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"
