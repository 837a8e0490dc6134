"""Ranks on the cores that a placement names: by the launcher's own way to bind, and read back.

A launcher may refuse its arguments, or take them and bind otherwise. So a tiny program is launched first,
whose ranks say where they may run. Only what they say counts.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from corewise._core import Machine
from corewise.base.files import write_text
from corewise.data.export import export_placement
from corewise.data.placement import Placement
from corewise.errors import RunError
from corewise.mpi import launch
from corewise.mpi.find import MpiLibrary

_PROBE = (
    'echo "rank ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} may run on'
    ' $(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)."'
)
_SAID = re.compile(r"rank (\d+) may run on ([\d,-]+)\.")
_LONGEST = 400
"""Of what a launcher said; it may fill pages."""


def arguments(mpi: MpiLibrary, machine: Machine, placement: Placement, folder: Path) -> tuple[str, ...]:
    """Launcher arguments that put each rank where a placement says.

    Parameters
    ----------
    mpi : whose launcher.
    machine : this host.
    placement : rank -> unit.
    folder : for a file that the arguments may name.
    """
    file = folder / "rankfile"
    found = export_placement(mpi.binding_form, machine, placement, str(file))
    if found.needs_file:
        write_text(file, found.text)
    return found.arguments


def check(mpi: MpiLibrary, machine: Machine, placement: Placement, binding: tuple[str, ...]) -> None:
    """Launches ranks that say where they may run.

    Parameters
    ----------
    mpi, machine, placement : as given to `arguments`.
    binding : what came of it.

    Raises
    ------
    RunError
        The launcher failed (with what it said), or a rank is not bound to the core of its unit alone.
    """
    wrong = misplaced(_allowed(mpi, placement.ranks, binding), machine, placement)
    if wrong:
        raise RunError(
            f"{mpi.launcher}: {wrong}: the launcher does not bind as it was told ({' '.join(binding)})"
        )


def misplaced(allowed: Sequence[AbstractSet[int]], machine: Machine, placement: Placement) -> str:
    """Which rank may not run on its unit alone, in a few words; empty where all are where they should be.

    Parameters
    ----------
    allowed : the CPUs that every rank may run on.
    machine : this host.
    placement : where they were to run.
    """
    units = {unit.os_index for unit in machine.units}
    for rank, unit in enumerate(placement.unit_of_rank):
        wanted = machine.units[unit].os_index
        # Open MPI binds to whole cores, of which only one hardware thread is a unit.
        if allowed[rank] & units != {wanted}:
            found = ",".join(map(str, sorted(allowed[rank])))
            return f"rank {rank} was to run on CPU {wanted} and may run on {found}"
    return ""


def check_launcher(mpi: MpiLibrary) -> None:
    """Launches one rank, unbound.

    Raises
    ------
    RunError
        The launcher failed.
    """
    _allowed(mpi, 1, ())


def _allowed(mpi: MpiLibrary, ranks: int, binding: tuple[str, ...]) -> list[set[int]]:
    """The CPUs that every rank may run on."""
    decided = launch.plan(["/bin/sh", "-c", _PROBE], ranks=ranks, mpi=str(mpi.launcher), binding=binding)
    done = launch.tried(decided)
    said = {int(rank): _cpus(text) for rank, text in _SAID.findall(done.stdout)}
    if done.returncode != 0 or sorted(said) != list(range(ranks)):
        raise RunError(
            f"{' '.join(decided.command[: len(decided.command) - 3])}: ended with exit status "
            f"{done.returncode}{_quoted(done.stderr)}"
        )
    return [said[rank] for rank in range(ranks)]


def _quoted(said: str) -> str:
    """The launcher's own words on one line, without its rules."""
    lines = [line.strip() for line in said.replace("\0", "").splitlines() if line.strip(" -\t")]
    text = " ".join(lines)
    return f", saying: {text[:_LONGEST]}{'...' if len(text) > _LONGEST else ''}" if text else ""


def _cpus(text: str) -> set[int]:
    """Of a kernel's list such as ``0-3,8``."""
    found: set[int] = set()
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found
