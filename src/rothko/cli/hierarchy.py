"""``rothko hierarchy``: look at hierarchies, take them out to edit them, check them and put them back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rothko.cli import options
from rothko.cli.pipes import files, named, table_of
from rothko.errors import HierarchyError, InputError

if TYPE_CHECKING:
    from rothko.data.hierarchy.hierarchy import Hierarchy
    from rothko.policy.column_hierarchy import Found

SHOWN, LINES = 8, 40
"""Nodes that are shown side by side, and lines of a tree, at most, unless all are asked for."""

hierarchies = typer.Typer(help="Look at hierarchies, take them out, check them, put them back.", no_args_is_help=True)

ColumnName = Annotated[str | None, typer.Option("--column", "-c", help="The column.", show_default=False)]
File = Annotated[Path, typer.Argument(help="A hierarchy: lines (.csv) or a tree in YAML (.yaml).", show_default=False)]
Asked = Annotated[
    str | None,
    typer.Option(
        "--hierarchy", help="Another one than the policy's: auto, flat, icd-10, '{prefix: [3, 1]}'.", show_default=False
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.add_typer(hierarchies, name="hierarchy")


@hierarchies.callback()
def _group() -> None:
    """Look at hierarchies, take them out to edit them, check them and put them back."""


@hierarchies.command("show")
def show(
    data: Annotated[
        str,
        typer.Argument(help="A table, with --column; or a file with a hierarchy.", show_default=False),
    ],
    column: ColumnName = None,
    policy: options.PolicyFile = None,
    asked: Asked = None,
    everything: Annotated[bool, typer.Option("--all", help="Show all nodes.")] = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show a hierarchy as a tree: one that a file holds, or that of a column, with its records."""
    from rothko.cli import console
    from rothko.policy.hierarchy_file import read_hierarchy

    if column is None:
        hierarchy, records = read_hierarchy(Path(data)), None
    else:
        found = _found(data, column, policy, asked)
        hierarchy, records = found.hierarchy, found.records().tolist()
    if as_json:
        console.json({"hierarchy": hierarchy.to_nested(), "leaves": len(hierarchy.leaves)}, "hierarchy show")
        return
    for line in drawn(hierarchy, records, everything=everything):
        console.out.print(line, markup=False, highlight=False, soft_wrap=True)
    if column is not None:
        _tell_lacking(found)


@hierarchies.command("export")
def export(
    data: options.Data,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="<path>", help="A .csv or .yaml file.", show_default=False)
    ],
    column: Annotated[str, typer.Option("--column", "-c", help="The column.", show_default=False)],
    policy: options.PolicyFile = None,
    asked: Asked = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Write the hierarchy of a column to a file, to edit it in a spreadsheet or an editor.

    Lines are leaf;level 1;…;*, as ARX has them; a YAML file holds a tree. The file has all values of the column.
    """
    from rothko.cli import console
    from rothko.policy.hierarchy_file import TREES, written_hierarchy
    from rothko.release.claims import claim_files
    from rothko.release.staging import staging

    claim = claim_files([out], overwrite=overwrite, inputs=files(*data), endings=(".csv", *TREES))
    found = _found(table_of(data), column, policy, asked)
    with staging(claim) as stage:
        stage.write(Path(out), written_hierarchy(found.hierarchy, Path(out)))
        stage.commit()
    if as_json:
        console.json({"path": out, **_counts(found.hierarchy)}, "hierarchy export")
    else:
        console.out.print(f"{_size(found.hierarchy)}: {out}", markup=False)
    _tell_lacking(found)


@hierarchies.command("check")
def check(
    file: File,
    data: Annotated[str | None, typer.Argument(help="A table that it should fit.", show_default=False)] = None,
    column: ColumnName = None,
    policy: options.PolicyFile = None,
    as_json: options.Json = False,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Check that a file holds a hierarchy, and that every value of a column has a leaf; errors name lines."""
    from rothko.cli import console
    from rothko.policy.hierarchy_file import encoding_of, read_hierarchy

    hierarchy = read_hierarchy(file)
    unused = None if data is None else _fits(hierarchy, data, column, policy).unused
    if as_json:
        console.json({**_counts(hierarchy), "unused": unused}, "hierarchy check")
        return
    how = encoding_of(file)
    told = "" if how == "utf-8" else f", read as {how}"
    console.out.print(f"{file}: {_size(hierarchy)}{told}", markup=False)
    if unused and data is not None:
        console.out.print(f"{unused:,} of its leaves do not occur in {named(data)}, which does no harm.", markup=False)


@hierarchies.command("import")
def put_in(
    file: File,
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy that takes it.", show_default=False)],
    column: Annotated[str, typer.Option("--column", "-c", help="The column.", show_default=False)],
    data: Annotated[
        str | None, typer.Option("--data", metavar="<path>", help="A table that it must fit.", show_default=False)
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Check a hierarchy that was edited, and let a column of a policy have it; the rest of the policy stays as it is.

    Lines stay in their file, which the policy then names; a tree becomes a part of the policy.
    """
    from rothko.cli import console
    from rothko.policy.edit import put
    from rothko.policy.hierarchy_file import read_hierarchy, spec_of
    from rothko.policy.policy import Policy
    from rothko.release.claims import claim_files
    from rothko.release.staging import staging

    before = Policy.load(policy)
    hierarchy = read_hierarchy(file)
    if data is not None:
        _fits(hierarchy, data, column, policy)
    changed = put(
        policy.read_text(encoding="utf-8-sig"), column, "hierarchy", spec_of(file, hierarchy, policy).short(),
        where=str(policy),
    )  # fmt: skip
    Policy.parse(changed, where=str(policy))
    claim = claim_files([policy], overwrite=True, inputs=[file])
    with staging(claim) as stage:
        stage.write(policy, changed)
        stage.commit()
    if as_json:
        console.json({"policy": str(policy), "column": column, **_counts(hierarchy)}, "hierarchy import")
    else:
        old = before.columns[column].hierarchy
        was = "had none" if old is None else f"had {old.short() if old.kind != 'tree' else 'a tree'}"
        console.out.print(f"{policy}: {column!r} {was}, and has {file.name} now ({_size(hierarchy)}).", markup=False)


def drawn(hierarchy: Hierarchy, records: list[int] | None, *, everything: bool = False) -> list[str]:
    """A tree as lines, down to the level that fits on a screen; of many nodes side by side, the first."""
    children: list[list[int]] = [[] for _ in hierarchy.labels]
    for node, parent in enumerate(hierarchy.parents.tolist()):
        if parent >= 0:
            children[parent].append(node)

    def draw(node: int, depth: int, deepest: int) -> Iterator[str]:
        below = children[node]
        count = "" if records is None else f"  {records[node]:,}"
        more = f"  ({len(below):,} below)" if depth == deepest and below else ""
        yield f"{'  ' * depth}{hierarchy.labels[node]}{count}{more}"
        if depth == deepest:
            return
        shown = below if everything or len(below) <= SHOWN + 1 else below[:SHOWN]
        for child in shown:
            yield from draw(child, depth + 1, deepest)
        if len(shown) < len(below):
            yield f"{'  ' * (depth + 1)}and {len(below) - len(shown):,} more"

    levels = _levels(hierarchy)
    if everything:
        return list(draw(0, 0, levels))
    whole = [list(islice(draw(0, 0, deepest), LINES + 1)) for deepest in range(1, levels + 1)]
    return next((lines for lines in reversed(whole) if len(lines) <= LINES), whole[0])


def _found(data: str | list[Path], column: str, policy: Path | None, asked: str | None) -> Found:
    from rothko.data.hierarchy.spec import HierarchySpec
    from rothko.mistakes import MistakeError
    from rothko.policy.column_hierarchy import hierarchy_of
    from rothko.policy.yaml import value

    spec = None
    if asked is not None:
        try:
            spec = HierarchySpec.of(value(asked, where="--hierarchy"))
        except MistakeError as mistake:
            raise InputError(f"--hierarchy: {mistake}.") from None
    return hierarchy_of(data, column, policy, spec)


def _fits(hierarchy: Hierarchy, data: str, column: str | None, policy: Path | None) -> Found:
    from rothko.policy.column_hierarchy import hierarchy_of

    if column is None:
        raise InputError("Name the column that the hierarchy is for with --column.")
    found = hierarchy_of(data, column, policy, hierarchy)
    if absent := found.without_leaf.to_pylist():
        raise HierarchyError(
            f"{len(absent):,} of {len(found.values):,} distinct values of column {column!r} have no leaf in the "
            "hierarchy; add them to it (--show-values lists them)",
            values=absent,
        )
    return found


def _tell_lacking(found: Found) -> None:
    """Values that have no place: a release is refused until they have one."""
    from rothko.cli import console

    if lacking := len(found.without_leaf):
        console.err.print(
            f"{lacking:,} of {len(found.values):,} distinct values of the column have no leaf, and no release is made "
            "until they have: export the hierarchy and add them, or correct them.",
            markup=False,
        )


def _levels(hierarchy: Hierarchy) -> int:
    return max(map(len, hierarchy.to_rows())) - 1


def _counts(hierarchy: Hierarchy) -> dict[str, int]:
    return {"leaves": len(hierarchy.leaves), "levels": _levels(hierarchy)}


def _size(hierarchy: Hierarchy) -> str:
    levels: Any = _levels(hierarchy)
    return f"{len(hierarchy.leaves):,} leaves, {levels} level{'s' * (levels != 1)} above them"
