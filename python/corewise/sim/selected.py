"""What the bundled tuning selects for a collective on a simulated Cell.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from corewise._core import Machine
from corewise.data.tuning import Selection, Value, bundled
from corewise.errors import InputError
from corewise.sim.collective import check_cell, find_collective

SHAPES: Mapping[Selection, Mapping[str, Value]] = MappingProxyType(
    {
        "paper": MappingProxyType({}),
        "all": MappingProxyType({"buffer": 14 * 1024, "eager_slots": 2, "eager_128": True}),
    }
)
"""What every rank has in the sweep of a selection (bench/collectives/tune.py): a program's ranks have one
shape, whichever algorithms are selected. Of ``paper`` the default, two buffers of 16 KB; of ``all`` slots for
payloads in the metadata, two for each peer, and two buffers of 14 KB, which fit beside them."""
TUNED = "cell-blade"
"""Whose bundled tuning speaks for a simulated Cell that has none of its own: the same SPEs, chip by chip."""


@dataclass(frozen=True)
class Selected:
    """What a tuning selects for a call.

    Attributes
    ----------
    algorithm : str
    settings : mapping of str to value
        What it won with: the shape of the ranks too.
    machine : str
        Whose tuning it is.
    ranks : int
        That it was measured on: those of the call, or the nearest that there is a row for.
    """

    algorithm: str
    settings: Mapping[str, Value]
    machine: str
    ranks: int


def selected(
    machine: Machine, collective: str, ranks: int, bytes: int, selection: Selection = "all"
) -> Selected:
    """What the bundled tuning selects for a call on a simulated Cell.

    Ranks without a row take that of the next larger measured number, beyond the largest that of the largest.
    A collective without rows is an `InputError` that names its algorithms.
    """
    check_cell(machine)
    tunings = bundled()
    tuning = tunings.get(machine.name, tunings[TUNED])
    rows = [row for row in tuning.rows if (row.set, row.collective) == (selection, collective)]
    if not rows:
        names = ", ".join(row.name for row in find_collective(collective).algorithms)
        raise InputError(f"no tuning for {collective}: give --algorithm ({names})")
    counts = sorted({row.ranks for row in rows})
    measured = next((count for count in counts if count >= ranks), counts[-1])
    won = tuning.find(collective, measured, bytes, selection).won
    return Selected(won.algorithm, {**SHAPES[selection], **dict(won.parameters)}, tuning.machine, measured)
