"""A launch taken apart: the launcher, its options, those of them that bind ranks, and the program.

Owns which options of Open MPI's and MPICH's launchers take values and which of them say where ranks run, so
that a launch that somebody wrote can be launched again with another binding.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from corewise.errors import InputError
from corewise.mpi import launch
from corewise.mpi.allocation import read_allocation
from corewise.mpi.find import MpiLibrary

_COUNT = frozenset({"-n", "-np", "-c", "--n", "--np"})
_BINDING = {
    "bind-to": 1,
    "map-by": 1,
    "rank-by": 1,
    "rankfile": 1,
    "rf": 1,
    "cpu-set": 1,
    "cpu-list": 1,
    "binding": 1,
    "oversubscribe": 0,
    "nooversubscribe": 0,
    "use-hwthread-cpus": 0,
}
"""Options that say where ranks run, and how many values each takes; Open MPI's --oversubscribe unbinds
them."""
_VALUES = {
    **dict.fromkeys(("host", "H", "hosts", "hostfile", "machinefile", "f", "ppn", "x", "wdir", "wd"), 1),
    **dict.fromkeys(("prefix", "timeout", "genvlist", "envlist", "launcher", "iface", "output"), 1),
    **dict.fromkeys(("path", "pernode", "outfile-pattern", "errfile-pattern", "tune", "am"), 1),
    **dict.fromkeys(("mca", "gmca", "prtemca", "pmixmca", "genv", "env"), 2),
}
"""Values of other options; one that is not here takes none."""


@dataclass(frozen=True)
class Line:
    """A launch of one program.

    Attributes
    ----------
    mpi : whose launcher it is.
    ranks : how many.
    options : the launcher's words that neither bind nor count.
    binding : the launcher's words that bind, as they were written; empty: the launcher decides.
    program : the program and its arguments.
    """

    mpi: MpiLibrary
    ranks: int
    options: tuple[str, ...]
    binding: tuple[str, ...]
    program: tuple[str, ...]

    def plain(self) -> launch.LaunchPlan:
        """As it was written."""
        return self._plan(("-n", str(self.ranks), *self.binding))

    def bound(self, binding: Sequence[str]) -> launch.LaunchPlan:
        """With another binding.

        Parameters
        ----------
        binding : launcher arguments that also say how many ranks run (`corewise.data.export`).
        """
        return self._plan(tuple(binding))

    def _plan(self, binding: tuple[str, ...]) -> launch.LaunchPlan:
        words = (str(self.mpi.launcher), *self.options, *binding, *self.program)
        return launch.LaunchPlan(self.mpi, words, 1, self.ranks, self.program)


def line_of(command: Sequence[str], ranks: int | None, mpi: str | None) -> Line:
    """The launch that a command line means.

    Parameters
    ----------
    command : a program and its arguments, or a whole launcher command line.
    ranks : how many; None where the launcher's line says it.
    mpi : as `corewise.mpi.find.find` takes it.

    Raises
    ------
    InputError
        As `corewise.mpi.launch.plan`; or a launcher's line that runs several programs, or does not say how
        many ranks.
    """
    decided = launch.plan(command, ranks=ranks, mpi=mpi)
    if decided.program is None:
        return _parsed(decided)
    assert decided.ranks is not None  # it stands where the program does
    allocation = read_allocation(os.environ, decided.mpi.family)
    spread = [] if allocation is None else allocation.words(decided.mpi.family)
    room = allocation.slots if allocation is not None and spread else len(os.sched_getaffinity(0))
    crowded = decided.ranks > room and decided.mpi.family == "openmpi"
    return Line(
        decided.mpi,
        decided.ranks,
        (*launch.as_root(decided.mpi), *spread),
        ("--oversubscribe",) if crowded else (),
        decided.program,
    )


def _parsed(decided: launch.LaunchPlan) -> Line:
    """A launcher's line, word by word up to the program."""
    words = list(decided.command[decided.launcher_words :])
    if ":" in words:
        raise InputError("the launcher's line runs several programs (':'), allowed: one program")
    options: list[str] = []
    binding: list[str] = []
    ranks = None
    while words and words[0].startswith("-"):
        name = words[0].lstrip("-")
        if words[0] in _COUNT:
            ranks = _count(words)
            del words[:2]
            continue
        takes = 1 + _BINDING.get(name, _VALUES.get(name, 0))
        (binding if name in _BINDING else options).extend(words[:takes])
        del words[:takes]
    if not words or shutil.which(words[0]) is None:
        found = f"'{words[0]}'" if words else "nothing"
        raise InputError(
            f"the launcher's line: found {found} where a program stands, allowed: a program "
            "(corewise advise -n RANKS -- PROGRAM needs no launcher)"
        )
    if ranks is None:
        raise InputError("the launcher's line: found no number of ranks, allowed: -n RANKS")
    return Line(decided.mpi, ranks, tuple(options), tuple(binding), tuple(words))


def _count(words: Sequence[str]) -> int:
    text = words[1] if len(words) > 1 else "nothing"
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"{words[0]}: found {text}, allowed: the number of ranks, 1 or more")
    return int(text)
