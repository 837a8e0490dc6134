"""Times of placements of a program on this host: real launches, each bound as its placement says.

The launches of all placements and of the unpinned contestant are interleaved, the order rotating from round
to round (`corewise.mpi.apply`). Prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine
from corewise.data.export import export_placement
from corewise.data.placement import make_placement
from corewise.errors import InputError
from corewise.mpi import apply, launch
from corewise.trials.statistical.features import Placements

Array = NDArray[np.float64]
UNPINNED = "unpinned"
_LOOK_EVERY_S = 0.002


def mpi_of(program: Sequence[str], ranks: int, wanted: str | None) -> str:
    """Prefix of the MPI that runs a program: the one asked for, else the one it is linked to.

    Parameters
    ----------
    program : sequence of str
        The program's words; no launcher.
    ranks : int
    wanted : str or None
        As `corewise.mpi.find.find` takes it.
    """
    if launch.is_launcher(program[0]):
        raise InputError(f"'{program[0]}': found a launcher, allowed: the program alone, -n says its ranks")
    return str(launch.plan(program, ranks=ranks, mpi=wanted).mpi.prefix)


def time_program(
    machine: Machine, program: Sequence[str], ranks: int, mpi: str, placements: Placements, runs: int
) -> tuple[Array, Array]:
    """Wall times of the launch in ns: of every placement, (runs, rows), and unpinned, (runs,).

    Parameters
    ----------
    machine : Machine
        This host.
    program : sequence of str
        The program's words.
    ranks : int
    mpi : str
        As `corewise.mpi.find.find` takes it.
    placements : ndarray of int32, shape (rows, ranks)
    runs : int
    """
    bindings: dict[str, apply.Binding] = {UNPINNED: _unpinned(ranks)}
    for at, row in enumerate(placements):
        bindings[str(at)] = _binding(machine, [int(unit) for unit in row])
    seconds = apply.time_placements(program, ranks, mpi, bindings, runs)
    times = np.array([seconds[str(at)] for at in range(len(placements))]).T * 1e9
    return times, np.array(seconds[UNPINNED]) * 1e9


def count_migrations(program: Sequence[str], ranks: int, mpi: str) -> int | None:
    """Migrations seen in one further, untimed, unpinned launch; None where /proc does not say.

    How often a process was found on another core than before, looking every few ms: a lower bound.
    """
    decided = launch.plan(program, ranks=ranks, mpi=mpi)
    arguments = _unpinned(ranks)(decided.mpi.family, Path())
    decided = launch.plan(program, ranks=ranks, mpi=mpi, binding=arguments)
    watcher = _Watcher(Path(program[0]).name)
    if not watcher.works():
        return None
    thread = threading.Thread(target=watcher.watch, daemon=True)
    thread.start()
    try:
        launch.execute(decided.command, launch.environment(decided), subprocess.DEVNULL)
    finally:
        watcher.done.set()
        thread.join()
    return watcher.migrations


def _unpinned(ranks: int) -> apply.Binding:
    def arguments(family: str, folder: Path) -> tuple[str, ...]:
        option = "--bind-to" if family == "openmpi" else "-bind-to"
        return ("-n", str(ranks), option, "none")

    return arguments


def _binding(machine: Machine, unit_of_rank: Sequence[int]) -> apply.Binding:
    placement = make_placement(machine, unit_of_rank)

    def arguments(family: str, folder: Path) -> tuple[str, ...]:
        form = "openmpi-pelist" if family == "openmpi" else "mpich"
        return export_placement(form, machine, placement, str(folder / "rankfile")).arguments

    return arguments


class _Watcher:
    """Looks again and again on which core this process's descendants of one name are."""

    def __init__(self, name: str) -> None:
        self.done = threading.Event()
        self.migrations = 0
        self._name = name[:15]  # as long as the kernel keeps it
        self._core: dict[int, int] = {}

    def works(self) -> bool:
        return _stat(os.getpid()) is not None

    def watch(self) -> None:
        while not self.done.is_set():
            for entry in Path("/proc").iterdir():
                self._look(entry.name)
            time.sleep(_LOOK_EVERY_S)

    def _look(self, entry: str) -> None:
        found = _stat(int(entry)) if entry.isdigit() else None
        if found is None or found[0] != self._name or not _descends(int(entry)):
            return
        known = self._core.get(int(entry))
        self.migrations += known is not None and known != found[2]
        self._core[int(entry)] = found[2]


def _stat(process: int) -> tuple[str, int, int] | None:
    """Name, parent and core of a process (proc(5), /proc/PID/stat: fields 2, 4 and 39)."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
        name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 1 :].split()
        return name, int(rest[1]), int(rest[36])
    except (OSError, ValueError, IndexError):
        return None


def _descends(process: int) -> bool:
    mine = os.getpid()
    while process > 1:
        if process == mine:
            return True
        found = _stat(process)
        if found is None:
            return False
        process = found[1]
    return False
