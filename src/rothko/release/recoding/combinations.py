"""The recoding by column of a table that is never whole in memory: the combinations that it shows are written down."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.engines.growing import Tables
from rothko.policy.policy import Policy
from rothko.release.by_column import ByPart
from rothko.release.recoding import recoding
from rothko.release.recoding.attribute import Attribute
from rothko.release.recoding.recoding import ColumnRecoding
from rothko.release.write import Content


class Combinations:
    """The classes of a release whose columns are recoded by themselves: which parts each shows."""

    def __init__(self, by_part: ByPart, policy: Policy, tables: Tables) -> None:
        attributes = tuple(
            Attribute.of_parts(line, parts, policy.columns[line.name])
            for line, parts in zip(by_part.lines, by_part.parts, strict=True)
        )
        nothing = np.empty((0, len(attributes)), dtype=np.int32)
        self._recoding = ColumnRecoding(policy, attributes, {"shown": nothing}, by_part.published)
        self._schema = pa.schema([(line.name, pa.int32()) for line in by_part.lines])
        self._table = tables.table(self._schema)

    def add(self, shows: NDArray[np.int32]) -> None:
        """Append some: (lines, classes) parts."""
        self._table.write(pa.table([pa.array(row) for row in shows], schema=self._schema))

    def files(self, path: Path) -> dict[Path, Content]:
        """What the recoding consists of: path → JSON text or table."""
        if self._table.rows > recoding.LARGE:
            batches = (batch for table in self._table.batches() for batch in table.to_batches())
            shown = pa.RecordBatchReader.from_batches(self._schema, batches)
            return self._recoding.large_files(path, self._table.rows, shown)
        columns = [column.to_numpy() for column in pa.concat_tables(self._table.batches()).columns]
        shows = np.stack(columns, axis=1)[np.lexsort(columns[::-1])]
        whole = self._recoding
        return ColumnRecoding(whole.policy, whole.attributes, {"shown": shows}, whole.published).files(path)
