"""Times placements of a program on this host: whole launches, each bound as its placement says.

Owns what a program is (its words, ranks and MPI), how a placement becomes launcher arguments, and how
migrations of an unpinned program are counted.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corewise._core import Machine
from corewise.data.placement import make_placement
from corewise.errors import InputError, RunError
from corewise.mpi import launch
from corewise.mpi.find import MpiLibrary
from corewise.mpi.recorded import recorded_program
from corewise.trials import binding
from corewise.trials.migrations import Watcher
from corewise.trials.timing import UNPINNED, Array, Candidate, Progress


@dataclass(frozen=True)
class Program:
    """What is launched.

    Attributes
    ----------
    words : tuple of str
        The program and its arguments; no launcher.
    ranks : int
    mpi : str or None
        As `corewise.mpi.find.find` takes it; None: the one that the program is linked to.
    """

    words: tuple[str, ...]
    ranks: int
    mpi: str | None

    @classmethod
    def recorded(cls, profile: Path, mpi: str | None = None) -> Program:
        """The program that a profile was recorded from, under another MPI where one is named."""
        words, ranks, launcher = recorded_program(profile)
        return cls(tuple(words), ranks, mpi or launcher)

    @classmethod
    def checked(cls, words: Sequence[str], ranks: int, mpi: str | None) -> Program:
        """A program with the launcher of its MPI; refuses a launcher as the program."""
        if launch.is_launcher(words[0]):
            raise InputError(f"'{words[0]}': found a launcher, allowed: the program alone, -n says its ranks")
        return cls(tuple(words), ranks, str(launch.plan(words, ranks=ranks, mpi=mpi).mpi.launcher))


@dataclass(frozen=True)
class Launches:
    """A program on this host; a candidate's time is the wall time of its whole launch.

    Attributes
    ----------
    machine : Machine
        This host.
    program : Program
    """

    machine: Machine
    program: Program

    def time_ns(self, candidates: Sequence[Candidate], number: int, progress: Progress) -> Array:
        """See `corewise.trials.timing.Backend`."""
        found = np.zeros(len(candidates))
        for at, candidate in enumerate(candidates):
            found[at] = self._launch(candidate, number) * 1e9
            progress((at + 1) / len(candidates))
        return found

    def migrations(self) -> int | None:
        """Migrations seen in one further, untimed, unpinned launch; None where /proc does not say.

        How often a process was found on another core than before, looking every few ms: a lower bound.
        """
        watcher = Watcher(Path(self.program.words[0]).name)
        if not watcher.works():
            return None
        with watcher:
            self._launch(Candidate(UNPINNED, pinned=False), 0, must_work=False)
        return watcher.migrations

    def _launch(self, candidate: Candidate, number: int, must_work: bool = True) -> float:
        """Seconds of one launch."""
        words, ranks, mpi = self.program.words, self.program.ranks, self.program.mpi
        with tempfile.TemporaryDirectory(prefix="corewise-launch-") as folder:
            decided = launch.plan(words, ranks=ranks, mpi=mpi)
            bound = self._binding(candidate, number, decided.mpi, Path(folder))
            decided = launch.plan(words, ranks=ranks, mpi=mpi, binding=bound)
            outcome = launch.execute(decided.command, launch.environment(decided), subprocess.DEVNULL)
        if must_work and outcome.exit_status != 0:
            raise RunError(f"{' '.join(decided.command)}: ended with exit status {outcome.exit_status}")
        return outcome.wall_s

    def _binding(self, candidate: Candidate, number: int, mpi: MpiLibrary, folder: Path) -> tuple[str, ...]:
        """Launcher arguments, none where the launcher decides; the first round looks whether they bind."""
        if not candidate.pinned:
            bind_to = "--bind-to" if mpi.family == "openmpi" else "-bind-to"
            return ("-n", str(self.program.ranks), bind_to, "none")
        units = candidate.in_round(number)
        if units is None:
            return ()
        placement = make_placement(self.machine, units)
        arguments = binding.arguments(mpi, self.machine, placement, folder)
        if number == 0:
            binding.check(mpi, self.machine, placement, arguments)
        return arguments
