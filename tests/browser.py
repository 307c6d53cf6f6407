"""The browser that pages are opened in, where there is one."""

from __future__ import annotations

import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for found in map(shutil.which, NAMES) if found), None)
LEFT_OUT = "Left out: no page was opened in a browser, for there is no Chromium on this machine."
