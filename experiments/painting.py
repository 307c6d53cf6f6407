"""The picture of the README: its release of made-up patients, by date of birth and zip.

``python -m experiments.painting`` writes ``docs/figures/painting.svg`` anew, always the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import rothko as rk
from rothko.generate.patients import patients
from rothko.report.forms import formed
from rothko.report.painting import paint
from rothko.report.released import read_release

PLACE = Path(__file__).parent.parent / "docs/figures/painting.svg"
POLICY = """
columns:
  name: {role: identifier}
  birth_date: {role: quasi-identifier, type: date}
  sex: {role: quasi-identifier}
  zip: {role: quasi-identifier, hierarchy: auto}
  education: {role: quasi-identifier, order: [none, primary, secondary, vocational, bachelor, master, doctorate]}
  diagnosis: {role: sensitive}
  cost: {role: keep}
privacy: [{k-anonymity: {k: 10}}, {distinct-l-diversity: {l: 3, of: diagnosis}}]
"""


def painting() -> bytes:
    """The picture, as SVG."""
    release = rk.anonymize(patients(10_000), rk.Policy.parse(POLICY))
    return formed(paint(read_release(release), x="birth_date", y="zip"), ".svg")


if __name__ == "__main__":
    PLACE.write_bytes(painting())
