"""What every test may use."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

# The tests are no package (importlib mode), so the plain twins in `twins/` are found by this path.
sys.path.insert(0, str(Path(__file__).parent))

# The same examples in every run, so that a run means the same for everybody; `--hypothesis-profile=explore` looks for
# new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile("same")
