"""Placements that have a name: rank order everywhere, and paper 000's affinities on machines with their SPEs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise import _core
from corewise._core import Machine
from corewise.errors import InputError

IDENTITY = "identity"
_CELL = "cell"


def placement_names(machine: Machine) -> tuple[str, ...]:
    """The names that `named_placement` knows for this machine."""
    if machine.model != _CELL:
        return (IDENTITY,)
    return (IDENTITY, *(name for name, _ in _core.affinities() if name != IDENTITY))


def named_placement(name: str, machine: Machine, ranks: int) -> list[int]:
    """Unit of every rank.

    Parameters
    ----------
    name : str
        ``identity``, or on a Cell one of ``ring``, ``overlap``, ``even_odd``, ``leap2`` (paper 000), which
        place at most eight ranks on the SPEs of one chip.
    machine : Machine
        Where to.
    ranks : int
        How many ranks there are.
    """
    if name == IDENTITY:
        return machine.identity_placement(ranks)
    if name not in placement_names(machine):
        allowed = f"{', '.join(placement_names(machine))}, or a placement file"
        raise InputError(f"placement '{name}' is unknown on '{machine.name}', allowed: {allowed}")
    spes = dict(_core.affinities())[name]
    if ranks > len(spes):
        raise InputError(f"placement '{name}': found {ranks} ranks, allowed: at most {len(spes)}")
    unit_of = {
        unit.name.rpartition(".")[2]: index for index, unit in reversed(list(enumerate(machine.units)))
    }
    wanted = [f"SPE{spe}" for spe in spes[:ranks]]
    missing = [spe for spe in wanted if spe not in unit_of]
    if missing:
        allowed = f"{IDENTITY} or a placement file"
        raise InputError(f"placement '{name}': '{machine.name}' has no {missing[0]}, allowed: {allowed}")
    return [unit_of[spe] for spe in wanted]
