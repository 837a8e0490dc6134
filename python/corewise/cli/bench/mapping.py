"""`corewise bench mapping`: how fast and how good placements are found.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.bench.mapping import ALL, CASES
from corewise.cli.bench import shared
from corewise.errors import InputError

with late.imports():
    from corewise.bench.mapping.study import run_bench

_HELP = """Measure how long proofs and searches of placements take, and how good they are beside others.

ring: 8 ranks on a ring, proven, beside plain enumeration in C. instances: proofs of Nugent's
assignment problems. machines: every bundled machine with every bundled pattern, how often the best
is proven. trees: mappings of up to 1024 ranks onto trees, beside Scotch, SharedMap and KaHIP where
they are installed. contended: contended time of 1024 ranks beside theirs. orders (or --machines): on
every bundled machine, the order of placements that each model predicts beside the order that packets
show. reference (or --reference): the default search in its five seconds beside the best placement
known, 16 to 256 ranks.

\b
Example:
  corewise bench mapping --quick
  corewise bench mapping --cases trees --peers build/peers/bin/python
  corewise bench mapping --machines --quick
  corewise bench mapping --reference
  corewise bench mapping --reference --problem halo27-128-tree --reference-time 600
"""
_CASES = typer.Option(ALL, "--cases", help=f"What is measured: {', '.join(CASES)} or {ALL}.")
_MACHINES = typer.Option(False, "--machines", help="The same as --cases orders.")
_REFERENCE = typer.Option(False, "--reference", help="The same as --cases reference.")
_PROBLEM = typer.Option([], "--problem", metavar="NAME", help="Of the reference, only this one; repeatable.")
_REFERENCE_TIME = typer.Option(
    None,
    "--reference-time",
    min=0.1,
    metavar="SECONDS",
    help="CPU time of the reference's long searches, for each problem. [default: 45]",
)
_PEERS = typer.Option(None, "--peers", metavar="PYTHON", help="The Python that has the wheels of others.")


def register(group: typer.Typer) -> None:
    """Adds `mapping` to the group `bench`."""
    group.command("mapping", help=_HELP)(bench_mapping)


def bench_mapping(
    which: str = _CASES,
    machines: bool = _MACHINES,
    reference: bool = _REFERENCE,
    problem: list[str] = _PROBLEM,
    reference_time: float | None = _REFERENCE_TIME,
    peers: str | None = _PEERS,
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    html_file: Path | None = shared.HTML,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures placements."""
    short = [name for name, wanted in (("orders", machines), ("reference", reference)) if wanted]
    if len(short) > 1 or (short and which != ALL):
        raise InputError("--machines, --reference, --cases: found several, allowed: one of them")
    chosen = short[0] if short else which
    if (problem or reference_time is not None) and chosen != "reference":
        raise InputError(f"--problem, --reference-time: found with '{chosen}', allowed: with --reference")
    shared.measure_and_show(
        "mapping",
        lambda listener: run_bench(
            listener,
            rounds=rounds,
            quick=quick,
            which=chosen,
            peers=peers,
            problems=problem,
            reference_s=reference_time,
        ),
        as_json=as_json,
        html_file=html_file,
    )
