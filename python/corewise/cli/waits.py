"""`corewise waits`: who waited for whom in MPI, where, and how unevenly the ranks worked.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import typer

from corewise.base import late
from corewise.cli import console
from corewise.cli.sweeps import READERS
from corewise.errors import InputError

with late.imports():
    from rich.console import RenderableType

    from corewise.analysis.profile.waits import WaitRow, WaitsSummary, analyse_waits
    from corewise.base.executors import workers_from
    from corewise.data.quantities import count_text, share_text, time_text
    from corewise.report.layout import Column, FittingTable

_HELP = """Show where ranks waited in MPI because another rank was late.

Late senders and receivers, waits at collectives, and how unevenly ranks worked (docs/recording/waits.md).

Example: `corewise run -n 8 -- ./lbm`, then `corewise waits lbm.cw --top 5`
"""
_TOP = typer.Option(10, "--top", help="Rows of each table.")
_PHASE = typer.Option(None, "--phase", metavar="NAME", help="Only what happened in this phase.")
_AS_JSON = typer.Option(False, "--json", help="Print one JSON object instead.")


def register(app: typer.Typer) -> None:
    """Adds `waits`."""
    app.command("waits", help=_HELP)(waits)


def waits(
    source: Path = typer.Argument(..., metavar="PROFILE", help="A NAME.cw folder."),
    top: int = _TOP,
    phase: str | None = _PHASE,
    executor: str | None = READERS,
    as_json: bool = _AS_JSON,
) -> None:
    """Shows the waits of a profile."""
    if top < 1:
        raise InputError(f"--top: found {top}, allowed: 1 or more")
    with workers_from(executor) as workers, console.progress("matching messages"):
        summary = analyse_waits(source, phase, workers)
    if as_json:
        fields = asdict(summary)
        for name in ("sites", "pairs", "ranks", "collectives"):
            fields[name] = fields[name][:top]
        console.show_json("waits", None, fields.pop("kinds"), **fields)
        return
    console.show(*_render(summary, top))


def _render(summary: WaitsSummary, top: int) -> list[RenderableType]:
    tables: list[FittingTable] = []
    if summary.kinds:
        tables.append(_waits_table("waiting by kind", "kind", summary.kinds, top, kinds=False))
        tables.append(_waits_table("by call site", "call", summary.sites, top))
        tables.append(_waits_table("by pair", "rank waits", summary.pairs, top))
    tables += [_rank_table(summary, top), _balance_table(summary, top)]
    if summary.collectives:
        tables.append(_collective_table(summary, top))
    parts: list[RenderableType] = [_headline(summary)]
    for table in tables:
        parts += ["", table]
    if summary.notes:
        parts += ["", *(f"note: {note}" for note in summary.notes)]
    return parts


def _headline(summary: WaitsSummary) -> str:
    of_mpi = (
        f", {share_text(summary.total_ns / summary.mpi_ns)} of the time in MPI,"
        f" {share_text(summary.total_ns / summary.run_ns)} of the run"
        if summary.mpi_ns > 0 and summary.run_ns > 0
        else ""
    )
    waited = f"{time_text(summary.total_ns)} of waiting{of_mpi}"
    return (
        f"{summary.world}, {summary.size} ranks, {summary.phase}: {waited}\n"
        f"{summary.matched} messages and {summary.collective_count} collectives matched; {summary.clocks}"
    )


def _numbers(name: str, cells: Iterable[str], importance: int = 0) -> Column:
    return Column(name, list(cells), right=True, importance=importance)


def _waits_table(
    title: str, what: str, rows: tuple[WaitRow, ...], top: int, kinds: bool = True
) -> FittingTable:
    rows = rows[:top]
    return FittingTable(
        [
            Column(what, [row.name for row in rows], wrap=True),
            *([Column("kind", [row.kind for row in rows])] if kinds else []),
            _numbers("waits", (count_text(row.count) for row in rows), importance=2),
            _numbers("time", (time_text(row.wait_ns) for row in rows)),
            _numbers("longest", (time_text(row.longest_ns) for row in rows), importance=1),
            _numbers("of waiting", (share_text(row.share) for row in rows)),
            _numbers("of MPI", (share_text(row.mpi_share) for row in rows), importance=1),
            _numbers("of run", (share_text(row.run_share) for row in rows)),
        ],
        title=title,
    )


def _rank_table(summary: WaitsSummary, top: int) -> FittingTable:
    rows = summary.ranks[:top]
    return FittingTable(
        [
            _numbers("rank", (str(row.rank) for row in rows)),
            _numbers("waited", (time_text(row.waited_ns) for row in rows)),
            _numbers("made others wait", (time_text(row.caused_ns) for row in rows)),
            _numbers("in MPI", (time_text(row.mpi_ns) for row in rows), importance=2),
            _numbers("recorded time", (time_text(row.span_ns) for row in rows), importance=1),
        ],
        title="by rank",
    )


def _balance_table(summary: WaitsSummary, top: int) -> FittingTable:
    rows = summary.balance[:top]
    return FittingTable(
        [
            Column("phase", [row.phase for row in rows], wrap=True),
            _numbers("mean", (time_text(row.mean_ns) for row in rows)),
            _numbers("largest", (time_text(row.max_ns) for row in rows), importance=1),
            _numbers("largest / mean", (f"{row.imbalance:.2f}" for row in rows)),
            _numbers("rank", (str(row.slowest) for row in rows)),
        ],
        title="work outside MPI",
    )


def _collective_table(summary: WaitsSummary, top: int) -> FittingTable:
    rows = summary.collectives[:top]
    return FittingTable(
        [
            Column("call", [row.procedure for row in rows]),
            Column("on", [row.communicator for row in rows], wrap=True),
            _numbers("calls", (count_text(row.count) for row in rows), importance=1),
            _numbers("last behind mean", (time_text(row.spread_ns / row.count) for row in rows)),
            _numbers("last was", (str(row.latest) for row in rows)),
            _numbers("times", (count_text(row.latest_count) for row in rows), importance=2),
        ],
        title="coming to collectives",
    )
