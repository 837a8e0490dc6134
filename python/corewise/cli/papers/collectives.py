"""`corewise paper collectives`: paper 001's tables and figures on the simulated Cell.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.cli import console
from corewise.cli.papers import show as paper_show
from corewise.papers.collectives.study import run_paper

_HELP = """Collectives inside a Cell (paper 001): every table and figure, published beside simulated.

Runs the paper's algorithms on simulated SPEs, packet by packet: DMA latencies and copies (figure 2), barriers
(figure 3, table 1), broadcast (figures 4 to 6, table 2), reduce (figure 7, table 3), what the paper says of
them in words, and its future work beside the paper's best.

\b
Example:
  corewise paper collectives --out figures
"""


def register(group: typer.Typer) -> None:
    """Adds `collectives` to the group `paper`."""
    group.command("collectives", help=_HELP)(collectives)


def collectives(
    out: Path | None = paper_show.OUT,
    quick: bool = paper_show.QUICK,
    as_json: bool = paper_show.AS_JSON,
) -> None:
    """Runs paper 001 again."""
    paper_show.check_folder(out)
    with console.progress_bar("simulating paper 001") as advance:
        result = run_paper(quick=quick, progress=advance)
    paper_show.show_result(result, out, as_json)
