"""Records of classes spread over the cells of a group-by, and over what a query allows."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled
from rothko.kernels.order import find

BLOCK = 8
"""Cells under a leaf of the tree: fewer cost more nodes, more cost more tests of single cells."""


@compiled
def spread(
    cells, cell_starts, run_starts, run_low, run_high, density, entry_starts, entry_class, entry_records, estimates
):
    """Add to ``estimates`` how many records the classes bring to each cell.

    The cells of one sensitive value stand under a tree of the boxes around them. A class that holds a node as a whole
    adds to the node, one that holds a part of it goes on to its children, and at the end what nodes were given goes
    down to their cells: a class takes time for the border of its box, not for the cells inside it. Only what is
    positive is ever added, so no cell is left with the rounding of a difference.

    Parameters
    ----------
    cells
        (columns, cells): the codes of each cell, by sensitive value, and within it near ones side by side.
    cell_starts
        Where the cells of each sensitive value begin, and their number at the end.
    run_starts
        (columns, classes + 1): where the runs of each class begin.
    run_low, run_high
        First and last code of each run, those of a class in rising order.
    density
        1 ÷ the number of cells that each class spreads over.
    entry_starts
        Where the entries of each sensitive value begin, and their number at the end.
    entry_class, entry_records
        Of each entry the class and how many of its records have the value.
    """
    columns = cells.shape[0]
    stack = np.empty(2 * 64, dtype=np.int64)
    for value in range(cell_starts.size - 1):
        first_cell, last_cell = cell_starts[value], cell_starts[value + 1]
        if first_cell == last_cell or entry_starts[value] == entry_starts[value + 1]:
            continue
        blocks = (last_cell - first_cell + BLOCK - 1) // BLOCK
        leaves = 1
        while leaves < blocks:
            leaves *= 2
        # The children of node i are 2i and 2i + 1; leaves without cells keep a box that nothing reaches.
        low = np.full((2 * leaves, columns), np.iinfo(np.int32).max, dtype=np.int32)
        high = np.full((2 * leaves, columns), -1, dtype=np.int32)
        for cell in range(first_cell, last_cell):
            node = leaves + (cell - first_cell) // BLOCK
            for column in range(columns):
                code = cells[column, cell]
                low[node, column] = min(low[node, column], code)
                high[node, column] = max(high[node, column], code)
        for node in range(leaves - 1, 0, -1):
            for column in range(columns):
                low[node, column] = min(low[2 * node, column], low[2 * node + 1, column])
                high[node, column] = max(high[2 * node, column], high[2 * node + 1, column])
        given = np.zeros(2 * leaves)
        for entry in range(entry_starts[value], entry_starts[value + 1]):
            of_class = entry_class[entry]
            records = entry_records[entry] * density[of_class]
            stack[0] = 1
            depth = 1
            while depth > 0:
                depth -= 1
                node = stack[depth]
                outside, inside = high[node, 0] < 0, True
                for column in range(columns):
                    if outside:
                        break
                    begin, end = run_starts[column, of_class], run_starts[column, of_class + 1]
                    run = find(run_high, begin, end, low[node, column])
                    if run == end or run_low[run] > high[node, column]:
                        outside = True
                    elif run_low[run] > low[node, column] or run_high[run] < high[node, column]:
                        inside = False
                if outside:
                    continue
                if inside:
                    given[node] += records
                elif node < leaves:
                    stack[depth] = 2 * node
                    stack[depth + 1] = 2 * node + 1
                    depth += 2
                else:
                    begin_cell = first_cell + (node - leaves) * BLOCK
                    for cell in range(begin_cell, min(begin_cell + BLOCK, last_cell)):
                        holds = True
                        for column in range(columns):
                            code = cells[column, cell]
                            begin, end = run_starts[column, of_class], run_starts[column, of_class + 1]
                            run = find(run_high, begin, end, code)
                            if run == end or run_low[run] > code:
                                holds = False
                                break
                        if holds:
                            estimates[cell] += records
        for node in range(1, leaves):
            given[2 * node] += given[node]
            given[2 * node + 1] += given[node]
        for cell in range(first_cell, last_cell):
            estimates[cell] += given[leaves + (cell - first_cell) // BLOCK]


@compiled
def weigh(entry_class, entry_value, entry_records, allowed, share):
    """The records of entries whose value is allowed, each times the share of its class."""
    total = 0.0
    for entry in range(entry_class.size):
        if allowed[entry_value[entry]]:
            total += entry_records[entry] * share[entry_class[entry]]
    return total
