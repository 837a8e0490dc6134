"""`corewise paper placement`: the best affinity found automatically, held against papers 000 and 002.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.cli import console
from corewise.cli.papers import show as paper_show
from corewise.papers.placement.study import run_paper

_HELP = """The best placement found automatically (papers 000 and 002): what their authors asked for.

For every pattern of paper 000 the best placement on the simulated Cell, beside the paper's affinities, the
placement that link loads prove best, and the way by a hypercube onto EvenOdd; EvenOdd's claim to be good at
everything; the best compromise and its price per pattern. For paper 002's ring on the PS3 the mappings
proven best, with their rank among the 120 simulated ones.

\b
Example:
  corewise paper placement --quick
"""
_SEED = typer.Option(1, "--seed", min=1, max=2**31, help="Of jitter and samples.")


def register(group: typer.Typer) -> None:
    """Adds `placement` to the group `paper`."""
    group.command("placement", help=_HELP)(placement)


def placement(
    out: Path | None = paper_show.OUT,
    quick: bool = paper_show.QUICK,
    seed: int = _SEED,
    as_json: bool = paper_show.AS_JSON,
) -> None:
    """Searches placements for papers 000 and 002."""
    paper_show.check_folder(out)
    with console.progress_bar("placing papers 000 and 002") as advance:
        result = run_paper(quick=quick, seed=seed, progress=advance)
    paper_show.show_result(result, out, as_json)
