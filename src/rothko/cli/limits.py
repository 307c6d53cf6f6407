"""Limits that a shell sets on the process (``ulimit -v``), looked at before anything large is loaded.

What Python and the libraries raise for want of memory is told as every other error. Beneath them are allocators and
thread pools that end the process instead; under a limit the work is therefore left to a child, whose end is told.
"""

from __future__ import annotations

import os
import signal
import sys

import typer

from rothko.errors import InputError
from rothko.progress import count_threads

NEEDED = 2_000_000_000
"""Address space without which NumPy, Numba, PyArrow and DuckDB do not start, or end in an abort, a segmentation fault
or a wait for a thread that was never there (measured on two cores: all of these up to 1.5 GB, hardly any from 2.2)."""
EACH_CORE = 100_000_000
"""For the stacks and the heaps of threads."""
CRASHES = {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, 127}
"""How a process ends whose libraries find no memory; 127 is the C library's, which had none for a thread."""


def keep_address_space() -> None:
    """Refuse a limit of the address space that is hopeless; under another one, return in a child that is watched."""
    try:
        import resource
    except ImportError:  # no such limit on Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    granted = f"limited to {limit / 1e9:.1f} GB (ulimit -v)"
    needed = NEEDED + EACH_CORE * count_threads(None)
    if limit < needed:
        raise InputError(
            f"The address space of this process is {granted} and rothko reserves {needed / 1e9:.1f} GB at least, most "
            "of which it never uses; raise that limit, or lift it and use --memory."
        )
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until it is known who is to get it
    child = os.fork()
    if not child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    else:
        code = _watched(child)
        if code in CRASHES:
            typer.echo(
                f"Error: the process ran out of address space, which is {granted}; raise that limit, or lift it and "
                "use --memory.",
                err=True,
            )
        sys.stderr.flush()
        os._exit(2 if code in CRASHES else code if code >= 0 else 128 - code)


def _watched(child: int) -> int:
    """The exit code of a child; signals are passed on, but for those that a terminal sends to both."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
