"""`corewise bench collectives`: collectives on this host's shared memory.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import typer

from corewise.bench.collectives.study import run_bench
from corewise.cli.bench import shared

_HELP = """What do corewise's collectives cost on this host, beside the MPI's own?

Barrier, broadcast and allreduce between processes, on shared memory, by corewise, by the MPI and,
for the shortest, by a floor written by hand; all take turns in one program per MPI.

\b
Example:
  corewise bench collectives --quick
  corewise bench collectives --mpi mpich --ranks 2
"""
_RANKS = typer.Option(2, "--ranks", min=2, max=64, help="Processes.")


def register(group: typer.Typer) -> None:
    """Adds `collectives` to the group `bench`."""
    group.command("collectives", help=_HELP)(bench_collectives)


def bench_collectives(
    mpi: str | None = shared.MPI,
    ranks: int = _RANKS,
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures collectives."""
    shared.measure_and_show(
        "collectives",
        lambda listener: run_bench(listener, rounds=rounds, quick=quick, mpi=mpi, ranks=ranks),
        as_json=as_json,
    )
