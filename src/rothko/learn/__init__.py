"""Learning from releases: regions as numbers, a scikit-learn transformer, and the evaluation of models.

The extra ``learn``: it needs scikit-learn, which nothing else in rothko does.
"""

from __future__ import annotations

from rothko.errors import MissingExtraError

try:
    import sklearn  # noqa: F401 - to say once, here, what is missing
except ImportError:
    raise MissingExtraError('Learning from releases needs scikit-learn: pip install "rothko[learn]"') from None
