"""`corewise bench sim`: how fast the simulator is.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.cli.bench import shared

with late.imports():
    from corewise.bench.sim.study import run_bench

_HELP = """Measure how many messages a second simulates, beside SimGrid.

8 actors in a ring with contention, simulated by whole messages (flow) and packet by packet, and by
SimGrid S4U where it is installed; all take turns. And the time of all 5040 mappings of paper 002's
ring, on one core, beside the bound of 60 s.

\b
Example:
  corewise bench sim --quick
  corewise bench sim --check
"""


def register(group: typer.Typer) -> None:
    """Adds `sim` to the group `bench`."""
    group.command("sim", help=_HELP)(bench_sim)


def bench_sim(
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    check: bool = shared.CHECK,
    html_file: Path | None = shared.HTML,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures the simulator."""
    shared.measure_and_show(
        "sim",
        lambda listener: run_bench(listener, rounds=rounds, quick=quick),
        as_json=as_json,
        html_file=html_file,
        check=check,
    )
