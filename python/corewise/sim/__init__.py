"""Simulated machines: what a communication pattern takes on one, packet by packet, without having it.

``simulate(machine, pattern)`` gives a `Simulation`: times in ns, bandwidths in GB/s (10^9 bytes per second),
loads per link and per unit, all as NumPy arrays. `corewise.sim.perfetto` writes a run's timeline as a file
for a viewer.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise.base import late

with late.imports():
    from corewise.sim.placements import named_placement, placement_names
    from corewise.sim.result import LINK, PHASE, TRANSFER, UNIT, Simulation
    from corewise.sim.run import GRANULARITIES, SEPARATIONS, simulate
    from corewise.sim.timeline import EVENT, Kind, Timeline, Track

__all__ = [
    "EVENT",
    "GRANULARITIES",
    "LINK",
    "PHASE",
    "SEPARATIONS",
    "TRANSFER",
    "UNIT",
    "Kind",
    "Simulation",
    "Timeline",
    "Track",
    "named_placement",
    "placement_names",
    "simulate",
]
