"""`corewise bench collectives`: collectives through the accelerate library, and on the bare port.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from corewise.base import late
from corewise.bench.collectives import COLLECTIVES
from corewise.bench.collectives.study import ALL, CASES
from corewise.cli import console
from corewise.cli.bench import shared

with late.imports():
    from corewise.bench.collectives.study import Request, run_bench, run_tune
    from corewise.bench.rows import Listener
    from corewise.data.sizes import size_bytes
    from corewise.data.tuned_hosts import collectives_knob, processor_name

_HELP = """Measure what corewise's collectives cost on this host, beside the MPI's own.

preload: MPI's collectives as a program gets them with `corewise run --accelerate`, beside the MPI's
own procedures behind the library, in one program; every fourth power of two from 8 bytes on, or with --all
every one from 1 byte to 4 MiB. What loses beyond chance is measured again with three times the rounds.
With --mapped buffers are of MPI_Alloc_mem, which the library maps on all ranks; its rows have own ids.
With --gaps data that are moved lie in runs of so many bytes with gaps as long, under a derived datatype.
port: barrier, broadcast and allreduce by the algorithms' names, on the bare port of shared memory and, for
the shortest, beside a floor written by hand. All take turns.
--tune tries every algorithm that fits, some minutes per MPI; the files are those that
`corewise run --accelerate-tuning` reads. A file that is there keeps its rows for other ranks and collectives.

\b
Example:
  corewise bench collectives --quick
  corewise bench collectives --mpi mpich --ranks 4 --cases preload
  corewise bench collectives --collectives allreduce,bcast --sizes 8,64KiB
  corewise bench collectives --table 'allreduce=1024:recursive_doubling,-:peer_stages'
  corewise bench collectives --mapped --mpi mpich
  corewise bench collectives --gaps 64
  corewise bench collectives --tune . --ranks 2
"""
_CASES = typer.Option(ALL, "--cases", help=f"What is measured: {', '.join(CASES)} or {ALL}.")
_RANKS = typer.Option(2, "--ranks", min=2, max=256, help="Processes.")
_ALL = typer.Option(False, "--all", help="preload: every collective and size.")
_COLLECTIVES = typer.Option(
    "", "--collectives", metavar="LIST", help=f"preload: only these, of {', '.join(COLLECTIVES)}."
)
_SIZES = typer.Option("", "--sizes", metavar="LIST", help="preload: only these, in bytes or with a unit.")
_TABLE = typer.Option(
    None,
    "--table",
    metavar="TEXT",
    help="preload: choose by this table, a text as in COREWISE_ACCELERATE; host: as `corewise run "
    "--accelerate` does on this host.",
)
_MAPPED = typer.Option(
    False, "--mapped", help="preload: buffers of MPI_Alloc_mem, which all ranks map, and what gains by them."
)
_GAPS = typer.Option(
    "",
    "--gaps",
    metavar="SIZE",
    help="preload: data in runs of so many bytes, with gaps as long (default: none).",
)
_TUNE = typer.Option(
    None,
    "--tune",
    metavar="FOLDER",
    help="Instead, find what is quickest on this host, and write one file per MPI into the folder.",
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
    mapped: bool = _MAPPED,
    gaps: str = _GAPS,
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    tune: Path | None = _TUNE,
    html_file: Path | None = shared.HTML,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures collectives, or a tuning of them."""
    shared.check_page(html_file, tune)
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
        mapped,
        size_bytes(gaps, "--gaps") if gaps else 0,
    )
    if tune is not None:
        _tune(request, tune, as_json)
        return
    shared.measure_and_show(
        "collectives", lambda listener: run_bench(listener, request), as_json=as_json, html_file=html_file
    )


def _tune(request: Request, folder: Path, as_json: bool) -> None:
    with console.progress_bar("bench collectives --tune") as advance:
        written = run_tune(Listener(advance, console.note), request, folder)
    if as_json:
        rows = [asdict(row) | {"file": str(each.path)} for each in written for row in each.tuning.rows]
        console.show_json("bench collectives", processor_name(), rows)
        return
    for each in written:
        title = f"{each.path}: what is taken over, as COREWISE_ACCELERATE says it"
        console.show(title, "", collectives_knob([each]), "")
