"""Where the ranks of a recorded run may run, held against a placement on this host.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corewise._core import Machine
from corewise.data.placement import Placement
from corewise.data.profile import load_profile
from corewise.trials import binding


def read_back(profile: Path, machine: Machine, placement: Placement) -> str:
    """Which rank was not where a placement wants it, in a few words; empty where all were.

    Parameters
    ----------
    profile : Path
        Of a run that was to be bound so.
    machine : Machine
        This host.
    placement : Placement
    """
    allowed = {rank.rank: frozenset(map(int, rank.cpus_start)) for rank in load_profile(profile).world.ranks}
    if sorted(allowed) != list(range(placement.ranks)):
        return f"{len(allowed)} of {placement.ranks} ranks left a trace"
    return binding.misplaced([allowed[rank] for rank in range(placement.ranks)], machine, placement)


def units_of_ranks(machine: Machine, allowed: Sequence[frozenset[int]]) -> tuple[int, ...] | None:
    """The placement that ranks have; None where a rank may run on several units, or two on one."""
    number = {unit.os_index: at for at, unit in enumerate(machine.units)}
    found = []
    for cpus in allowed:
        units = [number[cpu] for cpu in cpus if cpu in number]
        if len(units) != 1 or units[0] in found:
            return None
        found.append(units[0])
    return tuple(found)
