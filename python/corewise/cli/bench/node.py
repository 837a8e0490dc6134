"""`corewise bench node`: what threads of one node cost each other.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import typer

from corewise.base import late
from corewise.bench.node import ALL, CASES
from corewise.cli.bench import shared

with late.imports():
    from corewise.bench.node.study import run_bench

_HELP = """Measure what transposes cost, and ways of sharing work out among threads.

transpose: matrices of complex doubles on one thread, transposed in registers and written past the caches,
beside blocked C, and beside a copy of as many bytes. Times are those of the processor.
shares: the same transpose by all processors, shared out by static blocks, a counter, deques with stealing,
corewise's overlap library, OpenMP and oneTBB; with work of even and uneven length, with a processor that
others use, with a matrix that stays in the caches, and with no work at all (paper 004, section 6).

\b
Example:
  corewise bench node --quick
  corewise bench node --cases transpose --json
"""
_CASES = typer.Option(ALL, "--cases", help=f"What is measured: {', '.join(CASES)} or {ALL}.")


def register(group: typer.Typer) -> None:
    """Adds `node` to the group `bench`."""
    group.command("node", help=_HELP)(bench_node)


def bench_node(
    cases: str = _CASES,
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    check: bool = shared.CHECK,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures transposes and shares."""
    shared.measure_and_show(
        "node",
        lambda listener: run_bench(listener, cases=cases, rounds=rounds, quick=quick),
        as_json=as_json,
        check=check,
    )
