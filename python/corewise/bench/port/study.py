"""`corewise bench port`: what does the port cost? A barrier through it and by hand on atomics, interleaved.

Per number of ranks one process; in every round each contestant in turn does many barriers back to back, the
order changing from round to round. Ratio above 1: the port is faster; 1: the abstraction is free. Floor (two
ranks): each writes one flag and looks for the other's.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from corewise.bench.mpis import output_of
from corewise.bench.programs import SHM_CORE, Program
from corewise.bench.rounds import beside, middle
from corewise.bench.rows import Listener, Outcome, Row

ROUNDS, QUICK_ROUNDS = 101, 21
CALLS = 500
RANKS = (2, 4)
RIVAL = "the same barrier hand-written on atomics"
Round = tuple[float, float, float]
"""Nanoseconds per barrier: the port's, by hand, the floor (0: none)."""


def measure(program: Path, ranks: int, rounds: int) -> list[Round]:
    """One process."""
    text = output_of([str(program), str(ranks), str(rounds), str(CALLS)], os.environ)
    return [
        (float(ours), float(theirs), float(floor))
        for ours, theirs, floor in map(str.split, text.splitlines())
    ]


def row(ranks: int, rounds: Sequence[Round]) -> Row:
    """One number of ranks."""
    what = f"pairwise-exchange barrier of {ranks} threads, back to back"
    floors = [floor for _, _, floor in rounds if floor > 0]
    blank = Row(f"port-barrier-{ranks}", what, "ns", None, RIVAL, floor=middle(floors))
    return beside(blank, [each[0] for each in rounds], [each[1] for each in rounds])


def run_bench(listener: Listener, *, rounds: int | None = None, quick: bool = False) -> Outcome:
    """A row per number of ranks."""
    program = Program("port", "bench_port", ("bench_port.cpp",), SHM_CORE, libraries=("-pthread",)).build(
        listener
    )
    found = []
    for index, ranks in enumerate(RANKS):
        found.append(row(ranks, measure(program, ranks, rounds or (QUICK_ROUNDS if quick else ROUNDS))))
        listener.progress((index + 1) / len(RANKS))
    return Outcome("port", tuple(found))
