"""A Spark session: the one that is there, or one that is made for the run."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from rothko.engines.spark.java import java_home
from rothko.errors import InputError, MissingExtraError
from rothko.mistakes import said

LOCAL = "local[*]"
"""All cores of this machine: what is used where no other place is named."""
OF_OUR_OWN = {
    "spark.app.name": "rothko",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
}
"""Settings of a session that is made here; of somebody else's, none is touched."""


def session_of(frame: Any) -> Any:
    """The session of a DataFrame; an error where it was stopped."""
    session = frame.sparkSession
    try:
        session.range(1).collect()
    except Exception:
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of PySpark about pandas, which is not used
        try:
            if where.startswith("sc://"):
                return builder.remote(where).getOrCreate()
            home = java_home()
            if home is not None:
                os.environ["JAVA_HOME"] = str(home)
            for name, value in OF_OUR_OWN.items():
                builder = builder.config(name, value)
            if where.startswith("local"):
                builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config(
                    "spark.driver.host", "127.0.0.1"
                )
            return builder.master(where).getOrCreate()
        except (MissingExtraError, KeyboardInterrupt):
            raise
        except Exception as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise InputError(
                f"No Spark session could be opened at {where}: {reason}; correct {said('--spark-master')}."
            ) from None
