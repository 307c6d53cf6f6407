"""The report: one HTML file for those who answer for a release, or use it, and the JSON of all that is drawn in it.

For the public it is made from the public files alone (:mod:`rothko.report.released`), so that it cannot tell more than
they do. For the steward, who gives the original, it tells how things were before (:mod:`rothko.report.steward`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from rothko.data.source.csv import CsvOptions
from rothko.errors import InputError
from rothko.metrics.risk import THRESHOLD
from rothko.mistakes import said
from rothko.plots.model import Picture, dump
from rothko.policy.draft import as_policy
from rothko.policy.policy import Policy
from rothko.release.claims import claim_files
from rothko.release.names import named_file
from rothko.release.staging import Claim, staging
from rothko.report import figures, page, public
from rothko.report.painting import paint
from rothko.report.released import Beside, Released, read_release
from rothko.report.spans import all_spans

if TYPE_CHECKING:
    from rothko.report.steward import Before

Audience = Literal["public", "steward"]
AUDIENCES = get_args(Audience)


@dataclass(frozen=True, slots=True)
class Report:
    """A page, and what is drawn in it."""

    html: str = field(repr=False)
    """The page."""
    pictures: tuple[Picture, ...] = field(repr=False)
    """All that is drawn in it."""
    audience: Audience = "public"
    release: str = ""
    """The hash of the released file."""

    @property
    def json(self) -> str:
        """All that is drawn, as plain data."""
        return dump(self.pictures, release=self.release)

    def _repr_html_(self) -> str:
        # A page in the page: neither its style nor its script reaches the notebook.
        look = "width:100%;height:42em;border:0"
        return (
            f'<iframe title="Report for the {self.audience}" sandbox="allow-scripts" style="{look}" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page, and the JSON of its pictures beside it; where it is not for the public, for nobody else."""
        page = named_file(path)
        return self.write(claim_files([page, page.with_suffix(".json")], overwrite=overwrite, endings=(".html",)))

    def write(self, claim: Claim) -> Path:
        """Write the page and the JSON under two names that were looked at; the first of them."""
        html, pictures = claim.before
        with staging(claim) as stage:
            for target, content in ((html, self.html), (pictures, self.json)):
                if self.audience == "public":
                    stage.write(target, content)
                else:
                    stage.write_hidden(target, content)
            stage.commit()
        return html


@dataclass(slots=True)
class Drawn:
    """Pictures in the order in which they come."""

    pictures: list[Picture] = field(default_factory=list)

    def __call__(self, picture: Picture) -> page.Html:
        """Put a picture into the page, and remember it."""
        self.pictures.append(picture)
        return page.shown(picture)


def report(
    release: Any,
    *,
    audience: Audience = "public",
    original: Any = None,
    policy: Any = None,
    threshold: float = THRESHOLD,
    x: str | None = None,
    y: str | None = None,
    threads: int | None = None,
    csv: CsvOptions | None = None,
) -> Report:
    """A report about a release.

    Parameters
    ----------
    release
        A release, or where it was saved: its folder, its data file or its certificate.
    audience
        ``public``: nothing that the certificate and the released file do not tell; ``steward``: how things were before,
        too, which is not for publication and needs the original.
    original
        The table that was released, for the steward.
    policy
        The policy of the release, where it needs files for its hierarchies; that of the certificate otherwise.
    threshold
        A risk above which records are counted.
    x, y
        The quasi-identifiers of the painting.
    """
    check_asked(audience, original, threshold)
    asked = None if policy is None else as_policy(policy)
    released = read_release(release, beside=None if audience == "public" else _needed(asked), threads=threads)
    if not released.records:
        raise InputError("The release has no records, and there is nothing to report.")
    before = None
    if audience == "steward":
        from rothko.report.steward import look_before

        before = look_before(original, released, asked, threshold, threads=threads, csv=csv)
    return told(released, before, threshold, x=x, y=y)


def told(
    released: Released, before: Before | None, threshold: float, *, x: str | None = None, y: str | None = None
) -> Report:
    """A report about what was read.

    Parameters
    ----------
    before
        How things were, for the steward; None for the public.
    """
    draw = Drawn()
    spans = all_spans(released)
    opening = draw(paint(released, x=x, y=y, spans=spans))
    if before is None:
        columns = [figures.distribution(released, name, place) for name, place in spans.items()]
        sections = _public(released, threshold, draw, columns)
    else:
        sections = _steward(released, before, threshold, draw)
    audience: Audience = "public" if before is None else "steward"
    html = _page(released, opening, sections, audience)
    return Report(html, tuple(draw.pictures), audience, released.certificate["file_sha256"] or "")


def check_asked(audience: str, original: Any, threshold: float) -> None:
    """Refuse a report that nobody is to read, or that would tell the public of the original."""
    if audience not in AUDIENCES:
        raise InputError(f"A report is for the public or for the steward, not for {audience!r}.")
    if (audience == "steward") != (original is not None):
        raise InputError(
            f"A report for the steward tells how things were before; give the original with {said('--original')}."
            if audience == "steward"
            else f"What the original tells is not for the public; ask for {said('--for', 'steward')}, or leave it out."
        )
    if not 0 < threshold < 1:
        raise InputError(f"The threshold of a risk must lie between 0 and 1, not be {threshold:g}.")


def _needed(policy: Policy | None) -> Beside:
    """What a report for the steward must know of the columns that leave as they are."""
    from rothko.report.steward import needed

    return needed if policy is None else lambda _: needed(policy)


def _public(released: Released, threshold: float, draw: Drawn, columns: Sequence[Picture]) -> list[page.Section]:
    return [
        public.holds(released),
        public.risk_section(released, threshold, draw, [page.text(public.NOT_BEFORE, faint=True)], None),
        public.lost(released, draw, [draw(one) for one in columns], [], None),
        *_closing(released),
    ]


def _steward(released: Released, before: Before, threshold: float, draw: Drawn) -> list[page.Section]:
    from rothko.report import steward

    return [
        public.holds(released),
        public.risk_section(released, threshold, draw, steward.told_apart(before, draw), before.unique.whole),
        public.lost(
            released, draw, steward.distributions(before, draw), steward.hangs_together(before, draw),
            before.tasks,
        ),
        *_closing(released),
    ]  # fmt: skip


def _closing(released: Released) -> list[page.Section]:
    return [public.rows(released), public.policy(released), public.limits(released), public.checked(released)]


def _page(released: Released, opening: page.Html, sections: Sequence[page.Section], audience: Audience) -> str:
    certificate = released.certificate
    held = "Every requirement holds" if certificate["verified"] else "Not every requirement holds"
    smallest = certificate["loss"]["smallest_class"]
    # Not where quasi-identifiers are exact, people have several records, or sets of columns are asked about alone.
    by_class = certificate["verified"] and public.found_by_class(released.policy)
    lead = (
        f"{certificate['rows']:,} records in {certificate['classes']:,} classes, the smallest with "
        f"{smallest:,}. {held} in the bytes that were released"
        + (f": whoever looks for somebody is right at most once in {smallest:,} times." if by_class else ".")
    )
    how = f"engine {certificate['engine']['name']}, seed {certificate['seed']}"
    return whole_page(Path(released.file).name, certificate, lead, how, opening, sections, audience)


def whole_page(
    name: str, certificate: Mapping[str, Any], lead: str, how: str, opening: page.Html,
    sections: Sequence[page.Section], audience: Audience,
) -> str:  # fmt: skip
    """The page about a release, with what it was made from and for whom.

    Parameters
    ----------
    how
        What the footer says of how the release was made.
    """
    if audience == "steward":
        lead += " For the steward: this page has facts of the original, and is not for publication."
    footer = [
        f"Made from the certificate and the released file{'' if audience == 'public' else ', and from the original'}. "
        f"rothko {certificate['versions']['rothko']}, {how}.",
    ]
    title = f"{name}: a release and its protection"
    return page.page(title, lead, opening, sections, footer, mark=certificate["file_sha256"] or "")
