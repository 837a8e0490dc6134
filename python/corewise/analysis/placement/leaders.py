"""Among placements that are about equally quick by flow, the one that is quickest packet by packet.

Whole messages that share links fairly do not show in which order packets pass, so placements of equal flow
differ by up to a half in packets. Simulating is slow: as many are looked at as a fixed amount of traffic
allows, which depends on the pattern and the first placement alone. Deterministic.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corewise import _core
from corewise._core import Machine, Pattern, Searcher

__all__ = ["MOST_LEADERS", "Leaders", "quickest"]

MOST_LEADERS = 8
"""That a search by flow hands over; named placements come on top."""
MOST_HOP_BYTES = 200_000_000
"""Bytes times links of all simulations together: about a second."""


@dataclass(frozen=True)
class Leaders:
    """Placements and their simulated times.

    Attributes
    ----------
    simulated_ns : placement -> float
        Packet by packet, weighted over the patterns; in the order in which they were looked at.
    """

    simulated_ns: dict[tuple[int, ...], float]

    @property
    def best(self) -> tuple[int, ...]:
        """The quickest; of equals the first."""
        return min(self.simulated_ns, key=self.simulated_ns.__getitem__)

    @property
    def gain(self) -> float:
        """Time of the first over that of the quickest, less 1."""
        first = next(iter(self.simulated_ns.values()))
        least = self.simulated_ns[self.best]
        return first / least - 1 if least > 0 else 0.0


def quickest(
    machine: Machine,
    patterns: Sequence[Pattern],
    weights: Sequence[float],
    placements: Sequence[Sequence[int]],
) -> Leaders | None:
    """Simulates placements; None where there are fewer than two, or traffic allows fewer than two.

    Parameters
    ----------
    machine : Machine
    patterns : sequence of Pattern
        That share the placement.
    weights : sequence of float
    placements : sequence of placements
        The more important ones first.
    """
    different = list(dict.fromkeys(tuple(int(unit) for unit in units) for units in placements))
    if len(different) < 2:
        return None
    searcher = Searcher(machine)
    each = sum(searcher.evaluate(pattern, list(different[0])).hop_bytes for pattern in patterns)
    chosen = different[: MOST_HOP_BYTES // max(1, each)]
    if len(chosen) < 2:
        return None
    table = np.array(chosen, np.int32)
    times = _core.contended_times(machine, list(patterns), table, model="simulated", weights=list(weights))
    return Leaders(dict(zip(chosen, (float(time) for time in times), strict=True)))
