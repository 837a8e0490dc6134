"""Paper 003's overhead study on this host: what recording costs, by events, message size and buffer size.

Runs the paper's worst case (apps/sweep: Sweep3D's communication, nothing else) and an application (apps/lbm),
without a tool and under every recorder, one after the other in each round, so that what the machine does
besides hits all alike. Figures 2 to 4 come from one MPI, figure 5 (the paper's second machine) from another.
Medians over rounds, spreads between quartiles. Nothing here prints or draws.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from corewise._core import read_run
from corewise.analysis.result import PaperResult, Progress
from corewise.analysis.spread import spread_of
from corewise.errors import RunError
from corewise.mpi import build, find, launch
from corewise.mpi.programs import build_program
from corewise.papers.profiling.data import (
    FULL,
    MODES,
    PAPER_BYTES,
    PAPER_EVENTS,
    PAPER_LARGE,
    QUICK,
    AppRuns,
    CaseTimes,
    Effort,
    Runs,
    Study,
    SweepRun,
)
from corewise.papers.profiling.rows import rows_of
from corewise.papers.profiling.views import figures_of, tables_of
from corewise.papers.runner import Paper, Work, unseen

PAPER = Paper("profiling", rows_of, tables_of, figures_of)
_NULL_CALLS = 20000
_EDGE = 32
"""Cells of the application along each axis."""


def run_paper(
    *, mpi: str | None = None, ranks: int | None = None, quick: bool = False, progress: Progress = unseen
) -> PaperResult:
    """Measures and assembles.

    Parameters
    ----------
    mpi : as `corewise.mpi.find.find` takes it; None for the first one. The second study uses another library.
    ranks : None for as many as there are cores, six at most (the paper's PS3).
    quick : fewer rounds and points.
    progress : told the share that is done.
    """
    effort = QUICK if quick else FULL
    first = find.find(mpi)
    second = next((other for other in find.find_all() if other.family != first.family), None)
    count = ranks or min(6, len(os.sched_getaffinity(0)))
    libraries = [first, *([second] if second is not None else [])]
    studies: list[Study] = []
    work = Work(len(libraries), progress)
    for library in libraries:
        studies.append(study(library, count, effort, application=not studies, progress=work.within))
        work()
    return PAPER.result(f"host, {count} ranks, {', '.join(each.mpi for each in studies)}", studies)


def study(
    mpi: find.MpiLibrary, ranks: int, effort: Effort, *, application: bool, progress: Progress = unseen
) -> Study:
    """Measures one MPI."""
    build.build_preload(mpi)
    with tempfile.TemporaryDirectory(prefix="corewise-paper-") as name:
        folder = Path(name)
        sweep = build_program(mpi, "sweep", folder)
        plan = list(_plan(effort))
        steps = effort.rounds * (len(plan) + (len(MODES) + 1 if application else 0))
        advance = Work(steps, progress)
        runs: Runs = {contestant: [] for contestant, _, _ in plan}
        for _ in range(effort.rounds):
            for contestant, options, cases in plan:
                runs[contestant].append(_run_sweep(mpi, sweep, ranks, effort, options, cases, folder))
                advance()
        app = _application(mpi, ranks, effort, folder, advance) if application else None
    return Study(f"{mpi.name} {mpi.version}", ranks, effort, runs, app)


def _plan(effort: Effort) -> Iterator[tuple[str, launch.RecordOptions | None, list[tuple[int, int]]]]:
    """Contestants of a round: name, recorder (None: no tool), cases."""
    by_events = [(events, PAPER_BYTES) for events in effort.events]
    by_size = [(PAPER_EVENTS, size) for size in effort.sizes]
    cases = list(dict.fromkeys([*by_events, *by_size, (PAPER_EVENTS, PAPER_LARGE)]))
    yield "none", None, cases
    for mode in MODES:
        yield mode, launch.RecordOptions(mode=mode), cases
    for size in effort.buffers:
        yield f"buffer {size}", launch.RecordOptions(buffer=str(size)), [(PAPER_EVENTS, PAPER_LARGE)]


def _run_sweep(
    mpi: find.MpiLibrary,
    program: Path,
    ranks: int,
    effort: Effort,
    options: launch.RecordOptions | None,
    cases: Sequence[tuple[int, int]],
    folder: Path,
) -> SweepRun:
    words = ",".join(f"{events}x{size}" for events, size in cases)
    command = [str(program), "--null", str(_NULL_CALLS), "--cases", words, "--repeat", str(effort.repeat)]
    return _parse(_output(mpi, command, ranks, options, folder), cases)


_NULL = re.compile(r"^null call_ns=([\d.]+)$", re.M)
_CASE = re.compile(
    r"^case events=\d+ bytes=(\d+) fastest_ns=([\d.]+) median_ns=[\d.]+ "
    r"p50_ns=([\d.]+) p99_ns=([\d.]+) p999_ns=([\d.]+) wrong_messages=0$",
    re.M,
)
_LIFE = re.compile(r"^life init_ms=([\d.]+) finalize_ms=([\d.]+)$", re.M)


def _parse(text: str, cases: Sequence[tuple[int, int]]) -> SweepRun:
    null, found, life = _NULL.search(text), _CASE.findall(text), _LIFE.search(text)
    if null is None or life is None or len(found) != len(cases):
        raise RunError(f"sweep: its output cannot be read, or messages were wrong:\n{text[-2000:]}")
    run = SweepRun(float(null[1]), float(life[1]), float(life[2]))
    for wanted, (_, fastest, p50, p99, p999) in zip(cases, found, strict=True):
        run.cases[wanted] = CaseTimes(float(fastest), float(p50), float(p99), float(p999))
    return run


def _output(
    mpi: find.MpiLibrary,
    command: Sequence[str],
    ranks: int,
    options: launch.RecordOptions | None,
    folder: Path,
    profile: Path | None = None,
) -> str:
    """The program's standard output; its records go to `profile`, or are thrown away."""
    plan = launch.plan(command, ranks=ranks, mpi=str(mpi.launcher))
    with tempfile.TemporaryDirectory(dir=folder) as name:
        words = list(plan.command)
        if options is not None:
            variables = {
                "LD_PRELOAD": str(build.build_preload(mpi)),
                "COREWISE_TRACE_DIR": str(profile or name),
                **options.environment(),
            }
            words = plan.with_environment(variables)
        done = subprocess.run(
            words, env=launch.environment(plan), capture_output=True, text=True, check=False, timeout=600
        )
    if done.returncode != 0:
        raise RunError(f"{command[0]}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


# ---- the application -------------------------------------------------------------------------------------


def _application(
    mpi: find.MpiLibrary, ranks: int, effort: Effort, folder: Path, advance: Callable[[], None]
) -> AppRuns:
    program = build_program(mpi, "lbm", folder)
    command = [str(program), "--size", "x".join([str(_EDGE)] * 3), "--steps", str(effort.steps)]
    seconds: dict[str, list[float]] = {name: [] for name in ("none", *MODES)}
    for _ in range(effort.rounds):
        for name, values in seconds.items():
            options = None if name == "none" else launch.RecordOptions(mode=name)
            text = _output(mpi, command, ranks, options, folder)
            values.append(_net_seconds(text, _EDGE**3 * effort.steps))
            advance()
    calls = _busiest_calls(mpi, command, ranks, folder)
    return AppRuns(seconds, calls / spread_of(seconds["none"]).median)


def _net_seconds(text: str, cells: int) -> float:
    """From the million lattice updates per second that lbm prints."""
    found = re.search(r"\bmlups=([\d.e+-]+)", text)
    if found is None:
        raise RunError(f"lbm: says no mlups=\n{text[-1000:]}")
    return cells / (float(found[1]) * 1e6)


def _busiest_calls(mpi: find.MpiLibrary, command: Sequence[str], ranks: int, folder: Path) -> int:
    profile = folder / "application.cw"
    profile.mkdir()
    _output(mpi, command, ranks, launch.RecordOptions(), folder, profile)
    return max(rank.calls for rank in read_run(str(profile)).worlds[0].ranks)
