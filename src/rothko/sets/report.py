"""The report of a release of sets, by the page and the plots of all reports (:mod:`rothko.report`).

For the public it is made from the certificate and the released sets alone; for the steward, who gives the original
records, it tells how they could be told apart before (:mod:`rothko.sets.before`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rothko.metrics.risk import THRESHOLD, risk
from rothko.metrics.told import number
from rothko.privacy import KAnonymity
from rothko.release.names import LINE_ENDINGS
from rothko.release.sql import literal
from rothko.report import page
from rothko.report.figures import class_sizes
from rothko.report.page import Section
from rothko.report.painting import short
from rothko.report.public import CHECKED, LONGEST, NOT_BEFORE, WHO_LOOKS, bytes_checked, risks
from rothko.report.report import Audience, Drawn, Report, check_asked, whole_page
from rothko.sets import set_pictures
from rothko.sets.before import Before, look_before
from rothko.sets.files import Reading, Utility
from rothko.sets.readable import ToldSets, read_sets
from rothko.sets.write import LONG_ENDINGS

CHANGED = 10
"""Items that are listed."""


def report(
    release: Any,
    *,
    audience: Audience = "public",
    original: Any = None,
    reading: Reading | None = None,
    utility: Utility = None,
    threshold: float = THRESHOLD,
    delimiter: str | None = None,
    threads: int | None = None,
) -> Report:
    """A report about a release of sets.

    Parameters
    ----------
    release
        Where it was saved: its data file, its certificate, or their folder; or one in memory.
    audience
        ``public``: nothing that the certificate and the released sets do not tell; ``steward``: how records could be
        told apart before, too, which is not for publication and needs the original.
    original, reading, utility
        The records that were released, for the steward, and how to read them.
    threshold
        A risk above which records are counted.
    delimiter
        What separates the items of a released line, where it is no blank.
    """
    check_asked(audience, original, threshold)
    told = read_sets(release, delimiter=delimiter, threads=threads)
    before = None
    if audience == "steward":
        before = look_before(original, told, threshold, reading=reading, utility=utility)
    draw = Drawn()
    opening = draw(set_pictures.painted(told))
    sections = [
        _holds(told), _risk(told, before, threshold, draw), _lost(told, before, draw), _rows(told), _limits(told),
        _checked(told),
    ]  # fmt: skip
    asked = told.certificate["requirement"]
    held = f"{_name(told)} holds" if asked["holds"] else f"{_name(told)} was not verified"
    each = "each by" if _counts_published(told) else "each contained in"
    lead = (
        f"{told.records:,} records publish {len(told.times):,} different sets, {each} at least {asked['achieved']:,} "
        f"records. {held} in the bytes that were released: whoever looks for somebody is right at most once in "
        f"{asked['achieved']:,} times."
    )
    engine = told.certificate.get("engine", {"name": "memory"})["name"]
    seed = told.certificate["seed"]
    how = f"engine {engine}, {'a secret seed' if seed is None else f'seed {seed}'}"
    html = whole_page(told.file, told.certificate, lead, how, opening, sections, audience)
    return Report(html, tuple(draw.pictures), audience, told.certificate["file_sha256"] or "")


def _counts_published(told: ToldSets) -> bool:
    """Whether k records publish each set; otherwise k contain it."""
    return bool(told.certificate["requirement"]["name"] == KAnonymity.name)


def _name(told: ToldSets) -> str:
    k = f"{told.certificate['requirement']['asked']:,}"
    return f"{k}-anonymity" if _counts_published(told) else f"({k},1)-anonymity"


def _holds(told: ToldSets) -> Section:
    """What was asked, what was achieved, what is kept."""
    certificate, kept = told.certificate, told.certificate["metrics"]
    asked = certificate["requirement"]
    who = "publish" if _counts_published(told) else "of the original contain"
    about = f"At least {asked['asked']:,} records {who} each published set."
    method = certificate["method"]
    options = ", ".join(f"{name} {value}" for name, value in method.items() if name != "name")
    true = ", and every set is one that its records have in common." if certificate["true_to_original"] else "."
    return Section("holds", "What was asked, and what holds", [
        page.tiles([
            (f"{told.records:,}", "records"),
            (f"{len(told.times):,}", "different sets"),
            (f"{int(told.times.min()):,}", "records publish the rarest set"),
            (f"{kept['utility_kept']:.1%}", "of the utility is kept"),
        ]),
        page.table(
            "Requirements", ["requirement", "holds", "asked", "achieved", "what it asks"],
            [[asked["name"], page.verdict(asked["holds"]), f"{asked['asked']:,}", f"{asked['achieved']:,}", about]],
            texts=(4,),
        ),
        page.text(
            f"{CHECKED}{true}", f"Made by {method['name']}{f' ({options})' if options else ''}.",
            "Records are sets of items. All records of a class publish the items that every one of them has; the "
            "others are dropped, and nothing is added.",
        ),
        *(page.note(note) for note in certificate["notes"]),
    ])  # fmt: skip


def _risk(told: ToldSets, before: Before | None, threshold: float, draw: Drawn) -> Section:
    """How likely anybody is found again."""
    whole = None if before is None else before.whole
    if _counts_published(told):
        blocks = [
            risks("Risk of being found again", risk(told.times, threshold), whole),
            page.text(WHO_LOOKS, faint=True),
            draw(class_sizes(told.times, threshold)),
        ]
    else:
        achieved = told.certificate["requirement"]["achieved"]
        blocks = [
            page.text(
                f"Whoever sees one published set, and knows all original records, finds at least {achieved:,} of them "
                f"that it may be of: a risk of {1 / achieved:.4f} at most."
            ),
            page.note(told.certificate["adversary"]),
        ]
    if before is None:
        blocks.append(page.text(NOT_BEFORE, faint=True))
    else:
        drawn = "" if before.drawn == told.records else f", of {before.drawn:,} drawn at random"
        blocks.append(page.heading("What told records apart before"))
        blocks.append(
            page.table(
                "Records of the original that are unique", ["by", "share"],
                [
                    ["all of their items", f"{before.whole.share_unique:.2%}"],
                    [f"their two rarest items{drawn}", f"{before.by_two:.2%}"],
                    ["one item", f"{before.by_one:.2%}"],
                ],
            )
        )  # fmt: skip
    return Section("risk", "How likely is anybody found again?", blocks)


def _lost(told: ToldSets, before: Before | None, draw: Drawn) -> Section:
    """What the release no longer says."""
    kept = told.certificate["metrics"]
    counts = None if before is None else before.counts
    blocks = [
        page.table(
            "What is kept", ["", "kept", "published", "what it means"],
            [
                ["utility", f"{kept['utility_kept']:.2%}", number(kept["utility"]),
                 "what the published items are worth, over all records"],
                ["instances", f"{kept['instances_kept']:.2%}", f"{kept['instances']:,}",
                 "items of records that are published"],
                ["items", f"{kept['items_kept']:.2%}", f"{kept['items']:,}", "items that are published for somebody"],
                ["records", "100.00%", f"{told.records:,}", f"of which {kept['empty']:,} publish nothing"],
            ],
            texts=(3,),
        ),
        page.side_by_side([draw(set_pictures.most_frequent(told, counts)), draw(set_pictures.how_many(told, counts))]),
    ]  # fmt: skip
    if counts is not None:
        after = dict(zip(told.names, told.frequencies.tolist(), strict=True))
        lost = sorted(counts.items, key=lambda name: (after.get(name, 0) - counts.items[name], name))[:CHANGED]
        rows = [
            [short(name), f"{counts.items[name]:,}", f"{after.get(name, 0):,}",
             f"{after.get(name, 0) / max(counts.items[name], 1):.1%}"]
            for name in lost
        ]  # fmt: skip
        blocks.append(page.table("Items that most records lost", ["item", "before", "after", "kept"], rows))
    return Section("lost", "What was lost", blocks)


def _rows(told: ToldSets) -> Section:
    """The first records, as they are."""
    cells = [[short(", ".join(row), LONGEST) if row else set_pictures.NOTHING] for row in told.rows]
    caption = f"The first {len(cells)} of {told.records:,} records of {told.file}"
    return Section("rows", "What was published", [page.table(caption, ["items"], cells, rows_are_data=True)])


def _limits(told: ToldSets) -> Section:
    """What is not promised."""
    return Section("limits", "What is not promised", [page.bullets(_not_promised(told))])


def _not_promised(told: ToldSets) -> Iterator[str]:
    yield (
        "Who a record belongs to is hidden, not what is true of everybody who publishes the same set: whoever places "
        "somebody there learns that they have these items."
    )
    yield "No item is treated as more delicate than another: what nobody should learn about anybody must be left out."
    if not _counts_published(told):
        yield (
            "Fewer records may publish a set than contain it: whoever learns what was published for others, or knows "
            "how the method works, may tell more."
        )
    yield "That an item is missing from a published set says nothing: it may have been dropped."
    yield "A record counts as a person: where people have several, k records may belong to fewer than k people."
    yield "Two releases about the same people may tell more together than each alone."


def _checked(told: ToldSets) -> Section:
    """How anybody can check it, with other tools than ours."""
    blocks = bytes_checked(told.file, told.certificate, in_parts=bool(told.parts))
    if _counts_published(told):
        k = told.certificate["requirement"]["asked"]
        blocks.append(page.text(f"No set may be published by fewer than {k:,} records. The smallest number of them:"))
        blocks.append(page.code(_query(told)))
    else:
        blocks.append(
            page.text(
                "How many records contain a set is known to whoever has the original records alone: that was counted "
                "beside them, for every published set."
            )
        )
    return Section("check", "How to check it without us", blocks)


def _query(told: ToldSets) -> str:
    """What counts the rarest set: by the tools of every Unix for lines, by SQL for tables."""
    source = told.parts or told.file
    if told.ending in LINE_ENDINGS:
        reader = "zcat" if told.ending.endswith(".gz") else "cat"
        return f"$ {reader} {source} | sort | uniq -c | sort -n | head -1"
    if told.ending in LONG_ENDINGS:
        listed = f"SELECT list(item ORDER BY item) AS items FROM {literal(source)} GROUP BY record"
        return f"-- in DuckDB\nSELECT min(n) FROM (SELECT count(*) AS n FROM ({listed}) GROUP BY items);"
    return f"-- in DuckDB\nSELECT min(n) FROM (SELECT count(*) AS n FROM {literal(source)} GROUP BY list_sort(items));"
