"""What pages look like: small pictures of them that are kept, and how near another one must come.

    python -m tests.report.looks          say how far pages are from what they were
    python -m tests.report.looks --record keep what they look like now; look at every picture first

Letters are drawn by what a machine has, and lines break elsewhere by a word or two. So it is not pixels that are
compared, but how light blocks of them are, and what colour: a stylesheet that is lost, a plot that is not drawn or the
colours of the night by day are far from what was, another font is not.
"""

from __future__ import annotations

import io
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image

import rothko as rk
from pages.gallery import PATIENTS
from rothko.comparison.sheet import Making, sheet
from rothko.generate.patients import patients
from rothko.report.forms import formed
from rothko.report.painting import paint
from rothko.report.released import read_release
from tests.browser import Browser, opened, running

GOLDEN = Path(__file__).parent / "golden"
LOOKS = {
    f"{name}-{width}{'-night' if night else ''}": (name, width, night)
    for name in ("report", "painting", "compare", "sets")
    for width, night in ((400, False), (1000, False), (1000, True), (1600, False))
}
"""Name of a picture → the page, how wide it is, and whether it is night."""
SMALLER = 4
"""How many pixels of a page are one of a picture that is kept, along each side."""
HIGH = 2000
"""Pixels of a page that are looked at, from its top."""
BLOCK = 20
"""Pixels of a kept picture that are compared as one, along each side."""
NEAR = 11.0
"""How far blocks may be apart on average, of 255."""

POLICY = f"{PATIENTS}workload: [{{classify: {{target: diagnosis}}}}]\n"


def made_hospital(folder: Path) -> Path:
    """A folder with ``patients.parquet``, its release in ``release`` and the policy in ``policy.yaml``."""
    (folder / "policy.yaml").write_text(POLICY)
    pq.write_table(patients(600), folder / "patients.parquet")
    rk.anonymize(folder / "patients.parquet", folder / "policy.yaml").save(folder / "release")
    return folder


def made_pages(hospital: Path, folder: Path) -> dict[str, Path]:
    """A report, a painting, a comparison and a report of sets, as files."""
    found = rk.compare(
        hospital / "patients.parquet", POLICY.partition("workload")[0], methods=["mondrian", "hilbert", "cluster"],
        k=[3, 10, 30, 900],
    )  # fmt: skip
    # Times are those of a machine, and of the moment.
    trials = [
        one if one.lost is None else replace(one, partition_seconds=0.01 * at, seconds=0.02 * at)
        for at, one in enumerate(found.trials, 1)
    ]

    def making(trial: object) -> Making:
        return Making(f"rothko anonymize patients.parquet --k {trial.k} --method {trial.method}")  # type: ignore[attr-defined]

    content = {
        "report": (hospital / "release/report.html").read_bytes(),
        "painting": formed(paint(read_release(hospital / "release")), ".html"),
        "compare": sheet(replace(found, trials=tuple(trials)), making).encode(),
        "sets": _baskets_told().encode(),
    }
    for name, html in content.items():
        (folder / f"{name}.html").write_bytes(html)
    return {name: folder / f"{name}.html" for name in content}


def _baskets_told() -> str:
    """The report of a few hundred baskets, for the steward."""
    drawn = np.random.default_rng(0).random((400, 16)) < 0.7 / np.arange(1, 17) ** 0.6
    baskets = [[f"item {i}" for i in np.flatnonzero(one)] for one in drawn]
    told: str = rk.sets.anonymize(baskets, k=4, method="set-mondrian").report(audience="steward", original=baskets).html
    return told


def pictured(browser: Browser, page: Path, *, width: int, night: bool, style: str = "") -> Image.Image:
    """A small picture of a page, with a style that is added to its own."""
    with opened(browser, page, width=width, night=night) as shown:
        if style:
            shown.run(f"document.head.appendChild(document.createElement('style')).textContent={style!r}")
        whole = Image.open(io.BytesIO(shown.picture(most=HIGH))).convert("RGB")
    return whole.resize((whole.width // SMALLER, whole.height // SMALLER), Image.Resampling.BOX)


def apart(one: Image.Image, other: Image.Image) -> float:
    """How far two pictures are from each other: the mean over blocks, of 255; far where they are not of one size."""
    if one.width != other.width or abs(one.height - other.height) > 0.1 * max(one.height, other.height):
        return 255.0
    high = min(one.height, other.height)
    return float(np.abs(_blocks(one, high) - _blocks(other, high)).mean())


def _blocks(image: Image.Image, high: int) -> NDArray[np.float64]:
    across, down = image.width // BLOCK, high // BLOCK
    pixels = np.asarray(image.convert("RGB"), dtype=np.float64)[: down * BLOCK, : across * BLOCK]
    return pixels.reshape(down, BLOCK, across, BLOCK, 3).mean(axis=(1, 3))


def kept(name: str) -> Image.Image:
    """The picture that was kept."""
    return Image.open(GOLDEN / f"{name}.png").convert("RGB")


def main(record: bool) -> None:
    """Record all pictures, or say how far they are from what they were."""
    with tempfile.TemporaryDirectory() as name, running(Path(name) / "profile") as browser:
        folder = Path(name)
        (folder / "hospital").mkdir()
        pages = made_pages(made_hospital(folder / "hospital"), folder)
        for look, (page, width, night) in LOOKS.items():
            now = pictured(browser, pages[page], width=width, night=night)
            if record:
                GOLDEN.mkdir(exist_ok=True)
                now.quantize(64).save(GOLDEN / f"{look}.png", optimize=True)
            print(f"{look}: {apart(now, kept(look)):.2f}, of {NEAR:g} at most")


if __name__ == "__main__":
    main("--record" in sys.argv[1:])
