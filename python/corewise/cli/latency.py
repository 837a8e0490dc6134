"""`corewise machines from-latency`: a machine file from a matrix of core-to-core latencies.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import check_ending, check_target, write_text
from corewise.cli import console

with late.imports():
    from rich.console import RenderableType

    from corewise.analysis.latency.compare import ranges
    from corewise.analysis.latency.groups import Group, find_groups
    from corewise.analysis.latency.links import LatencyTree, latency_tree
    from corewise.analysis.latency.summary import FOUND, LevelRow, level_names, level_rows, shape
    from corewise.data.latency import read_latencies
    from corewise.data.machine_nominal import nominal_bandwidths
    from corewise.data.machine_text import LevelText, OriginText, machine_text, quantity
    from corewise.data.machines import parse_machine
    from corewise.report.layout import Column, by_rows

_HELP = """Make a machine file from a matrix of core-to-core latencies that somebody measured.

The matrix is a CSV file without a header: row and column k are the operating system's CPU k, entries are
nanoseconds. Hardware threads, clusters, dies and sockets are found in it, as far as latencies tell them
apart; links get the latencies that were found. Bandwidths are nominal: no latency says them.

Without -o the file goes to standard output and what was found to standard error.

\b
Example:
  corewise machines from-latency node.csv -o node.toml
  corewise machines from-latency node.csv --processor "AMD EPYC 7773X" -o node.toml
"""
_FILE = typer.Argument(..., metavar="FILE.csv", help="A square matrix of nanoseconds.")
_OUTPUT = typer.Option(None, "-o", "--output", metavar="FILE.toml", help="The machine file to write.")
_NAME = typer.Option(
    None, "--name", metavar="NAME", help="Of the machine; default: that of the output or input."
)
_DESCRIPTION = typer.Option("", "--description", metavar="TEXT", help="One line; default: the levels.")
_LEVEL_NAMES = typer.Option(
    "",
    "--level-names",
    metavar="A,B",
    help="Of the levels above the cores, outermost first, e.g. package,l3.",
)
_PROCESSOR = typer.Option("", "--processor", metavar="TEXT", help="What was measured; stands in the file.")
_SOURCE = typer.Option("", "--source", metavar="TEXT", help="Who measured it; stands in the file.")
_AS_JSON = typer.Option(
    False, "--json", help="Print one JSON object: the levels, and the file's text without -o."
)
_MOST_GROUPS = 6
_NOTHING_NS = 0.25


def register(group: typer.Typer) -> None:
    """Adds `from-latency` to `machines`."""
    group.command("from-latency", help=_HELP)(_from_latency)


def _from_latency(
    file: Path = _FILE,
    output: Path | None = _OUTPUT,
    name: str | None = _NAME,
    description: str = _DESCRIPTION,
    names: str = _LEVEL_NAMES,
    processor: str = _PROCESSOR,
    source: str = _SOURCE,
    as_json: bool = _AS_JSON,
) -> None:
    if output is not None:
        check_target(output, [file])
    check_ending(output, ".toml")
    latency_ns = read_latencies(file)
    with console.progress("finding groups"):
        root = find_groups(latency_ns)
        tree = latency_tree(root, latency_ns)
    given = [each.strip() for each in names.split(",")] if names else []
    levels = level_names(tree, given, "--level-names")
    rows = level_rows(tree, levels, root)
    text = _text(
        tree,
        levels,
        name or (output or file).stem,
        description or f"from core-to-core latencies: {shape(tree, levels)}",
        _origin(source or f"latencies of {file.name}", processor, tree),
    )
    parse_machine(text, str(output or file))  # what is written is what every command reads
    if output is not None:
        write_text(output, text)
    elif not as_json:
        console.show_text(text)
    _say(rows, tree, root, output, text, as_json)


def _origin(source: str, processor: str, tree: LatencyTree) -> OriginText:
    """Of a single CPU nothing was measured."""
    kinds = (["latency"], ["bandwidth"]) if len(tree.cpus) > 1 else ([], ["latency", "bandwidth"])
    return OriginText(source, processor, *kinds)


def _text(tree: LatencyTree, names: list[str], name: str, description: str, origin: OriginText) -> str:
    levels = [
        LevelText(level_name, level.counts, level.hop_ns, bandwidth, bandwidth)
        for level_name, level, bandwidth in zip(names, tree.levels, nominal_bandwidths(names), strict=True)
    ]
    comment = (
        "Made by `corewise machines from-latency`. Latencies are measured: hops add up to the medians"
        f" between CPUs (the worst level is off by {100 * tree.error:.1f} %). Bandwidths are NOMINAL:"
        " round figures of the right order, measured on nothing; a latency does not say them. Levels are"
        " those that the latencies tell apart."
    )
    return machine_text(name, description, origin, levels, tree.cpus, comment)


def _say(
    rows: list[LevelRow],
    tree: LatencyTree,
    root: Group,
    output: Path | None,
    text: str,
    as_json: bool,
) -> None:
    if as_json:
        facts = {"cpus": len(tree.cpus), "latency_ns": root.latency_ns, "worst_error": tree.error}
        more = {"machine_file": str(output)} if output else {"text": text}
        console.show_json(
            "machines from-latency",
            None,
            [group_row(row) for row in rows],
            **facts,
            bandwidths="nominal",
            **more,
        )
        return
    say = console.show if output else console.show_aside
    say(*found(rows, tree, root))
    if output:
        say(f"{output}: written; latencies measured, bandwidths nominal (measured on nothing)")


def found(rows: list[LevelRow], tree: LatencyTree, root: Group) -> list[RenderableType]:
    """The levels of groups as a table, or the one line that there are none."""
    cpus = len(tree.cpus)
    if not rows:
        apart = _range(root.latency_ns, *root.range_ns)
        return [f"{cpus} CPUs, {apart} ns apart: no groups stand out" if cpus > 1 else "1 CPU"]
    columns = [
        Column("level"),
        Column("groups", right=True),
        Column("CPUs in each", right=True),
        Column("ns inside", right=True),
        Column("found as", wrap=True),
        Column("looks like", wrap=True),
        Column("CPUs", wrap=True),
    ]
    heading = f"{cpus} CPUs; {quantity(root.latency_ns)} ns between the outermost groups"
    cells = [
        (
            row.name,
            str(len(row.groups)),
            ", ".join(map(str, sorted({len(group) for group in row.groups}))),
            _range(row.latency_ns, row.least_ns, row.most_ns),
            "; ".join(FOUND[how] for how in row.found),
            row.looks_like,
            _listed(row.groups),
        )
        for row in rows
    ]
    return [heading, by_rows(columns, cells)]


def _range(middle_ns: float, least_ns: float, most_ns: float) -> str:
    if most_ns - least_ns < _NOTHING_NS * middle_ns:
        return quantity(middle_ns)
    return f"{quantity(middle_ns)} ({quantity(least_ns)} to {quantity(most_ns)})"


def _listed(groups: tuple[tuple[int, ...], ...]) -> str:
    shown = [ranges(group) for group in groups[:_MOST_GROUPS]]
    return " | ".join([*shown, "..."] if len(groups) > _MOST_GROUPS else shown)


def group_row(row: LevelRow) -> dict[str, object]:
    """One level as a row of JSON."""
    return {
        "level": row.name,
        "groups": len(row.groups),
        "latency_ns": row.latency_ns,
        "least_ns": row.least_ns,
        "most_ns": row.most_ns,
        "found": list(row.found),
        "looks_like": row.looks_like,
        "clusters": [list(group) for group in row.groups],
    }
