"""`corewise bench pack`: what it costs to send non-contiguous data, by every way.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import shlex
from dataclasses import asdict, replace
from pathlib import Path

import typer

from corewise.base import late
from corewise.bench.pack import study
from corewise.cli import console
from corewise.cli.bench import shared
from corewise.cli.papers.show import fitted, written_or_lost
from corewise.errors import InputError

with late.imports():
    from rich.text import Text

    from corewise.analysis.result import built_commit
    from corewise.bench.pack.runs import Setting
    from corewise.bench.pack.views import bench_figures, bench_tables, noise_text
    from corewise.bench.rows import stamped
    from corewise.data.packing_tuning import save_packing_tuning
    from corewise.data.tuned_hosts import host_packing, mpi_name, processor_name
    from corewise.plots.bench import check_picture, write_pictures

_HELP = """Measure what packing costs between two ranks of this host (paper 004, section 4).

Send strided elements, and what applications send, as MPI datatypes, by MPI_Pack, by the paper's three
loops and by a loop of today; and the unmodified program with the packing library (corewise run --packing).
MPICH with and without copies from process to process (CMA). With --cases mapped: items in memory that both
ranks map, copied straight from layout to layout, beside the MPI's ways. Launches during which others took
more than 3 % of the processors are repeated, at most twice. Cases that were slower are measured
again with three times the rounds, but with --quick. With --tune: measures what the library should take over,
and writes a file for each MPI into a folder, in about ten minutes; in tuning/ of a checkout they are shipped.

\b
Example:
  corewise bench pack --quick
  corewise bench pack --mpi mpich --cases paper -o plot.svg
  corewise bench pack --tune tuning
"""
_MPI = typer.Option("both", "--mpi", help="openmpi, mpich, both, a prefix, or a launcher.")
_CASES = typer.Option(
    study.ALL,
    "--cases",
    help=f"What is measured: {', '.join((*study.SETS, *study.MORE_SETS))} or {study.ALL}.",
)
_ROUNDS = typer.Option(None, "--rounds", min=1, max=100, help="Launches without and with the library, each.")
_TUNE = typer.Option(
    None, "--tune", metavar="FOLDER", help="Measure what is taken over; write a file for each MPI."
)
_OUT = typer.Option(None, "-o", "--out", metavar="FILE", help="Draw figures 1.A to 2.C, as .svg or .png.")


def register(group: typer.Typer) -> None:
    """Adds `pack` to the group `bench`."""
    group.command("pack", help=_HELP)(bench_pack)


def bench_pack(
    mpi: str = _MPI,
    which: str = _CASES,
    quick: bool = shared.QUICK,
    rounds: int | None = _ROUNDS,
    tuning: Path | None = _TUNE,
    out: Path | None = _OUT,
    html_file: Path | None = shared.HTML,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures packing, or a tuning of it."""
    shared.check_page(html_file, tuning)
    parts = study.parts_of(which)
    if tuning is not None:
        if out is not None:
            raise InputError("-o: found with --tune, allowed: one of them, a tuning has no figures")
        _tune(mpi, quick, tuning, as_json)
        return
    check_picture(out)
    if out is not None and "paper" not in parts:
        raise InputError(
            f"-o: found with --cases {which}, allowed: --cases paper or {study.ALL}, others have no figures"
        )
    effort = study.QUICK if quick else study.FULL
    effort = replace(effort, rounds=rounds or effort.rounds)
    with console.progress_bar("bench pack") as advance:
        result = study.run_bench(mpi=mpi, parts=parts, effort=effort, knob_of=_host_knob, progress=advance)
    figures = list(bench_figures(result))
    written, lost = written_or_lost(lambda: write_pictures(figures, out) if out else [])
    if html_file is not None:
        shared.write_tables(html_file, "bench pack", result.machine, bench_tables(result), figures)
        written.append(html_file)
    _show(result, written, as_json)
    if lost is not None:
        raise lost


def _show(result: study.BenchResult, written: list[Path], as_json: bool) -> None:
    if as_json:
        _show_json(result, written)
        return
    console.show(Text(f"bench pack on {result.machine}", style="bold"))
    for table in bench_tables(result):
        console.show("", fitted(table))
    for path in written:
        console.note(f"{path} written")


def _host_knob(setting: Setting) -> str:
    """What `corewise run --packing` gives."""
    found = host_packing(mpi_name(setting.mpi.family, setting.variables), setting.mpi.version)
    console.note(f"corewise: {found.told}")
    return found.knob


def _show_json(result: study.BenchResult, written: list[Path]) -> None:
    console.show_json(
        "bench pack",
        result.machine,
        stamped("pack", result.machine, [row.to_json() for row in result.rows]),
        commit=built_commit(),
        claims=[asdict(claim) for claim in result.claims],
        goals=[{**asdict(goal), "holds": goal.holds} for goal in result.goals],
        foreign=result.loudest,
        noise=noise_text(result),
        files=[str(path) for path in written],
    )


def _tune(mpi: str, quick: bool, folder: Path, as_json: bool) -> None:
    if not folder.is_dir():
        raise InputError(f"--tune: found '{folder}', allowed: a folder that is there")
    words = ["corewise", "bench", "pack", "--mpi", mpi, *(["--quick"] if quick else []), "--tune", "tuning"]
    effort = study.QUICK_GRID if quick else study.GRID
    tunings = []
    with console.progress_bar("bench pack --tune") as advance:
        for name, tuning in study.tune(mpi=mpi, effort=effort, command=shlex.join(words), progress=advance):
            path = folder / f"packing-{processor_name().lower()}-{name}.csv"
            save_packing_tuning(tuning, path)
            tunings.append((path, tuning))
    if as_json:
        rows = [asdict(row) | {"mpi": tuning.mpi} for _, tuning in tunings for row in tuning.rows]
        console.show_json("bench pack", processor_name(), rows, commit=built_commit())
        return
    for path, tuning in tunings:
        console.show(f"{path}: what is taken over with {tuning.mpi} on {tuning.host}", "", tuning.knob(), "")
