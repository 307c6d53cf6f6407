"""Spark in the tests: one session for each process of theirs, made when the first test asks for it.

A Java that lives for some seconds spends most of them on compiling what it runs: told to compile once and quickly, it
takes half the time. Nor are queries on a few thousand records turned into Java to be compiled: they take a third less.
Its Python workers, too, do less after each task (``tests/spark_daemon.py``).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""Settings of a Java that does little."""
FEW_RECORDS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings of a session that does little."""


def quick_java() -> None:
    """Have Spark start such a Java, which logs nothing, and such a Python."""
    from rothko.engines.spark.session import LOGGING

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = f"-Dlog4j2.configurationFile={LOGGING} -Dspark.python.daemon.module=tests.spark_daemon"
    os.environ["SPARK_SUBMIT_OPTS"] = f"{settings} {QUICK}"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of Spark on this machine, with two tasks at a time."""
    from rothko.engines.spark.session import session

    quick_java()
    pressed = signal.getsignal(signal.SIGINT)
    with pytest.MonkeyPatch.context() as patched:  # Java, and the Python that it starts, find the daemon there
        patched.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        made = session("local[2]")
    signal.signal(signal.SIGINT, pressed)  # PySpark puts its own there, and other tests press Ctrl-C
    for name, value in FEW_RECORDS.items():
        made.conf.set(name, value)
    yield made
    made.stop()
