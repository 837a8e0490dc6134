"""`corewise bench mapping`: how fast and how good placements are found.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.bench.mapping.study import ALL, CASES, run_bench
from corewise.cli.bench import shared

_HELP = """Measure how long proofs and searches of placements take, and how good they are beside others.

ring: 8 ranks on a ring, proven, beside plain enumeration in C. instances: proofs of Nugent's
assignment problems. machines: every bundled machine with every bundled pattern, how often the best
is proven. trees: mappings of up to 1024 ranks onto trees, beside Scotch, SharedMap and KaHIP where
they are installed.

\b
Example:
  corewise bench mapping --quick
  corewise bench mapping --cases trees --peers build/peers/bin/python
"""
_CASES = typer.Option(ALL, "--cases", help=f"What is measured: {', '.join(CASES)} or {ALL}.")
_PEERS = typer.Option(None, "--peers", metavar="PYTHON", help="The Python that has the wheels of others.")


def register(group: typer.Typer) -> None:
    """Adds `mapping` to the group `bench`."""
    group.command("mapping", help=_HELP)(bench_mapping)


def bench_mapping(
    which: str = _CASES,
    peers: str | None = _PEERS,
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    html_file: Path | None = shared.HTML,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures placements."""
    shared.measure_and_show(
        "mapping",
        lambda listener: run_bench(listener, rounds=rounds, quick=quick, which=which, peers=peers),
        as_json=as_json,
        html_file=html_file,
    )
