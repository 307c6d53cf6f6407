"""``python -m rothko``: the command line."""

from rothko.cli import main

main()
