"""What goes wrong on a cluster, in one sentence on the driver and without cell values.

Spark logs what it is told, on every machine, and quotes the value that a query failed at. So an error of a task travels
as a line of JSON that names its kind, without the values that it may hold for who asks to see them; and of Spark's own
errors nothing is told but their class.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rothko import errors
from rothko.errors import InputError, RothkoError

MARK = "rothko says: "
SAID = re.compile(re.escape(MARK) + r"(\{.*?\})(?:\n|$)")
ABSENT = re.compile(r"No module named '([\w.]+)'")
QUOTING = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Where PySpark logs errors of queries."""


@contextmanager
def quietly() -> Iterator[None]:
    """Keep to itself what PySpark says beside what it does.

    Wherever Arrow is used, it warns of a version of pandas that it does not know. And it logs the error of a query with
    the value that it failed at.
    """
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in QUOTING]
    before = [logger.disabled for logger in loggers]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        for logger in loggers:
            logger.disabled = True
        try:
            yield
        finally:
            for logger, disabled in zip(loggers, before, strict=True):
                logger.disabled = disabled


@contextmanager
def told() -> Iterator[None]:
    """Say what went wrong, and nothing else, to the driver."""
    try:
        yield
    except RothkoError as error:
        about = {"kind": type(error).__name__, "message": str(error)}
        raise RuntimeError(MARK + json.dumps(about)) from None
    except Exception as error:  # whatever it is, Spark would log it with what it quotes
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        place = "" if at is None else f" at {at.tb_frame.f_globals.get('__name__', '')}:{at.tb_lineno}"
        about = {"kind": "", "message": f"{type(error).__name__}{place}"}
        raise RuntimeError(MARK + json.dumps(about)) from None


@contextmanager
def understood() -> Iterator[None]:
    """Turn what Spark says of a job that failed into one sentence."""
    try:
        with quietly():
            yield
    except RothkoError:
        raise
    except Exception as error:  # of Py4J, of gRPC, of Spark: they share no base, and may quote cells
        text = str(error)
        found = SAID.search(text)
        if found:
            about = json.loads(found[1])
            kind = getattr(errors, about["kind"], None)
            if isinstance(kind, type) and issubclass(kind, RothkoError):
                again = RothkoError.__new__(kind)
                RothkoError.__init__(again, about["message"])
                raise again from None
            raise AssertionError(f"a task of Spark failed: {about['message']}") from None
        absent = ABSENT.search(text)
        if absent:
            raise InputError(
                f"The executors cannot import {absent[1]!r}: install rothko where they run, or ship it to them "
                "(docs/spark.md)."
            ) from None
        raise InputError(f"Spark could not do what it was asked: {_condition(error)}") from None


def _condition(error: Exception) -> str:
    """What of an error of Spark tells no cell: its class of condition, where it has one."""
    condition = getattr(error, "getCondition", lambda: None)()
    return f"{type(error).__name__} {condition or ''}".strip() + "."
