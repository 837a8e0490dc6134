"""`corewise bench history`: how rows changed between versions.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from corewise.base import late
from corewise.cli import console
from corewise.cli.bench import shared
from corewise.cli.papers.show import fitted

with late.imports():
    from corewise.bench.history import History, figure, history_of, tables
    from corewise.plots.bench import check_picture, write_pictures

_HELP = """Show how rows of benchmarks changed between versions.

Read what `corewise bench QUESTION --json` printed, one file per version, oldest first, and show
every row through all files. A change within the rounds' own spread is marked. Rows of different
processors are never compared.

\b
Example:
  corewise bench sim --json > sim-0.8.json
  corewise bench history sim-0.8.json sim-0.9.json -o history.svg
"""
_FILES = typer.Argument(..., metavar="FILE...", help="Results, oldest first.")
_OUT = typer.Option(None, "-o", "--out", metavar="FILE", help="Draw the rows, as .svg or .png.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


def register(group: typer.Typer) -> None:
    """Adds `history` to the group `bench`."""
    group.command("history", help=_HELP)(bench_history)


def bench_history(
    files: list[Path] = _FILES,
    out: Path | None = _OUT,
    html_file: Path | None = shared.HTML,
    as_json: bool = _AS_JSON,
) -> None:
    """Compares results."""
    check_picture(out)
    shared.check_page(html_file)
    history = history_of(files)
    written = write_pictures([figure(history)], out) if out is not None else []
    if html_file is not None:
        shared.write_tables(html_file, "bench history", "", tables(history), [figure(history)])
        written.append(html_file)
    if as_json:
        _show_json(history, written)
        return
    for table in tables(history):
        console.show(fitted(table), "")
    for path in written:
        console.note(f"{path} written")


def _show_json(history: History, written: list[Path]) -> None:
    rows = [
        {**asdict(line), "change": line.change, "beyond_spread": line.beyond_spread} for line in history.lines
    ]
    console.show_json(
        "bench history", None, rows, labels=list(history.labels), files=[str(path) for path in written]
    )
