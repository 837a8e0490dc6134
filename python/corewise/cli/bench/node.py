"""`corewise bench node`: what threads of one node cost each other.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.bench.node import ALL, CASES
from corewise.cli.bench import shared

with late.imports():
    from corewise.bench.node.study import Request, run_bench

_HELP = """Measure what transposes cost, and ways of sharing work out among threads.

transpose: matrices of complex doubles on one thread, transposed in registers and written past the caches,
beside blocked C, and beside a copy of as many bytes. Times are those of the processor.
shares: the same transpose by all processors, shared out by static blocks, a counter, deques with stealing,
corewise's overlap library, OpenMP and oneTBB; with work of even and uneven length, with a processor that
others use, with a matrix that stays in the caches, and with no work at all (paper 004, section 6).
contention: transposes and copies by one thread and more, added in the order in which processors are counted
and by memory domains in turn; bandwidth in sum and per core, and where more cores stop to bring more.
noise: interruptions of work that needs no memory, their histogram and spectrum, on all cores and with one
left idle; with --noise-file for `corewise place --spare`.

\b
Example:
  corewise bench node --quick
  corewise bench node --cases transpose --json
  corewise bench node --cases contention --order 0,4,1,5
"""
_CASES = typer.Option(ALL, "--cases", help=f"What is measured: {', '.join(CASES)} or {ALL}.")
_ORDER = typer.Option(
    None,
    "--order",
    metavar="ORDER",
    help="contention: incremental, alternating, or processors, e.g. 0,4,1,5; without: the first two.",
)
_NOISE_FILE = typer.Option(
    None, "--noise-file", metavar="FILE.json", help="noise: write what was measured there."
)


def register(group: typer.Typer) -> None:
    """Adds `node` to the group `bench`."""
    group.command("node", help=_HELP)(bench_node)


def bench_node(
    cases: str = _CASES,
    order: str | None = _ORDER,
    noise_file: Path | None = _NOISE_FILE,
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    check: bool = shared.CHECK,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures transposes, shares, contention and noise."""
    shared.measure_and_show(
        "node",
        lambda listener: run_bench(listener, Request(cases, rounds, quick, order, noise_file)),
        as_json=as_json,
        check=check,
    )
