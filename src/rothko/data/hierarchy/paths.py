"""Hierarchies as a person wrote them down, leaf by leaf: lines of a file, rows, nested mappings.

Files are those of ARX: one leaf a line, ``leaf;level 1;…;*``. Errors name the numbers of lines, never their labels.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rothko.data.hierarchy.numbered import ROOT, Nodes
from rothko.errors import HierarchyError

_DELIMITERS = (";", ",", "\t", "|")


def breadth_first(paths: Iterable[tuple[int, list[str]]], *, where: str, unit: str) -> Nodes:
    """The labels and parents of the nodes on numbered paths, each of which goes from leaf to root."""
    labels, parents, is_leaf, seen_at = [ROOT], [-1], [False], [0]
    children: list[list[int]] = [[]]
    known = {ROOT: 0}
    for number, path in paths:
        here = f"{where}, {unit} {number}"
        labels_down = [label for label, _ in itertools.groupby(reversed(path))]
        if labels_down[:1] == [ROOT]:
            del labels_down[0]
        if not labels_down or labels_down[-1] == ROOT:
            raise HierarchyError(f"{here}: there is no leaf below the root {ROOT!r}")
        if len({ROOT, *labels_down}) <= len(labels_down):
            raise HierarchyError(f"{here}: a label stands above itself, with another one between", values=path)
        node = 0
        for depth, label in enumerate(labels_down, start=1):
            leaf = depth == len(labels_down)
            above, node = node, known.setdefault(label, len(labels))
            if node == len(labels):
                labels.append(label)
                parents.append(above)
                is_leaf.append(leaf)
                seen_at.append(number)
                children.append([])
                children[above].append(node)
                continue
            if leaf != is_leaf[node]:
                kinds = ("a leaf", "an inner node") if leaf else ("an inner node", "a leaf")
                raise HierarchyError(
                    f"{here}: a label is {kinds[0]} here and {kinds[1]} on {unit} {seen_at[node]};"
                    " published, the two could not be told apart",
                    values=[label],
                )
            if above != parents[node]:
                what = "the leaf has another path" if leaf else "a label has another parent"
                raise HierarchyError(
                    f"{here}: {what} than on {unit} {seen_at[node]}; every label must have one place", values=[label]
                )
    if len(labels) == 1:
        raise HierarchyError(f"{where} is empty; it needs one {unit} for every value of the column")
    order = [0]
    for node in order:  # grows as it is walked, which is what makes it breadth first
        order.extend(children[node])
    above_in_order = np.array(parents)[order[1:]]
    return tuple(labels[node] for node in order), np.append(-1, np.argsort(order)[above_in_order]).astype(np.int32)


def read_text(where: str, encoding: str) -> str:
    """The text of a file."""
    try:
        data = Path(where).read_bytes()
    except FileNotFoundError:
        raise HierarchyError(f"there is no hierarchy file {where}") from None
    except OSError as error:
        raise HierarchyError(f"hierarchy file {where} cannot be read: {error.strerror}") from error
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        # The codec's own error carries the bytes of the file, so it must not be chained.
        raise HierarchyError(f"{where}, line {line}: the text is not {encoding}; name its encoding") from None
    except LookupError:
        raise HierarchyError(f"hierarchy file {where}: there is no encoding {encoding!r}") from None


def sniff(text: str) -> str:
    """Guess the delimiter: the one before the most roots, then the one on the most lines, then ``;``."""
    lines = [line.replace('"', "") for line in text.splitlines()[:1000]]

    def evidence(delimiter: str) -> tuple[int, int]:
        ends = (line.rstrip(delimiter + " \t").rpartition(delimiter) for line in lines)
        return sum(found != "" and end.strip() == ROOT for _, found, end in ends), sum(delimiter in x for x in lines)

    return max(_DELIMITERS, key=evidence)


def csv_paths(text: str, where: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The number and the path of each line of a file."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            cells = [ROOT if cell.strip() == ROOT else cell.rstrip() for cell in row]
            if any(cells):
                yield reader.line_num, [cells[0], *filter(None, cells[1:])]
    except csv.Error as error:
        raise HierarchyError(f"{where}, line {reader.line_num}: not in CSV form ({error})") from None


def nested_paths(tree: Any, above: tuple[str, ...], where: str) -> Iterator[list[str]]:
    """The paths of all leaves of nested mappings and lists."""
    if isinstance(tree, Mapping):
        for key, below in tree.items():
            path = (text_of(key, where), *above)
            if below is None or (isinstance(below, Mapping | list | tuple) and not below):
                yield list(path)
            else:
                yield from nested_paths(below, path, where)
    elif isinstance(tree, list | tuple):
        for item in tree:
            if isinstance(item, list | tuple):
                raise HierarchyError(f"{where} has a list directly in a list; the inner one needs a label above it")
            yield from nested_paths(item, above, where)
    else:
        yield [text_of(tree, where), *above]


def nested_form(labels: Sequence[str], parents: Sequence[int]) -> Any:
    """The reverse: nested mappings and lists of nodes whose parents come before them, the root first."""
    below: list[list[Any]] = [[] for _ in labels]
    for node in range(len(labels) - 1, 0, -1):
        here = [*reversed(below[node])]
        below[parents[node]].append({labels[node]: _mapped(here)} if here else labels[node])
    return _mapped([*reversed(below[0])])


def _mapped(nodes: list[Any]) -> Any:
    """Branches side by side as one mapping, where there are no leaves among them."""
    if all(isinstance(node, dict) for node in nodes):
        return {label: below for node in nodes for label, below in node.items()}
    return nodes


def text_of(cell: object, where: str) -> str:
    """Write a cell as Arrow would write it in a column of the data: true, not True; 1, not 1.0."""
    if isinstance(cell, str):
        return cell
    if cell is None or isinstance(cell, Mapping | list | tuple | set):
        raise HierarchyError(f"{where} has {'nothing' if cell is None else 'a collection'} where a label should be")
    if isinstance(cell, bool | float):
        return str(pa.scalar(cell).cast(pa.string()).as_py())
    return str(cell)
