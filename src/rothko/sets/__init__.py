"""Set-valued records: who bought what, who is interested in what, with a utility for every item.

A class of records publishes the items that all of them share. After Podgursky, "Practical k-Anonymity on Large
Datasets" (Vanderbilt, 2011).

>>> import rothko as rk
>>> baskets = [["tea", "milk"], ["tea", "milk", "gin"], ["tea"], ["tea", "bread"]]
>>> release = rk.sets.anonymize(baskets, k=2)
>>> sorted(release.to_lists())
[['milk', 'tea'], ['milk', 'tea'], ['tea'], ['tea']]
>>> release.metrics.utility_kept
0.75
"""

from __future__ import annotations

from rothko.sets.comparison import SetFrontier, SetTrial, compare
from rothko.sets.files import Reading, read_records
from rothko.sets.flow import SavedSets, SetRelease, anonymize, prepare
from rothko.sets.records import Records
from rothko.sets.verify import SetMetrics

__all__ = [
    "Reading",
    "Records",
    "SavedSets",
    "SetFrontier",
    "SetMetrics",
    "SetRelease",
    "SetTrial",
    "anonymize",
    "compare",
    "prepare",
    "read_records",
]
