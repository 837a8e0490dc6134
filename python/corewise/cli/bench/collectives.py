"""`corewise bench collectives`: collectives through the accelerate library, and on the bare port.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import typer

from corewise.bench.collectives.preload import COLLECTIVES
from corewise.bench.collectives.study import ALL, CASES, Request, run_bench
from corewise.cli.bench import shared
from corewise.data.sizes import size_bytes

_HELP = """What do corewise's collectives cost on this host, beside the MPI's own?

preload: MPI's collectives as a program gets them with `corewise run --accelerate`, beside the MPI's
own procedures behind the library, in one program; every fourth power of two from 8 bytes on, or with --all
every one from 1 byte to 4 MiB. What loses beyond chance is measured again with three times the rounds.
port: barrier, broadcast and allreduce by the algorithms' names, on the bare port of shared memory and, for
the shortest, beside a floor written by hand. All take turns.

\b
Example:
  corewise bench collectives --quick
  corewise bench collectives --mpi mpich --ranks 4 --cases preload
  corewise bench collectives --collectives allreduce,bcast --sizes 8,64KiB
  corewise bench collectives --table 'allreduce=1024:recursive_doubling,-:peer_stages'
"""
_CASES = typer.Option(ALL, "--cases", help=f"What is measured: {', '.join(CASES)} or {ALL}.")
_RANKS = typer.Option(2, "--ranks", min=2, max=64, help="Processes.")
_ALL = typer.Option(False, "--all", help="preload: every collective and size.")
_COLLECTIVES = typer.Option(
    "", "--collectives", metavar="LIST", help=f"preload: only these, of {', '.join(COLLECTIVES)}."
)
_SIZES = typer.Option("", "--sizes", metavar="LIST", help="preload: only these, in bytes or with a unit.")
_TABLE = typer.Option(
    None,
    "--table",
    metavar="TEXT",
    help="preload: choose by this table, a text as in COREWISE_ACCELERATE.",
)


def register(group: typer.Typer) -> None:
    """Adds `collectives` to the group `bench`."""
    group.command("collectives", help=_HELP)(bench_collectives)


def bench_collectives(
    which: str = _CASES,
    mpi: str | None = shared.MPI,
    ranks: int = _RANKS,
    everything: bool = _ALL,
    collectives: str = _COLLECTIVES,
    sizes: str = _SIZES,
    table: str | None = _TABLE,
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures collectives."""
    request = Request(
        which,
        mpi,
        ranks,
        rounds,
        quick,
        everything,
        tuple(filter(None, collectives.split(","))),
        tuple(size_bytes(each, "--sizes") for each in filter(None, sizes.split(","))),
        table,
    )
    shared.measure_and_show("collectives", lambda listener: run_bench(listener, request), as_json=as_json)
