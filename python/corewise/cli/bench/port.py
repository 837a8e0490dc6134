"""`corewise bench port`: what the port costs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.cli.bench import shared

with late.imports():
    from corewise.bench.port.study import run_bench

_HELP = """Measure what it costs that collectives are written on a port.

A barrier through the port on shared memory, and the same barrier written by hand on atomics,
between 2 and 4 threads; with 2 also the floor, a bare pair of flags. All take turns.

\b
Example:
  corewise bench port --quick
"""


def register(group: typer.Typer) -> None:
    """Adds `port` to the group `bench`."""
    group.command("port", help=_HELP)(bench_port)


def bench_port(
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    html_file: Path | None = shared.HTML,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures the port."""
    shared.measure_and_show(
        "port",
        lambda listener: run_bench(listener, rounds=rounds, quick=quick),
        as_json=as_json,
        html_file=html_file,
    )
