"""`corewise bench profiler`: what recording costs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.bench.profiler.study import ALL, CASES
from corewise.cli.bench import shared

with late.imports():
    from corewise.bench.profiler.study import run_bench

_HELP = """Measure what recording adds to a call and to a function, beside other tracers.

Time, bytes and memory that recording adds to MPI calls, under each MPI, beside the floor (two time
stamps and a store, the least that a tracer can do) and EZTrace; the time it adds to a function's
entry and exit, beside uftrace. All take turns.

\b
Example:
  corewise bench profiler --quick
  corewise bench profiler --cases functions --mpi mpich
"""


_CASES = typer.Option(ALL, "--cases", help=f"What is measured: {', '.join(CASES)} or {ALL}.")


def register(group: typer.Typer) -> None:
    """Adds `profiler` to the group `bench`."""
    group.command("profiler", help=_HELP)(bench_profiler)


def bench_profiler(
    which: str = _CASES,
    mpi: str | None = shared.MPI,
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    check: bool = shared.CHECK,
    html_file: Path | None = shared.HTML,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures the recorder."""
    shared.measure_and_show(
        "profiler",
        lambda listener: run_bench(listener, rounds=rounds, quick=quick, mpi=mpi, which=which),
        as_json=as_json,
        html_file=html_file,
        check=check,
    )
