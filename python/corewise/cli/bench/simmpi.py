"""`corewise bench simmpi`: how fast MPI programs on simulated ranks are.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import typer

from corewise.base import late
from corewise.cli.bench import shared

with late.imports():
    from corewise.bench.simmpi.study import run_bench

_HELP = """Measure how many MPI messages a second simulates, beside SimGrid's SMPI.

One program, compiled for simulated ranks and for SMPI where it is installed: 64 ranks exchange messages of
1 KB with their neighbours, in a ring and in a grid, on the same machine. A recording of 8 ranks under a real
MPI is replayed by both too. Both take turns; what start and end take is left out.

\b
Example:
  corewise bench simmpi --quick
  corewise bench simmpi --check
"""


def register(group: typer.Typer) -> None:
    """Adds `simmpi` to the group `bench`."""
    group.command("simmpi", help=_HELP)(bench_simmpi)


def bench_simmpi(
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    check: bool = shared.CHECK,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures the simulator of programs."""
    shared.measure_and_show(
        "simmpi",
        lambda listener: run_bench(listener, rounds=rounds, quick=quick),
        as_json=as_json,
        check=check,
    )
