"""The table of levers.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.trials.levers import acceleration, algorithm, binding, idle_core, packing, placement, reordering
from corewise.trials.levers.lever import Lever

_WHERE = "where ranks run"

LEVERS: tuple[Lever, ...] = (
    Lever(
        "binding", "each rank bound to a core of its own", _WHERE,
        binding.predict, binding.apply, binding.verify,
    ),
    Lever(
        "placement", "ranks bound to the cores of the best placement", _WHERE,
        placement.predict, placement.apply, placement.verify,
    ),
    Lever(
        "reordering", "ranks renumbered to the best placement", _WHERE,
        reordering.predict, reordering.apply, reordering.verify,
    ),
    Lever(
        "idle_core", "one rank less, and a core for the system", _WHERE,
        idle_core.predict, idle_core.apply, idle_core.verify,
    ),
    Lever(
        "acceleration", "collectives by corewise", "collectives",
        acceleration.predict, acceleration.apply, acceleration.verify,
    ),
    Lever(
        "algorithm", "the MPI's own algorithm of a collective", "collectives",
        algorithm.predict, algorithm.apply, algorithm.verify,
    ),
    Lever(
        "packing", "derived datatypes packed by corewise", "datatypes",
        packing.predict, packing.apply, packing.verify,
    ),
)  # fmt: skip
"""In the order in which they are told."""
