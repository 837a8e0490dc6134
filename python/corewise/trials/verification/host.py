"""What placements take on this host: the program under the launcher's own binding and under each placement.

`corewise place --verify` and ``--apply`` both time with this; `corewise.mpi.apply` launches and interleaves.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from corewise._core import Machine
from corewise.data.export import export_placement
from corewise.data.placement import make_placement
from corewise.mpi import apply as runs
from corewise.trials.verification.statistics import DEFAULT


@dataclass(frozen=True)
class Program:
    """What is timed.

    Attributes
    ----------
    words : tuple of str
        The program and its arguments.
    ranks : int
    mpi : str or None
        See `corewise.mpi.find.find`; None: the one that the program is linked to.
    """

    words: tuple[str, ...]
    ranks: int
    mpi: str | None


def recorded(profile: Path) -> Program:
    """The program that a profile was recorded from."""
    words, ranks, mpi = runs.recorded_program(profile)
    return Program(tuple(words), ranks, mpi)


def time_on_host(
    machine: Machine,
    program: Program,
    fixed: Mapping[str, Sequence[int]],
    rounds: int,
    changing: Mapping[str, Sequence[Sequence[int]]] | None = None,
) -> dict[str, list[float]]:
    """Wall times of whole launches in seconds, interleaved: `DEFAULT` (unbound by us) first, then the others.

    Parameters
    ----------
    machine : Machine
        This host.
    program : Program
    fixed : name -> unit of rank r at [r]
    rounds : int
        Runs of each.
    changing : name -> one placement per round

    Raises
    ------
    RunError
        A run failed.
    """
    bindings: dict[str, runs.Binding] = {DEFAULT: _unbound}
    bindings |= {name: _binding(machine, [units]) for name, units in fixed.items()}
    bindings |= {name: _binding(machine, placements) for name, placements in (changing or {}).items()}
    return runs.time_placements(program.words, program.ranks, program.mpi, bindings, rounds)


def _unbound(family: str, folder: Path) -> tuple[str, ...]:
    return ()


def _binding(machine: Machine, placements: Sequence[Sequence[int]]) -> runs.Binding:
    """Binds as one placement after the other says, round after round."""
    checked = cycle([make_placement(machine, tuple(units)) for units in placements])

    def arguments(family: str, folder: Path) -> tuple[str, ...]:
        form = "openmpi-pelist" if family == "openmpi" else "mpich"
        return export_placement(form, machine, next(checked), str(folder / "rankfile")).arguments

    return arguments
