"""The rows of a release: published values for every record, in an order that tells nothing.

The order is drawn from the seed *and* from the data itself. The certificate names the seed; were the
order drawn from it alone, anybody could draw it again and put the rows back as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.partition import Partition
from rothko.release.publish import Published


def assemble(
    names: Sequence[str],
    published: dict[str, list[Published]],
    kept: pa.Table,
    partition: Partition,
    order: NDArray[np.int64] | None,
    *,
    threads: int,
) -> pa.Table:
    """The released table.

    Parameters
    ----------
    names
        The columns in the order of the input; a quasi-identifier stands for its published columns.
    published
        Quasi-identifier → its published columns.
    kept
        The columns that are released as they are, in the order of the input.
    order
        Which place in ``partition.order`` each row comes from; None keeps the order of the input.
    """
    from rothko.kernels.codes import spread

    if order is None:
        classes, records = partition.class_of(), None
    else:
        at = np.repeat(np.arange(partition.classes, dtype=np.int32), partition.sizes)
        classes, records = at[order], pa.array(partition.order[order])

    def quasi(column: Published) -> pa.Array:
        indices = np.empty(len(classes), dtype=np.int32)
        spread(column.of_class, classes, indices)
        rows = pa.DictionaryArray.from_arrays(pa.array(indices), column.values)
        return rows if pa.types.is_string(column.values.type) else rows.dictionary_decode()

    def other(name: str) -> pa.Array:
        column = kept[name]
        if pa.types.is_dictionary(column.type):
            # The dictionary may list values that no record has.
            column = column.cast(column.type.value_type)
        return column if records is None else column.take(records)

    shown = [column for name in names for column in published.get(name, ())]
    with ThreadPoolExecutor(threads) as pool:
        quasis = pool.map(quasi, shown)
        others = pool.map(other, kept.column_names)
        arrays = dict(zip([column.name for column in shown], quasis, strict=True))
        arrays |= dict(zip(kept.column_names, others, strict=True))
    ordered = [n for name in names for n in ([c.name for c in published[name]] if name in published else [name])]
    return pa.table({name: arrays[name] for name in ordered if name in arrays})


def random_order(encoded: Encoded, kept: pa.Table, seed: int) -> NDArray[np.int64]:
    """An order of the rows that can only be drawn again by who has the data.

    >>> import numpy as np
    >>> one = Encoded((), np.zeros((1, 4), dtype=np.int32), {})
    >>> sorted(random_order(one, pa.table({}), seed=0).tolist())
    [0, 1, 2, 3]
    """
    digest = hashlib.sha256(seed.to_bytes(16, "little", signed=True))
    digest.update(np.ascontiguousarray(encoded.codes).data)
    for column in kept.columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                if buffer is not None:
                    digest.update(buffer)
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest(), "little")))
    return generator.permutation(encoded.rows)
