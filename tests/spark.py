"""Spark in the tests: one session for each process of theirs, made when the first test asks for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of Spark on this machine, with two tasks at a time."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from rothko.engines.spark.session import session

    made = session("local[2]")
    made.conf.set("spark.sql.shuffle.partitions", "4")
    yield made
    made.stop()
