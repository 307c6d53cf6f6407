"""``python -m benchmarks``: run them all, print ratios, write ``benchmarks/results/<name>.json``.

Absolute times are only a guide: machines differ and are noisy. Every case is the best of five after a
warm-up, alternating with what it is compared to, in one process, with files in the page cache for both.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks import (
    curves,
    databases,
    folders,
    foundation,
    refine,
    requirements,
    scale,
    sheets,
    spark,
    studio,
    workload,
)

SUITES = {
    "foundation": foundation.run,
    "folders": folders.run,
    "databases": databases.run,
    "requirements": requirements.run,
    "workload": workload.run,
    "scale": scale.run,
    "sheets": sheets.run,
    "curves": curves.run,
    "refine": refine.run,
    "spark": spark.run,
    "studio": studio.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suite", nargs="*", choices=[*SUITES, []], help="which to run; all by default")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the records or fewer, without the largest case"
    )
    arguments = parser.parse_args()
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    for name in arguments.suite or SUITES:
        with tempfile.TemporaryDirectory() as folder:
            cases = SUITES[name](Path(folder), quick=arguments.quick)
        (results / f"{name}.json").write_text(json.dumps(cases, indent=1))


if __name__ == "__main__":
    main()
