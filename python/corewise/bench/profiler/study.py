"""`corewise bench profiler`: what recording adds to MPI calls and to functions, beside other tracers.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.base import late
from corewise.bench.profiler import calls
from corewise.errors import InputError

with late.imports():
    from corewise.bench import mpis
    from corewise.bench.peers import EZTRACE, UFTRACE, Peer
    from corewise.bench.profiler import functions
    from corewise.bench.rows import Listener, Outcome, Row

ROUNDS, QUICK_ROUNDS = 9, 3
CASES = (*calls.PARTS, "functions")
ALL = "all"


def parts_of(which: str) -> tuple[str, ...]:
    """What `--cases` names."""
    if which != ALL and which not in CASES:
        raise InputError(f"--cases: found '{which}', allowed: {', '.join(CASES)}, {ALL}")
    return CASES if which == ALL else (which,)


def run_bench(
    listener: Listener,
    *,
    rounds: int | None = None,
    quick: bool = False,
    mpi: str | None = None,
    which: str = ALL,
) -> Outcome:
    """Calls under every MPI, and under EZTrace's where no other is named; functions under every MPI."""
    count, parts = rounds or (QUICK_ROUNDS if quick else ROUNDS), parts_of(which)
    libraries = mpis.chosen(mpi)
    found: list[Row] = []
    absent: list[Peer] = []
    if of_calls := tuple(part for part in parts if part in calls.PARTS):
        rival = calls.eztrace_mpi()
        known = [library.library.resolve() for library in libraries]
        beside = mpi is None and rival is not None and rival.library.resolve() not in known
        taken = [*libraries, *([rival] if beside and rival is not None else [])]
        found += calls.rows(taken, count, of_calls, listener.part(0, 0.8))
        absent += [EZTRACE] if rival is None else []
    if "functions" in parts:
        found += functions.rows(libraries, count, listener.part(0.8, 1))
        absent += [] if functions.has_uftrace() else [UFTRACE]
    return Outcome("profiler", tuple(found), tuple(absent))
