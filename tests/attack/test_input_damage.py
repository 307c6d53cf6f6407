"""Damaged input ends in exit code 2 and one sentence, or is read; never in a crash, a traceback or a cell to see.

Each kind of file goes through many damages in a process of its own (``damaged_inputs.py``), since a crash would take
pytest with it. From the environment:

ROTHKO_FUZZ_DAMAGES
    How many damages of each kind of file; 120 by default.
ROTHKO_FUZZ_SECONDS
    How long each kind of file is damaged at least, however many damages that makes; 0 by default.
ROTHKO_FUZZ_SEED
    Which damages; 1 by default. Another seed, other damages.

``python tests/attack/damaged_inputs.py SEED NUMBER 1 0 KIND`` tries one damage again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.attack.damaged_inputs import KINDS, SECRET

DAMAGES = int(os.environ.get("ROTHKO_FUZZ_DAMAGES", "120"))
SECONDS = float(os.environ.get("ROTHKO_FUZZ_SECONDS", "0"))
SEED = int(os.environ.get("ROTHKO_FUZZ_SEED", "1"))
PROGRAM = Path(__file__).with_name("damaged_inputs.py")
PATIENCE = 60
"""Seconds after which a damage counts as endless."""


GROUPS = {
    "tables": ["arrow", "parquet", "csv", "csv.gz"],
    "sets": ["sets arrow", "sets parquet", "sets lines", "sets lines.gz", "utilities"],
    "policies": ["policy", "policy as JSON", "hierarchy"],
}
"""What goes through one process: starting one takes as long as a hundred damages."""


def wrong(code: int, said: str) -> bool:
    """Whether a run did not end as it should: done, or refused in one sentence that shows no cell."""
    refused = code in (2, 3) and said.startswith("Error: ") and said.count("\n") == 1
    checked = code == 4 and said.startswith("requirement")
    return SECRET in said or not (code == 0 or refused or checked)


def test_every_kind_is_in_a_group() -> None:
    assert sorted(KINDS) == sorted(kind for kinds in GROUPS.values() for kind in kinds)


@pytest.mark.parametrize("group", GROUPS)
def test_a_damaged_file_is_refused_in_one_sentence_or_read(group: str) -> None:
    command = [sys.executable, str(PROGRAM), str(SEED), "0", str(DAMAGES), str(SECONDS), *GROUPS[group]]
    tried, failures, refused = None, [], set()
    clock = threading.Timer(PATIENCE, print)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stderr is not None
        for line in worker.stdout:
            clock.cancel()
            told = json.loads(line)
            if "what" in told:
                tried, clock = told, threading.Timer(PATIENCE, worker.kill)
                clock.start()
                continue
            if told["code"] == 2:
                refused.add(told["kind"])
            if wrong(told["code"], told["said"]):
                failures.append((tried, told["code"], told["said"]))
            tried = None
        rest = worker.stderr.read()
    assert (worker.returncode, tried) == (0, None), f"seed {SEED}: the process died in {tried}: {rest[-2000:]}"
    assert not failures, f"seed {SEED}: {failures[:3]}"
    assert refused == set(GROUPS[group]), "damages that nothing notices are none"
