"""Which recoding is behind some classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch

from rothko.data.encode import Encoded
from rothko.methods.classes import Classes, ColumnClasses, TreeClasses
from rothko.policy.policy import Policy
from rothko.release.publish import Published
from rothko.release.recoding.recoding import ColumnRecoding, Recoding


@singledispatch
def recoding_behind(
    partition: Classes, encoded: Encoded, published: Mapping[str, Sequence[Published]], policy: Policy
) -> Recoding | None:
    """φ, given what the classes publish; None where the method is local and has none."""
    return None


@recoding_behind.register
def _(
    partition: TreeClasses, encoded: Encoded, published: Mapping[str, Sequence[Published]], policy: Policy
) -> Recoding:
    return Recoding.of(encoded, partition, published, policy)


@recoding_behind.register
def _(
    partition: ColumnClasses, encoded: Encoded, published: Mapping[str, Sequence[Published]], policy: Policy
) -> Recoding:
    return ColumnRecoding.of_columns(encoded, partition, published, policy)
