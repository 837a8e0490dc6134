"""`corewise bench recogniser`: how long it takes to name a pattern.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.cli.bench import shared

with late.imports():
    from corewise.bench.recogniser.study import run_bench

_HELP = """Measure how long it takes to name the communication of 4096 ranks.

A row per family, with the ranks as they are and relabelled, beside the limit of one second. A wrong
name ends the run.

\b
Example:
  corewise bench recogniser --quick
"""


def register(group: typer.Typer) -> None:
    """Adds `recogniser` to the group `bench`."""
    group.command("recogniser", help=_HELP)(bench_recogniser)


def bench_recogniser(
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    check: bool = shared.CHECK,
    html_file: Path | None = shared.HTML,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures the recogniser."""
    shared.measure_and_show(
        "recogniser",
        lambda listener: run_bench(listener, rounds=rounds, quick=quick),
        as_json=as_json,
        html_file=html_file,
        check=check,
    )
