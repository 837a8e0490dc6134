"""`corewise paper profiling`: paper 003's overhead study on this host.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.cli import console
from corewise.cli.papers import show as paper_show
from corewise.papers.profiling.study import run_paper

_HELP = """What recording costs (paper 003): figures 2 to 5, measured on this host.

Runs the paper's worst case, the communication of Sweep3D without its computation, and an application, without
a tool and under every recorder, interleaved: by number of events, message size and buffer size. MPI_Init, net
time and MPI_Finalize apart; mean cost and tail. Figure 5, the paper's second machine, is a second MPI.

\b
Example:
  corewise paper profiling --quick --out figures
"""
_RANKS = typer.Option(None, "--ranks", "-n", min=2, max=64, help="Ranks; default: the cores, six at most.")
_MPI = typer.Option(None, "--mpi", help="openmpi, mpich, a prefix, or a launcher.")

_QUICK = typer.Option(False, "--quick", help="Fewer rounds and points: a minute or two instead of many.")


def register(group: typer.Typer) -> None:
    """Adds `profiling` to the group `paper`."""
    group.command("profiling", help=_HELP)(profiling)


def profiling(
    out: Path | None = paper_show.OUT,
    quick: bool = _QUICK,
    ranks: int | None = _RANKS,
    mpi: str | None = _MPI,
    as_json: bool = paper_show.AS_JSON,
) -> None:
    """Measures paper 003 again."""
    paper_show.check_folder(out)
    with console.progress_bar("measuring paper 003") as advance:
        result = run_paper(mpi=mpi, ranks=ranks, quick=quick, progress=advance)
    paper_show.show_result(result, out, as_json)
