"""What options of the command line are called in pages: fields say so, and so do sentences that tell what to try."""

from __future__ import annotations

FIELDS = {
    "--delimiter": "Delimiter",
    "--quote": "Quote",
    "--encoding": "Encoding",
    "--header": "Names in the first line",
    "--decimal": "Before decimals",
    "--sheet": "Sheet",
    "--memory": "Memory, at most",
}
"""Option → the label of its field."""
