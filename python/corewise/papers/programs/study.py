"""Paper 003 again: its programs on 256 simulated SPEs, their matrices by level, and what placement gains.

Compiles the bundled programs for simulated ranks, runs them on the cluster, and hands back rows, tables and
figures. Nothing here prints or draws. The same effort gives the same result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from corewise.analysis.placement.comparison import study_placements
from corewise.analysis.placement.search import Settings, settings_for
from corewise.analysis.profile.call_graph import call_tree
from corewise.analysis.result import PaperResult, Progress
from corewise.base.files import read_text
from corewise.data.machines import load_machine
from corewise.data.profile import load_profile
from corewise.errors import RunError
from corewise.mpi.programs import sources_of
from corewise.papers.programs.calls import FUNCTION_DEPTH, ITERATIONS, CallLine, call_lines
from corewise.papers.programs.cluster import cluster_document, header_bytes
from corewise.papers.programs.data import (
    CLUSTER,
    FULL,
    LEVELS,
    QUICK,
    SETTINGS,
    SIZES,
    SPES,
    Effort,
    Placed,
    Sent,
    Study,
    levels_of,
    pattern_of,
)
from corewise.papers.programs.rows import rows_of
from corewise.papers.programs.views import figures_of, tables_of
from corewise.papers.runner import Paper, Work, unseen
from corewise.sim.ranks import RankRun, RunOptions, compile_program, run_program

PAPER = Paper("programs", rows_of, tables_of, figures_of)
MACHINE = "256 SPEs of 8 Roadrunner nodes (simulated)"
_FLAGS = ("-O2", "-std=c++20")
_ROUNDS = 20
_SEED = 1


def run_paper(quick: bool = False, progress: Progress = unseen, effort: Effort | None = None) -> PaperResult:
    """Everything `corewise paper programs` shows.

    Parameters
    ----------
    quick : bool
        Smaller problems and searches; the same 256 SPEs.
    progress : callable
        Told the share of the work done.
    effort : Effort, optional
        Instead of the two plans.
    """
    return PAPER.result(MACHINE, run_study(effort or (QUICK if quick else FULL), progress))


def run_study(effort: Effort, progress: Progress = unseen) -> Study:
    """Runs everything."""
    # The call graph takes half of the time and has a program of its own.
    with tempfile.TemporaryDirectory(prefix="corewise-paper-") as name, ThreadPoolExecutor(1) as beside:
        runs = _Runs(Path(name), effort)
        advance = Work(4 + 4 + len(effort.shares) + 4 + 1, progress)
        calls = beside.submit(runs.calls)
        for program in ("pingpong", "sweep3d", "md", "lbm"):
            runs.build(program)
            advance()
        table2 = runs.table2()
        sweep, modified = (Sent.of(runs.sweep(modified=each)) for each in (False, True))
        advance()
        dynamics = Sent.of(runs.start("md", effort.dynamics))
        flow = Sent.of(runs.start("lbm", effort.flow))
        advance(3.0)
        gains = []
        for share in effort.shares:
            gains.append(runs.gain(share))
            advance()
        placed = {}
        for title, program, words, before in (
            ("Sweep3D", "sweep3d", effort.sweep, sweep),
            ("modified Sweep3D", "sweep3d", (*effort.sweep, "--modified"), modified),
            ("molecular dynamics", "md", effort.dynamics, dynamics),
            ("lattice Boltzmann", "lbm", effort.flow, flow),
        ):
            placed[title] = runs.placed(program, words, before)
            advance()
        levels = levels_of(load_machine(CLUSTER))
        called = calls.result()
        advance()
    return Study(effort, table2, levels, sweep, modified, dynamics, flow, tuple(gains), placed, called)


class _Runs:
    """The programs, compiled in a folder, and how they are started."""

    def __init__(self, folder: Path, effort: Effort) -> None:
        self._folder, self._effort = folder, effort

    def _said(self, name: str) -> Path:
        """What a program printed last; call graphs are made beside other runs."""
        return self._folder / f"{name}.txt"

    def build(self, name: str, *flags: str, target: str = "") -> None:
        """Compiles a program's files at once: what takes longest is to read the headers."""
        unit = self._folder / f"{target or name}.cpp"
        unit.write_text("".join(f'#include "{each}"\n' for each in sources_of(name)), encoding="utf-8")
        if compile_program([*_FLAGS, *flags, str(unit), "-o", str(self._folder / (target or name))]) != 0:
            raise RunError(f"{name}: cannot be compiled for simulated ranks")

    def start(
        self,
        name: str,
        words: Sequence[str],
        machine: str = CLUSTER,
        units: Sequence[int] | None = None,
        settings: Mapping[str, float] = SETTINGS,
        profile: Path | None = None,
    ) -> RankRun:
        """Runs a program on all SPEs; one that fails is an error."""
        where = "identity" if units is None else list(units)
        options = RunOptions(
            settings=settings, output=self._said(name), profile=profile, function_depth=FUNCTION_DEPTH
        )
        run = run_program(self._folder / name, words, SPES, machine, where, options)
        if run.exit_status != 0:
            raise RunError(f"{name}: {run.message or f'exit status {run.exit_status}'}")
        return run

    def sweep(
        self, machine: str = CLUSTER, settings: Mapping[str, float] = SETTINGS, *, modified: bool
    ) -> RankRun:
        """Sweep3D, as it is or with one root per Cell."""
        words = (*self._effort.sweep, *(("--modified",) if modified else ()))
        return self.start("sweep3d", words, machine, settings=settings)

    def calls(self) -> tuple[CallLine, ...]:
        """What SPE 0 of lattice Boltzmann calls in 10 iterations, recorded by function."""
        self.build("lbm", "-g", "-finstrument-functions", target="lbm-functions")
        folder = self._folder / "calls.cw"
        words = list(self._effort.flow)
        words[words.index("--steps") + 1] = str(ITERATIONS)
        self.start("lbm-functions", words, profile=folder)
        return call_lines(call_tree(load_profile(folder, calls=0)), sources_of("lbm")[0].parents[1])

    def table2(self) -> tuple[tuple[float, float], ...]:
        """Latency and bandwidth of every level, by ping-pong between a pair of SPEs."""
        pairs = ",".join(f"0-{level.peer}" for level in LEVELS)
        sizes = ",".join(map(str, SIZES))
        self.start("pingpong", ("--pairs", pairs, "--bytes", sizes, "--rounds", str(_ROUNDS)))
        said = re.findall(r"pair=0-(\d+) bytes=(\d+) half_trip_us=(\S+)", read_text(self._said("pingpong")))
        times = {(int(peer), int(size)): float(time) for peer, size, time in said}
        return tuple(
            (
                times[level.peer, SIZES[0]],
                (SIZES[2] - SIZES[1]) / (times[level.peer, SIZES[2]] - times[level.peer, SIZES[1]]),
            )
            for level in LEVELS
        )

    def gain(self, share: float) -> tuple[float, float, float]:
        """Times of both sweeps where forwarders are busy for a share of the latency between nodes."""
        header = header_bytes(share)
        file = self._folder / f"cluster-{re.sub(r'[^0-9]', '_', f'{share:g}')}.json"
        file.write_text(json.dumps(cluster_document(header)))
        settings = {**SETTINGS, "header_bytes": header}
        times = [self.sweep(str(file), settings, modified=each).time_ns * 1e-3 for each in (False, True)]
        return share, times[0], times[1]

    def placed(self, name: str, words: Sequence[str], before: Sent) -> Placed:
        """Searches a placement for what was sent, and runs the program there."""
        machine = load_machine(CLUSTER)
        asked = Settings(seed=_SEED, evaluations=self._effort.evaluations)
        settings = settings_for(machine, SPES, self._effort.objective, asked)
        found = study_placements(
            pattern_of(name, before), machine, settings.objective, _SEED, settings=settings
        )
        units = list(found.best.unit_of_rank)
        after = Sent.of(self.start(name, words, units=units))
        levels = levels_of(machine)[units][:, units]
        counts = after.by_level(levels)
        shares = tuple(float(count) / float(counts.sum()) for count in counts)
        return Placed(float(found.row("identity").ratio), before, after, shares, found.statement)
