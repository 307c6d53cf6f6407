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

from rothko.sets.bench import SetFrontier, SetTrial, compare
from rothko.sets.certificate import SavedSets
from rothko.sets.files import Reading, read_records
from rothko.sets.publish import SetMetrics
from rothko.sets.records import Records
from rothko.sets.release import SetRelease, anonymize, prepare

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
