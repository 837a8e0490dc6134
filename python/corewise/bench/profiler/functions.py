"""What recording adds to a function's entry and exit.

Per round: the program without hooks, with libc's empty hooks, with ours (draining, and as a flight recorder)
under an MPI, and with uftrace where it is installed. Added cost = with - without hooks, in the same round;
thread CPU time per pair, the least of 60 repetitions of 20 000 pairs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from corewise.bench import mpis
from corewise.bench.profiler.calls import last_numbers
from corewise.bench.programs import Program
from corewise.bench.rounds import beside, in_turns, middle
from corewise.bench.rows import Listener, Row
from corewise.mpi import build, launch
from corewise.mpi.find import MpiLibrary

HOOKS = "-finstrument-functions"
MODES = ("drain", "flight")
EMPTY, UFTRACE_PROGRAM = "empty hooks", "uftrace"
Round = Mapping[str, float]


def has_uftrace() -> bool:
    """Whether it is installed."""
    return shutil.which(UFTRACE_PROGRAM) is not None


def _program(name: str, listener: Listener, mpi: MpiLibrary | None, *flags: str) -> Path:
    return Program("profiler", name, ("functions.c",), flags=flags, mpi=mpi).build(listener)


def _plain(program: Path) -> float:
    return last_numbers(mpis.output_of([str(program)], os.environ))[-1]


def _recorded(mpi: MpiLibrary, program: Path, mode: str) -> float:
    plan = mpis.planned(mpi, program, (), 1)
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as traces:
        variables = {
            "LD_PRELOAD": str(build.build_preload(mpi)),
            "COREWISE_TRACE_DIR": traces,
            "COREWISE_TRACE_MODE": mode,
        }
        return last_numbers(mpis.output_of(plan.with_environment(variables), launch.environment(plan)))[-1]


def _under_uftrace(program: Path) -> float:
    with tempfile.TemporaryDirectory(prefix="corewise-bench-") as traces:
        command = [UFTRACE_PROGRAM, "record", "--no-pager", "-d", f"{traces}/data", str(program)]
        return last_numbers(mpis.output_of(command, os.environ))[-1]


def contestants(mpi: MpiLibrary, listener: Listener) -> dict[str, Callable[[], float]]:
    """Everything that takes part, built."""
    hooked = _program("functions-hooked", listener, None, HOOKS)
    recorded = _program("functions-recorded", listener, mpi, HOOKS, "-DWITH_MPI")
    build.build_preload(mpi)
    found: dict[str, Callable[[], float]] = {
        "none": partial(_plain, _program("functions-plain", listener, None)),
        EMPTY: partial(_plain, hooked),
        **{mode: partial(_recorded, mpi, recorded, mode) for mode in MODES},
    }
    if has_uftrace():
        found[UFTRACE_PROGRAM] = partial(_under_uftrace, hooked)
    return found


def row(mpi: MpiLibrary, mode: str, rounds: Sequence[Round]) -> Row:
    """One mode; the rival is uftrace where it ran, else the empty hooks."""
    rival = UFTRACE_PROGRAM if UFTRACE_PROGRAM in rounds[0] else EMPTY
    added = {name: [each[name] - each["none"] for each in rounds] for name in (mode, rival, EMPTY)}
    title = mpis.title(mpi)
    blank = Row(
        f"profiler-functions-{mpis.slug(mpi)}-{mode}",
        f"added CPU time per function entry and exit, {title}, {mode}",
        "ns",
        None,
        rival,
        mpi=title,
        more={"empty_hooks": middle(added[EMPTY])},
    )
    return beside(blank, added[mode], added[rival])


def rows(libraries: Sequence[MpiLibrary], rounds: int, listener: Listener) -> list[Row]:
    """Rows of every MPI."""
    found = []
    for index, mpi in enumerate(libraries):
        part = listener.part(index / len(libraries), (index + 1) / len(libraries))
        taken = in_turns(contestants(mpi, listener), rounds, part.progress)
        found += [row(mpi, mode, taken) for mode in MODES]
    return found
