"""The site: the pages of ``docs``, the reference of the code beside them, and one call of Zensical, in which every
warning is an error.

Everything is put together in a folder of its own, so that the pages in the repository stay plain Markdown with nothing
generated among them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import rothko
from pages import api

HERE = Path(__file__).parent
ROOT = HERE.parent
OURS = ("style.css", "mark.svg", "iframe-worker.js")
"""What the pages look like, beside the theme, and what makes search work in files."""


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


def main() -> None:
    """``python -m pages``: the site in ``site``."""
    there = ROOT / "site"
    built = build(ROOT / "build/site")
    shutil.rmtree(there, ignore_errors=True)
    shutil.move(built, there)
    print(f"{len(list(there.rglob('*.html')))} pages: {there / 'index.html'}")
