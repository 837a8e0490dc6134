"""Collectives on this host's shared memory against both MPIs: barrier, broadcast, allreduce, interleaved.

One program per MPI has corewise's collectives, that MPI's and a hand-written floor in one process, in turn
within every round (bench_collectives.cpp says how each is timed). Ratio = the MPI's time / corewise's, taken
round by round (over 1: corewise is faster), its median over the rounds of all runs; spread: the distance
between its quartiles over the same rounds; runs: the median of each run, which shows how processes differ.
Floor: two bare flags, an exchange of 8 bytes in the flags' lines.

Usage: .venv/bin/python bench/collectives/run.py [--rounds N] [--calls N] [--ranks 2] [--mpi NAME] [--json]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0]))

import racing  # noqa: E402

ROOT = racing.ROOT
MPIS = ("openmpi", "mpich")
SOURCES = (
    "shm/mapping.cpp",
    "shm/segment.cpp",
    "pattern/schedule.cpp",
    "kernels/reduce.cpp",
    "kernels/reduce_tables.cpp",
)
ENVIRONMENT = {
    "openmpi": {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_btl": "^ofi",
    },
    "mpich": {},
}
"""Nothing that slows an MPI down; with more ranks than cores BUSY is added."""
BUSY = {
    "openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1"},
    "mpich": {
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
        "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    },
}
CORES = len(os.sched_getaffinity(0))


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


def cases() -> list[Case]:
    """What is measured, in order, with the algorithms found best by trying."""
    made = [Case("barrier", 0, "pairwise_exchange:waits=0")]
    for size in (8, 128, 1024, 4096, 16384, 65536, 262144, 1048576):
        piece = 8192 if size <= 65536 else 32768
        tree = f"local_store_tree:degree=2:piece_bytes={piece}"
        made.append(Case("broadcast", size, "eager_tree" if size <= 128 else tree))
    for size in (8, 128, 1024, 4096, 16384, 65536, 262144, 1048576):
        made.append(Case("allreduce", size, "recursive_doubling" if size <= 128 else "ring"))
    return made


def compile_bench(mpi: str, output: Path) -> Path:
    """The benchmark program for one MPI, optimised, with assertions off as in a release."""
    compiler = ROOT / "build" / "mpi" / mpi / "bin" / "mpicxx"
    command = [str(compiler), "-std=c++20", "-O3", "-DNDEBUG", f"-I{ROOT / 'src'}", f"-I{HERE}"]
    sources = [HERE / "bench_collectives.cpp", *(ROOT / "src" / source for source in SOURCES)]
    subprocess.run([*command, *map(str, sources), "-o", str(output), "-pthread"], check=True)
    return output


def launch(mpi: str, ranks: int) -> list[str]:
    """The launcher, with every rank on a core of its own where there are enough."""
    mpiexec = str(ROOT / "build" / "mpi" / mpi / "bin" / "mpiexec")
    if ranks > CORES:
        loose = {
            "openmpi": ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"],
            "mpich": ["-bind-to", "none"],
        }
        return [mpiexec, *loose[mpi], "-n", str(ranks)]
    bound = {"openmpi": ["--bind-to", "core"], "mpich": ["-bind-to", "core"]}
    return [mpiexec, *bound[mpi], "-n", str(ranks)]


def run_once(mpi: str, program: Path, ranks: int, rounds: int, calls: int, wanted: Sequence[Case]) -> None:
    """One run of the program; appends to the cases' times."""
    environment = os.environ | ENVIRONMENT[mpi] | (BUSY[mpi] if ranks > CORES else {})
    command = [
        *launch(mpi, ranks),
        str(program),
        str(rounds),
        str(calls),
        *(case.argument() for case in wanted),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(f"{mpi}: {' '.join(command)}\n{done.stdout}{done.stderr}")
    for line in done.stdout.splitlines():
        if line.startswith("case "):
            _, index, ours, theirs, floor = line.split()
            wanted[int(index)].times.append((float(ours), float(theirs), float(floor)))
    for case in wanted:
        case.run_ends.append(len(case.times))


def row(mpi: str, ranks: int, case: Case) -> racing.Row:
    """One line of the result."""
    ours, theirs = [each[0] for each in case.times], [each[1] for each in case.times]
    ratios = [rival / own for rival, own in zip(theirs, ours, strict=True)]
    over_floor = [ours / floor for ours, _, floor in case.times if floor > 0]
    floors = [floor for _, _, floor in case.times if floor > 0]
    return {
        "id": f"shm-{case.collective}-{case.size}-{ranks}-{mpi}",
        "what": f"{case.collective} of {case.size} bytes, {ranks} processes, {case.algorithm}",
        "unit": "ns",
        "ours": racing.middle(ours),
        "rival": mpi,
        "theirs": racing.middle(theirs),
        "floor": racing.middle(floors),
        "over_floor": racing.middle(over_floor, 3),
        **racing.compared(theirs, ours),
        "runs": [
            round(statistics.median(ratios[first:last]), 3)
            for first, last in pairwise([0, *(case.run_ends or [len(ratios)])])
        ],
    }


def measure(mpis: Sequence[str], ranks: int, runs: int, rounds: int, calls: int) -> list[racing.Row]:
    """Rows of all cases; the MPIs take turns, run by run."""
    wanted = {mpi: cases() for mpi in mpis}
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        programs = {mpi: compile_bench(mpi, Path(name) / f"bench_collectives_{mpi}") for mpi in mpis}
        for _ in range(runs):
            for mpi in mpis:
                run_once(mpi, programs[mpi], ranks, rounds, calls, wanted[mpi])
    return [row(mpi, ranks, case) for mpi in mpis for case in wanted[mpi]]


def sentence(line: racing.Row) -> str:
    """A row for people."""
    floor = f", floor {line['floor']} ns (x{line['over_floor']})" if line["floor"] else ""
    return (
        f"{line['what']}: ours {line['ours']} ns, {line['rival']} {line['theirs']} ns{floor}; "
        f"ratio {line['ratio']} (quartile distance {line['spread']}, n={line['n']}, "
        f"run by run {line['runs']})"
    )


def main() -> int:
    """Runs and prints."""
    parser = racing.options(__doc__, 11)
    parser.add_argument("--runs", type=int, default=3, help="processes per MPI, taking turns")
    parser.add_argument("--calls", type=int, default=200, help="calls per contestant and round")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--mpi", choices=MPIS, help="only this one")
    arguments = parser.parse_args()
    mpis = (arguments.mpi,) if arguments.mpi else MPIS
    rows = measure(mpis, arguments.ranks, arguments.runs, arguments.rounds, arguments.calls)
    racing.show("collectives", rows, sentence, as_json=arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
