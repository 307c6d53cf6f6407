"""``python -m rothko``: the command line."""

from rothko.cli.process import run

run()
