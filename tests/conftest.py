"""What every test may use."""

from __future__ import annotations

import sys
from pathlib import Path

# The tests are no package (importlib mode), so the plain twins in `plain.py` are found by this path.
sys.path.insert(0, str(Path(__file__).parent))
