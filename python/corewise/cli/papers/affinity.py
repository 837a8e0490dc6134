"""`corewise paper affinity`: paper 000's tables and figures on the simulated Cell.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.cli import console
from corewise.cli.papers import show as paper_show
from corewise.papers.affinity.study import PERMUTATIONS, QUICK_PERMUTATIONS, run_paper

_HELP = """Assignment of threads to SPEs (paper 000): every table and figure, published beside simulated.

Runs the paper's programs on a simulated Cell, packet by packet: Table 1, the patterns of Table 2 under six
affinities, the collective operations, figures 1 to 8, and random permutations of sources.

\b
Example:
  corewise paper affinity --out figures
"""
_PERMUTATIONS = typer.Option(
    None,
    "--permutations",
    min=1,
    help=f"Random permutations of sources ({PERMUTATIONS}; with --quick {QUICK_PERMUTATIONS}).",
)
_SEED = typer.Option(1, "--seed", min=1, max=2**31, help="Of trials, default affinities, permutations.")


def register(group: typer.Typer) -> None:
    """Adds `affinity` to the group `paper`."""
    group.command("affinity", help=_HELP)(affinity)


def affinity(
    out: Path | None = paper_show.OUT,
    quick: bool = paper_show.QUICK,
    permutations: int | None = _PERMUTATIONS,
    seed: int = _SEED,
    as_json: bool = paper_show.AS_JSON,
) -> None:
    """Runs paper 000 again."""
    paper_show.check_folder(out)
    with console.progress_bar("simulating paper 000") as advance:
        result = run_paper(quick=quick, permutations=permutations, seed=seed, progress=advance)
    paper_show.show_result(result, out, as_json)
