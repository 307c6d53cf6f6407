"""What Spark forks its Python workers from, in tests: Spark's own, which looks for less garbage after each task.

After each task it has a worker look at every object that it holds, mostly those of modules: a quarter of a second, and
four fifths of what the workers of the tests took. What a task leaves is among the youngest; the rest Python looks at by
itself, when there is more of it.
"""

from __future__ import annotations

import gc
from functools import partial
from types import SimpleNamespace

from pyspark import daemon

if __name__ == "__main__":
    daemon.gc = SimpleNamespace(collect=partial(gc.collect, 0))  # type: ignore[attr-defined]
    daemon.manager()
