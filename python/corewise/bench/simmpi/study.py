"""How many MPI messages a second simulates or replays, beside SMPI, with one program on one machine.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from corewise.base.files import write_text
from corewise.bench.mpis import chosen, output_of, title
from corewise.bench.peers import SIMGRID
from corewise.bench.programs import folder_of
from corewise.bench.rounds import alone, beside, in_turns, rounded
from corewise.bench.rows import Listener, Outcome, Row
from corewise.bench.simmpi import replayed
from corewise.bench.simmpi.platform import hostfile, platform_xml
from corewise.bench.simmpi.replayed import MACHINES, Traces, exchange
from corewise.data.machines import load_machine
from corewise.errors import InputError, RunError
from corewise.mpi.programs import sources_of
from corewise.sim.ranks import RunOptions, compile_program, run_program

ROUNDS, QUICK_ROUNDS = 7, 3
RANKS = 64
BYTES = 1024
SHAPES = {"ring": ("ring:64", 2 * 64), "halo": ("mesh:8x8", 2 * 2 * 8 * 7)}
"""Shape -> (machine, messages per round of the workload)."""
OURS = (200, 2000)
THEIRS = (40, 400)
"""Rounds of the workload in the short and in the long run of a contestant."""
DEMAND = 5.0
SWEEP_RANKS = 256
SWEEP_WORDS = ("--size", "64x64x40", "--iterations", "4")
SWEEP_BOUND_S, SWEEP_BOUND_MIB = 60.0, 2048
RIVAL = "SimGrid SMPI, CM02"
_SMPI = (
    "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:0",
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/privatization:no",
)
_LIMIT_S = 120.0


@dataclass(frozen=True)
class Contest:
    """What both run.

    Attributes
    ----------
    shape : str
    folder : Path
        With the programs, the platform and the host file.
    """

    shape: str
    folder: Path

    @property
    def machine(self) -> str:
        """As for `load_machine`."""
        return SHAPES[self.shape][0]

    def ours(self, rounds: int) -> float:
        """Wall seconds of a run of ours."""
        begin = time.perf_counter()
        run = run_program(self.folder / "ours", [self.shape, str(rounds), str(BYTES)], RANKS, self.machine)
        if run.exit_status != 0:
            raise RunError(f"exchange {self.shape}: {run.message}")
        return time.perf_counter() - begin

    def theirs(self, rounds: int) -> float:
        """Wall seconds of a run of SMPI's."""
        words = ["smpirun", "-np", str(RANKS), "-platform", str(self.folder / f"{self.shape}.xml")]
        words += ["-hostfile", str(self.folder / "hosts"), *_SMPI, str(self.folder / "theirs")]
        begin = time.perf_counter()
        output_of([*words, self.shape, str(rounds), str(BYTES)], os.environ, limit_s=_LIMIT_S)
        return time.perf_counter() - begin


def rate(shape: str, run: Callable[[int], float], short_and_long: tuple[int, int]) -> float:
    """Messages per second of wall time, without what start and end take."""
    short, long = short_and_long
    took = -run(short) + run(long)
    return (long - short) * SHAPES[shape][1] / max(took, 1e-9)


def has_smpi() -> bool:
    """Whether SMPI's compiler and launcher are here."""
    return shutil.which("smpicc") is not None and shutil.which("smpirun") is not None


def prepare(folder: Path, listener: Listener) -> None:
    """Compiles the program for both, and writes what SMPI wants to know of the machines."""
    source = folder_of("simmpi") / "exchange.c"
    listener.note("building exchange (bench/simmpi)")
    if compile_program(["-O2", str(source), "-o", str(folder / "ours")]) != 0:
        raise RunError(f"{source}: cannot be compiled")
    if not has_smpi():
        return
    command = ["smpicc", "-O2", str(source), "-o", str(folder / "theirs")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RunError(f"smpicc: {done.stderr.strip()[-400:]}")
    write_text(folder / "hosts", hostfile(RANKS))
    for shape, (machine, _) in SHAPES.items():
        write_text(folder / f"{shape}.xml", platform_xml(load_machine(machine)))


def row(shape: str, folder: Path, rounds: int, listener: Listener) -> Row:
    """One shape."""
    contest = Contest(shape, folder)
    contestants = {"ours": partial(rate, shape, contest.ours, OURS)}
    if has_smpi():
        contestants["theirs"] = partial(rate, shape, contest.theirs, THEIRS)
    found = in_turns(contestants, rounds, listener.progress)
    ours = [turn["ours"] for turn in found]
    blank = Row(
        f"simmpi-{shape}",
        f"simulated MPI messages of 1 KB per wall second, {RANKS} ranks, {shape} on {contest.machine}",
        "messages/s",
        None,
        RIVAL if has_smpi() else None,
        demand=DEMAND,
    )
    if not has_smpi():
        return alone(blank, ours)
    return beside(blank, ours, [turn["theirs"] for turn in found], more_is_better=True)


def replay_row(shape: str, folder: Path, rounds: int, listener: Listener) -> Row | None:
    """A recording of one shape, replayed by both; None where no MPI is here to record it."""
    try:
        mpi = chosen(None)[0]
    except InputError as error:
        listener.note(f"no replay: {error}")
        return None
    traces = Traces(shape, folder)
    traces.record(mpi, exchange(mpi, listener))
    contestants = {"ours": partial(traces.rate, traces.ours)}
    if has_smpi():
        contestants["theirs"] = partial(traces.rate, traces.theirs)
    found = in_turns(contestants, rounds, listener.progress)
    ours = [turn["ours"] for turn in found]
    blank = Row(
        f"simmpi-replay-{shape}",
        f"messages of 1 KB per wall second, a recording of {replayed.RANKS} ranks replayed, {shape} on "
        f"{traces.machine}",
        "messages/s",
        None,
        replayed.RIVAL if has_smpi() else None,
        demand=DEMAND,
        more={"recorded_by": title(mpi)},
    )
    if not has_smpi():
        return alone(blank, ours)
    return beside(blank, ours, [turn["theirs"] for turn in found], more_is_better=True)


def whole_program(folder: Path) -> Row:
    """Sweep3D on 256 ranks: wall time, and the memory of the largest process that was started."""
    sources = map(str, sources_of("sweep3d"))
    program = folder / "sweep3d"
    if compile_program(["-O2", "-std=c++20", *sources, "-o", str(program)]) != 0:
        raise RunError("sweep3d: cannot be compiled")
    begin = time.perf_counter()
    run = run_program(program, SWEEP_WORDS, SWEEP_RANKS, "mesh:16x16", options=RunOptions(quiet=True))
    took = time.perf_counter() - begin
    if run.exit_status != 0:
        raise RunError(f"sweep3d: {run.message}")
    return Row(
        "simmpi-sweep3d",
        f"wall time of sweep3d {' '.join(SWEEP_WORDS)} on {SWEEP_RANKS} simulated ranks, start included",
        "s",
        rounded(took),
        "bound",
        SWEEP_BOUND_S,
        ratio=rounded(SWEEP_BOUND_S / took),
        demand=1.0,
        more={
            "messages": run.messages,
            "memory_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10,
            "memory_bound_mib": SWEEP_BOUND_MIB,
        },
    )


def run_bench(listener: Listener, *, rounds: int | None = None, quick: bool = False) -> Outcome:
    """Both shapes as programs and as recordings, and a whole program."""
    turns = rounds or (QUICK_ROUNDS if quick else ROUNDS)
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as name:
        folder = Path(name)
        prepare(folder, listener)
        makers = [partial(row, shape) for shape in SHAPES] + [
            partial(replay_row, shape) for shape in MACHINES
        ]
        share = 1 / (len(makers) + 1)
        made = [
            make(folder, turns, listener.part(index * share, (index + 1) * share))
            for index, make in enumerate(makers)
        ]
        rows = [each for each in made if each is not None]
        rows.append(whole_program(folder))
    return Outcome("simmpi", tuple(rows), () if has_smpi() else (SIMGRID,))
