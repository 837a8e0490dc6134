"""`corewise call-graph`: which function called which, how often and for how long, down to the messages.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from corewise.base import late
from corewise.base.files import check_ending, check_target, write_text
from corewise.cli import console
from corewise.cli.sweeps import READERS
from corewise.errors import InputError, bad_field

with late.imports():
    from corewise.analysis.profile.call_graph import (
        MOST_BOXES,
        MOST_LINES,
        WEIGHTS,
        CallTree,
        MergedGraph,
        Weight,
        as_graph,
        call_tree,
        fitted,
        merged,
        pruned,
    )
    from corewise.base.executors import workers_from
    from corewise.data.profile import EVERY_RANK, load_profile
    from corewise.plots.call_graph import dot_text, edges_text, picture, tree_text

_HELP = """Show which function called which, how often and for how long, down to the messages.

Functions come with file and line where the program was compiled with
`-finstrument-functions -g`; without, MPI calls stand alone. A message is written
MPI_Send(source,destination,bytes).

\b
Example:
  corewise call-graph lbm.cw --rank 0
  corewise call-graph lbm.cw --merge --weight time --svg calls.svg --html calls.html
"""
_RANK = typer.Option("all", "--rank", "-r", metavar="N|all", help="One rank, or all of them summed.")
_WEIGHT = typer.Option("count", "--weight", "-w", metavar="count|time", help="What edges are marked with.")
_DEPTH = typer.Option(None, "--depth", "-d", min=1, help="Levels to show.")
_MIN_SHARE = typer.Option("0%", "--min-share", metavar="SHARE", help="Sum what has less: 1% or 0.01.")
_MERGE = typer.Option(False, "--merge", help="One node per function instead of one per calling context.")
_SVG = typer.Option(None, "--svg", metavar="FILE", help="Also write a picture.")
_HTML = typer.Option(None, "--html", metavar="FILE", help="Also write one self-contained web page.")
_DOT = typer.Option(None, "--dot", metavar="FILE", help="Also write a file for Graphviz.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")
_MOST_DIGITS = 9  # of a rank


def register(app: typer.Typer) -> None:
    """Adds `call-graph`."""
    app.command("call-graph", help=_HELP)(call_graph)


def call_graph(
    source: Path = typer.Argument(..., metavar="PROFILE", help="A NAME.cw folder."),
    rank: str = _RANK,
    weight: str = _WEIGHT,
    depth: int | None = _DEPTH,
    min_share: str = _MIN_SHARE,
    merge: bool = _MERGE,
    svg_file: Path | None = _SVG,
    html_file: Path | None = _HTML,
    dot_file: Path | None = _DOT,
    executor: str | None = READERS,
    as_json: bool = _AS_JSON,
) -> None:
    """Shows a call graph."""
    by, share, which = _weight(weight), _share(min_share), _rank(rank)
    check_ending(svg_file, ".svg")
    for target in (svg_file, html_file, dot_file):
        if target is not None:
            check_target(target)
    with workers_from(executor) as workers, console.progress("reading the profile"):
        profile = load_profile(source, calls=EVERY_RANK if which is None else which, workers=workers)
        tree = pruned(call_tree(profile, which), by, depth, share)
    if svg_file is not None:
        write_text(svg_file, picture(_graph(fitted(tree, by, MOST_BOXES), merge), by))
    if html_file is not None:
        _write_page(tree, by, html_file)
    if dot_file is not None:
        write_text(dot_file, dot_text(_graph(tree, merge), by))
    _show(tree, by, merge, as_json)
    for target in (svg_file, html_file, dot_file):
        if target is not None:
            console.note(f"corewise: written to {target}")


def _write_page(tree: CallTree, by: Weight, file: Path) -> None:
    # Pages load what most calls do not need, and the help of a command would wait for it.
    from corewise.cli import pages

    pages.write(file, pages.call_graph_page(tree, by))


def _graph(tree: CallTree, merge: bool) -> MergedGraph:
    return merged(tree) if merge else as_graph(tree)


def _show(tree: CallTree, weight: Weight, merge: bool, as_json: bool) -> None:
    graph = _graph(tree, merge)
    if as_json:
        rows = [asdict(node) for node in graph.nodes]
        edges = [asdict(edge) for edge in graph.edges]
        more = {"title": graph.title, "ranks": list(graph.ranks), "merged": merge, "weight": weight}
        console.show_json("call-graph", None, rows, **more, edges=edges, warnings=list(graph.warnings))
        return
    shown = fitted(tree, weight, MOST_LINES)
    console.show(edges_text(merged(shown), weight) if merge else tree_text(shown, weight))
    for warning in shown.warnings:
        console.note(f"corewise: {warning}")


def _weight(text: str) -> Weight:
    for weight in WEIGHTS:
        if text == weight:
            return weight
    raise bad_field("", "--weight", f"'{text}'", " or ".join(WEIGHTS))


def _rank(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS:
        raise bad_field("", "--rank", f"'{text}'", "all, or a rank from 0")
    return int(text)


def _share(text: str) -> float:
    number, percent = (text[:-1], 100.0) if text.endswith("%") else (text, 1.0)
    try:
        share = float(number) / percent
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError(f"--min-share: found '{text}', allowed: 0% to 100%, or 0 to 1")
    return share
