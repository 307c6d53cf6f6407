"""A Spark session: the one that is there, or one that is made for the run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from rothko.data.source.spark_errors import quietly
from rothko.engines.spark.java import use_java
from rothko.errors import InputError, MissingExtraError
from rothko.mistakes import said

LOCAL = "local[*]"
"""All cores of this machine: what is used where no other place is named."""
OF_OUR_OWN = {
    "spark.app.name": "rothko",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
"""Settings of a session that is made here; of somebody else's, none is touched."""
LOGGING = Path(__file__).with_name("log4j2.properties")
"""Nothing is logged: what goes wrong is told in one sentence, and Spark's own words may quote cells."""


def session_of(frame: Any) -> Any:
    """The session of a DataFrame; an error where it was stopped."""
    session = frame.sparkSession
    try:
        session.range(1).collect()
    except Exception:  # of Py4J, of gRPC or of Spark, which share no base
        raise InputError(
            "The Spark session of this DataFrame does not answer: it was stopped, or its server is gone; make the "
            "DataFrame again in a new session."
        ) from None
    return session


def session(master: str | None = None) -> Any:
    """The active session, or one at a master: local[*], spark://…, yarn, k8s://…, or sc://… for Spark Connect."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("engine: spark needs PySpark; pip install 'rothko[spark]'.") from None
    active = SparkSession.getActiveSession()
    if active is not None and master is None:
        return active
    where = master or LOCAL
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    with quietly():
        try:
            if where.startswith("sc://"):
                return builder.remote(where).getOrCreate()
            use_java()
            # Read when Java starts, before any setting of the session.
            os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-Dlog4j2.configurationFile={LOGGING}")
            for name, value in OF_OUR_OWN.items():
                builder = builder.config(name, value)
            if where.startswith("local"):
                builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config(
                    "spark.driver.host", "127.0.0.1"
                )
            return builder.master(where).getOrCreate()
        except MissingExtraError:
            raise
        except Exception as error:  # of the launcher, of Py4J, of gRPC or of Spark, which share no base
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise InputError(
                f"No Spark session could be opened at {where}: {reason}; correct {said('--spark-master')}."
            ) from None
