"""What goes wrong on a cluster, in one sentence on the driver and without cell values.

Spark logs what it is told, on every machine, and quotes the value that a query failed at. So an error of a task travels
as a line of JSON that names its kind, without the values that it may hold for who asks to see them; and of Spark's own
errors nothing is told but the names of their classes, and in words of our own what is known to make jobs fail: memory,
disks, executors that are gone.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from rothko import errors
from rothko.errors import InputError, RothkoError
from rothko.mistakes import said

MARK = "rothko says: "
SAID = re.compile(re.escape(MARK) + r"(\{.*?\})(?:\n|$)")
ABSENT = re.compile(r"No module named '([\w.]+)'")
QUOTING = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Where PySpark logs errors of queries."""


THROWN = re.compile(
    r"\b((?:java|javax|jdk|scala|io\.netty|io\.grpc|py4j|org\.apache)(?:\.[a-z_]\w*)+\.[A-Z]\w*(?:Exception|Error))\b"
)
"""An exception of Java, by the name of its class: a cell does not look like one."""
WRAPPING = frozenset(
    {"SparkException", "SparkRuntimeException", "PythonException", "Py4JJavaError", "ExecutionException"}
)
"""Those that say no more than that something failed."""
MOST_NAMED = 4
"""Classes in one sentence."""
HEAP = "spark.driver.memory where Spark runs on this machine, else spark.executor.memory"


class Cause(NamedTuple):
    """What makes jobs fail without being wrong."""

    sign: re.Pattern[str]
    """What Spark says then."""
    what: str
    to_try: str


CAUSES = (
    Cause(
        re.compile(r"SESSION_OR_CONTEXT_NOT_EXISTS|methods on a stopped SparkContext|NO_ACTIVE_SESSION"),
        "its session was stopped",
        "make the DataFrame again in a new session",
    ),
    Cause(
        re.compile(r"No space left on device|Disk quota exceeded"),
        "a disk is full",
        "make room where Spark keeps its files (spark.local.dir) and where the release is written, or name other disks",
    ),
    Cause(
        re.compile(r"OutOfDirectMemoryError|org\.apache\.arrow\.memory\.OutOfMemoryException|Direct buffer memory"),
        "Java had no memory left for what it hands to Python",
        f"give it more ({HEAP}), or have fewer tasks at a time",
    ),
    Cause(
        re.compile(r"OutOfMemoryError|UNABLE_TO_ACQUIRE_MEMORY|GC overhead"),
        "Java had no memory left",
        f"give it more ({HEAP}), or have fewer tasks at a time",
    ),
    Cause(
        re.compile(r"spark\.driver\.maxResultSize"),
        "more came to the driver than spark.driver.maxResultSize lets through",
        "raise it",
    ),
    Cause(
        re.compile(r"Python worker (?:exited|failed|crashed)|python worker.*crashed|Unable to fork|Cannot run program"),
        "the Python of a task was ended from outside, or could not start",
        "most often the machine had no memory left: raise spark.executor.memoryOverhead, lower {memory}, or have fewer "
        "tasks at a time",
    ),
    Cause(
        re.compile(r"ExecutorLostFailure|Executor heartbeat timed out|Slave lost|Remote RPC client disassociated"),
        "executors were lost again and again",
        "most often they took more memory than they may: raise spark.executor.memoryOverhead, or lower {memory}",
    ),
    Cause(
        re.compile(r"Connection refused|Answer from Java side is empty|SparkContext (?:was|has been) (?:shut|stopped)"
                   r"|cancelled because SparkContext|Error while sending or receiving|UNAVAILABLE"
                   r"|ClosedByInterruptException"),
        "its Java has ended, or its server is gone",
        f"most often there was no memory left: give it more ({HEAP}), and make the session again",
    ),
)  # fmt: skip
"""In the order in which they are looked for: what is told first is the cause of what comes later."""


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
        raise InputError(_sentence(error, text)) from None


def _sentence(error: Exception, text: str) -> str:
    """What of an error of Spark tells no cell: the names of classes, its condition, and a cause that is known.

    >>> _sentence(OSError(), "java.io.IOException: No space left on device")
    'Spark could not do what it was asked, for a disk is full (OSError, IOException): make room where Spark keeps its \
files (spark.local.dir) and where the release is written, or name other disks.'
    """
    thrown = (name.rpartition(".")[2] for name in THROWN.findall(text))
    condition = getattr(error, "getCondition", lambda: None)()
    named = [type(error).__name__, *([condition] if condition else []), *(n for n in thrown if n not in WRAPPING)]
    classes = ", ".join(list(dict.fromkeys(named))[:MOST_NAMED])
    found = next((cause for cause in CAUSES if cause.sign.search(text)), None)
    if found is None:
        return f"Spark could not do what it was asked: {classes}."
    to_try = found.to_try.format(memory=said("--memory"))
    return f"Spark could not do what it was asked, for {found.what} ({classes}): {to_try}."
