"""`corewise paper mapping`: paper 002's figures on the simulated Cell.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.cli import console
from corewise.cli.papers import show as paper_show
from corewise.papers.mapping.study import run_paper

_HELP = """Mapping of a ring of tasks to SPEs (paper 002): figures 2 to 5, published beside simulated.

Runs the paper's message library on a simulated Cell: all 120 mappings of six tasks on a PS3, all 5040 of
eight on one chip of a blade, both ways round and one way; then asks where a dependence on the mapping could
come from.

\b
Example:
  corewise paper mapping --out figures
"""
_SEED = typer.Option(1, "--seed", min=1, max=2**31, help="Of jitter, samples and default mappings.")


def register(group: typer.Typer) -> None:
    """Adds `mapping` to the group `paper`."""
    group.command("mapping", help=_HELP)(mapping)


def mapping(
    out: Path | None = paper_show.OUT,
    quick: bool = paper_show.QUICK,
    seed: int = _SEED,
    as_json: bool = paper_show.AS_JSON,
) -> None:
    """Runs paper 002 again."""
    paper_show.check_folder(out)
    with console.progress_bar("simulating paper 002") as advance:
        result = run_paper(quick=quick, seed=seed, progress=advance)
    paper_show.show_result(result, out, as_json)
