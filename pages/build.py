"""The site: the pages of ``docs``, the reference of the code beside them, and one call of Zensical, in which every
warning is an error.

Everything is put together in a folder of its own, so that the pages in the repository stay plain Markdown with nothing
generated among them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import rothko
from pages import api

HERE = Path(__file__).parent
ROOT = HERE.parent
OURS = ("style.css", "mark.svg", "iframe-worker.js", "versions-menu.js", "scrolled.js")
"""What the pages look like, beside the theme, what makes search work in files, and the menu of versions."""
LIST = "versions.js"
"""The versions of a site, as a script: a page that is read as a file may load one, and no other list."""


def build(place: Path) -> Path:
    """Put the site together below a folder, and return the folder of the built pages."""
    docs = place / "docs"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("*.json"))
    (docs / "assets").mkdir()
    for name in OURS:
        shutil.copy(HERE / name, docs / "assets" / name)
    reference = docs / "reference/api"
    reference.mkdir()
    for name, text in api.pages().items():
        (reference / name).write_text(text, encoding="utf-8")
    listed = json.dumps([f"reference/api/{name}.md" for name in ("index", *rothko.__all__)])
    settings = (HERE / "zensical.toml").read_text("utf-8")
    settings = settings.replace("VERSION", rothko.__version__).replace('"API" = API', f'"API" = {listed}')
    (place / "zensical.toml").write_text(settings, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"], cwd=place, env={**os.environ, "NO_COLOR": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit((done.stdout + done.stderr).partition("Traceback")[0])
    return place / "site"


def place(built: Path, site: Path, version: str) -> list[str]:
    """Put built pages beside those of other versions, in a folder of their own; all versions, the newest first."""
    if (site / "assets").is_dir():  # a site of one version, as it was before there were folders
        shutil.rmtree(site)
    site.mkdir(exist_ok=True)
    shutil.rmtree(site / version, ignore_errors=True)
    shutil.move(built, site / version)
    found = [path.name for path in site.iterdir() if (path / "index.html").is_file() and path.name[:1].isdigit()]
    versions = sorted(found, key=_order, reverse=True)
    (site / LIST).write_text(f"window.rothkoVersions = {json.dumps(versions)};\n", encoding="utf-8")
    first = f"{versions[0]}/index.html"
    leads = f'<meta http-equiv="refresh" content="0; url={first}"><p><a href="{first}">rothko {versions[0]}</a></p>'
    (site / "index.html").write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>rothko</title>{leads}</html>\n', encoding="utf-8"
    )
    return versions


def _order(version: str) -> tuple[list[int], bool, str]:
    """Versions by their numbers; what comes after these (0.2.0rc1) comes before the version itself.

    >>> sorted(["0.10.0", "0.9.1", "0.10.0rc1"], key=_order)
    ['0.9.1', '0.10.0rc1', '0.10.0']
    """
    numbers = re.match(r"[\d.]+", version)
    released = numbers is not None and numbers[0] == version
    return [int(one) for one in re.findall(r"\d+", numbers[0] if numbers else "")], released, version


def main() -> None:
    """``python -m pages``: the site of this version in ``site/VERSION``, beside those that were built before."""
    there = ROOT / "site"
    versions = place(build(ROOT / "build/site"), there, rothko.__version__)
    pages = len(list((there / rothko.__version__).rglob("*.html")))
    print(f"{pages} pages of {rothko.__version__}, versions {', '.join(versions)}: {there / 'index.html'}")
