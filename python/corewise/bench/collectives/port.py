"""Algorithms by name, on the bare port of shared memory: barrier, broadcast, allreduce beside both MPIs.

One program per MPI has corewise's collectives, that MPI's and a hand-written floor in one process, in turn
within every round (``bench/collectives/bench_collectives.cpp`` says how each is timed); the MPIs take turns,
run by run. ``runs`` has the ratio's median of each run, which shows how processes differ. Floor: two bare
flags; an exchange of 8 bytes in the flags' lines.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from corewise.bench import mpis
from corewise.bench.collectives.launches import launched
from corewise.bench.programs import SHM_CORE, Program
from corewise.bench.rounds import beside, middle
from corewise.bench.rows import Listener, Row
from corewise.mpi.find import MpiLibrary

CORE = (
    *SHM_CORE,
    "pattern/schedule.cpp",
    "kernels/reduce/reduce.cpp",
    "kernels/reduce/avx2.cpp",
    "kernels/reduce/avx512.cpp",
    "kernels/reduce/tables.cpp",
)
SIZES = (8, 128, 1024, 4096, 16384, 65536, 262144, 1048576)
QUICK_SIZES = (8, 4096, 65536)
ROUNDS, QUICK_ROUNDS = 11, 5
RUNS, QUICK_RUNS = 3, 1
CALLS, QUICK_CALLS = 200, 50
EAGER_BYTES = 128
"""What fits beside a flag."""


@dataclass
class Case:
    """A collective of a size, and the algorithm of ours that runs it."""

    collective: str
    size: int
    algorithm: str
    times: list[tuple[float, float, float]] = field(default_factory=list)
    """Nanoseconds of each round: ours, the MPI's, the floor (0: none)."""
    run_ends: list[int] = field(default_factory=list)
    """Where each run's rounds end in `times`."""

    def argument(self) -> str:
        """As the program takes it."""
        return f"{self.collective}:{self.size}:{self.algorithm}"


def cases(sizes: Sequence[int]) -> list[Case]:
    """What is measured, in order, with the algorithms found best by trying."""
    made = [Case("barrier", 0, "pairwise_exchange:waits=0")]
    for size in sizes:
        piece = 8192 if size <= 65536 else 32768
        tree = f"local_store_tree:degree=2:piece={piece}"
        large = "root_stage:piece=4096" if size <= 16384 else tree
        made.append(Case("broadcast", size, "eager_tree" if size <= EAGER_BYTES else large))
    for size in sizes:
        large = "ring" if size == 16384 else "peer_stages"
        made.append(Case("allreduce", size, "recursive_doubling" if size <= EAGER_BYTES else large))
    return made


def program_for(mpi: MpiLibrary, listener: Listener) -> Path:
    """The contestants in one program, assertions off as in a release."""
    name = f"bench_collectives-{mpis.slug(mpi)}"
    return Program(
        "collectives", name, ("bench_collectives.cpp",), CORE, libraries=("-pthread",), mpi=mpi
    ).build(listener)


def run_once(
    mpi: MpiLibrary, program: Path, ranks: int, rounds: int, calls: int, wanted: Sequence[Case]
) -> None:
    """One run of the program; appends to the cases' times."""
    arguments = [str(rounds), str(calls), *(case.argument() for case in wanted)]
    for line in launched(mpi, program, arguments, ranks).splitlines():
        if line.startswith("case "):
            _, index, ours, theirs, floor = line.split()
            wanted[int(index)].times.append((float(ours), float(theirs), float(floor)))
    for case in wanted:
        case.run_ends.append(len(case.times))


def row(mpi: MpiLibrary, ranks: int, case: Case) -> Row:
    """One case."""
    ours, theirs = [each[0] for each in case.times], [each[1] for each in case.times]
    ratios = [rival / own for rival, own in zip(theirs, ours, strict=True)]
    floors = [floor for _, _, floor in case.times if floor > 0]
    blank = Row(
        f"collectives-{case.collective}-{case.size}-{ranks}-{mpis.slug(mpi)}",
        f"{case.collective} of {case.size} bytes, {ranks} processes, {case.algorithm}",
        "ns",
        None,
        mpis.title(mpi),
        floor=middle(floors),
        mpi=mpis.title(mpi),
        more={
            "over_floor": middle([own / floor for own, _, floor in case.times if floor > 0]),
            "runs": [
                middle(ratios[first:last]) for first, last in pairwise([0, *(case.run_ends or [len(ratios)])])
            ],
        },
    )
    return beside(blank, ours, theirs)


def rows_of(
    listener: Listener, libraries: Sequence[MpiLibrary], ranks: int, rounds: int | None, quick: bool
) -> tuple[Row, ...]:
    """Of all cases."""
    programs = [program_for(library, listener) for library in libraries]
    wanted = [cases(QUICK_SIZES if quick else SIZES) for _ in libraries]
    runs, calls = (QUICK_RUNS, QUICK_CALLS) if quick else (RUNS, CALLS)
    turns = rounds or (QUICK_ROUNDS if quick else ROUNDS)
    for turn in range(runs):
        for index, library in enumerate(libraries):
            run_once(library, programs[index], ranks, turns, calls, wanted[index])
            listener.progress((turn * len(libraries) + index + 1) / (runs * len(libraries)))
    return tuple(
        row(library, ranks, case) for library, some in zip(libraries, wanted, strict=True) for case in some
    )
