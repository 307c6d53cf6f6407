"""What a table of a release must be, and the check that it is: the last word before anything is released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from rothko.data.source.formats import in_cells
from rothko.errors import VerificationError
from rothko.policy.policy import Policy
from rothko.release.people import People, told_by_records
from rothko.release.sql import Limits
from rothko.release.truth import Told, ToldHashes, same
from rothko.release.verify import Fingerprint, Verification, check_schema, verify


@dataclass(frozen=True, slots=True)
class Meant:
    """What a table of a release must be."""

    rows: int
    columns: tuple[str, ...]
    told: Told
    """What every record should be shown as; its columns are enough."""
    fingerprint: Fingerprint
    """Of what every record should be shown as."""
    published: Mapping[str, Sequence[str]]
    """Quasi-identifier → the columns that publish it."""
    schema: pa.Schema | None = None
    """The columns that a file should have, with their types."""
    types: Mapping[str, pa.DataType] | None = None
    """Columns that were read as text, and have a type in the file."""
    people: People | None = None
    """Whose the records are, where people are counted."""

    @property
    def shared(self) -> list[str]:
        """Columns in which all records of a class show the same."""
        return [column for columns in self.published.values() for column in columns]

    def verified(self, data: Path | pa.Table, policy: Policy, limits: Limits) -> Verification:
        """Verify, and fail closed: also when rows or columns are not those that were meant to leave."""
        self._check_schema(data)
        hashes = ToldHashes(self.told, in_cells(data), self.types)
        odd = bool(hashes.odd) and not in_cells(data)
        if odd:  # read by Arrow, in a pass of its own
            self._check_fingerprint(data, hashes, limits)
        found = verify(
            data, told_by_records(policy), self.published, missing=policy.missing, values=policy.columns,
            hashes=None if odd else hashes, limits=limits,
        )  # fmt: skip
        self.check_extent(found)
        if policy.owner is not None:
            assert self.people is not None
            found = self.people.verified(found, policy, self.published, limits)
        return self.accepted(found, hashed=not odd)

    def check_extent(self, found: Verification) -> None:
        """Refuse a table of other columns, or of more or fewer rows."""
        if found.columns != self.columns or found.rows != self.rows:
            raise VerificationError(
                "Verification failed: the written table has other rows or columns than it should; nothing was released."
            )

    def accepted(self, found: Verification, *, hashed: bool = True) -> Verification:
        """What was found, if it is all that was promised, and the rows are those of the records."""
        for finding in found.findings:
            if not finding.holds:
                raise VerificationError(
                    f"Verification failed: {finding.requirement.describe()} does not hold in "
                    f"{finding.violating_classes} of {finding.classes} classes; nothing was released. Please report "
                    "this."
                )
        if hashed:
            same(found.fingerprint, self.fingerprint)
        return replace(found, true=True)

    def check_rows(self, data: Path | pa.Table, limits: Limits) -> None:
        """Refuse a table that has other rows than those that the records should be shown as."""
        self._check_schema(data)
        self._check_fingerprint(data, ToldHashes(self.told, in_cells(data), self.types), limits)

    def _check_schema(self, data: Path | pa.Table) -> None:
        if isinstance(data, Path) and self.schema is not None:
            check_schema(data, self.schema)

    def _check_fingerprint(self, data: Path | pa.Table, hashes: ToldHashes, limits: Limits) -> None:
        with limits.connect() as connection:
            same(hashes.found(data, connection), self.fingerprint)
