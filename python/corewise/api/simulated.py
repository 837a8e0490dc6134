"""A pattern on a simulated machine, for a Python program.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corewise.analysis.simulation import total_gb_per_s, traffic
from corewise.api import display
from corewise.api.machine import Machine
from corewise.api.machine import machine as machine_of
from corewise.api.pattern import PatternLike, as_pattern
from corewise.api.placing import Placing
from corewise.data.quantities import number_text
from corewise.plots.links import traffic_picture
from corewise.sim.result import Simulation
from corewise.sim.run import simulate as run_simulation


@dataclass(frozen=True, repr=False)
class Simulated:
    """What a simulated run took.

    Attributes
    ----------
    run : corewise.sim.result.Simulation
        All of the result: transfers, phases, links and units as arrays.
    """

    run: Simulation

    @property
    def total_ns(self) -> float:
        """From the start to the last delivery."""
        return self.run.total_ns

    @property
    def gb_per_s(self) -> float:
        """All bytes over the time, in 10^9 bytes a second."""
        return total_gb_per_s(self.run)

    def link_busy(self) -> NDArray[np.float64]:
        """The share of the time in which each link was busy.

        Returns
        -------
        ndarray of float64, shape (links,)
            In the order of the machine's links, 0 to 1.
        """
        return self.run.link_busy

    def bandwidth_matrix(self) -> NDArray[np.float64]:
        """GB/s from the rank of the row to that of the column, 0 where nothing was sent.

        Returns
        -------
        ndarray of float64, shape (ranks, ranks)
        """
        return self.run.bandwidth_matrix()

    def __repr__(self) -> str:
        where = f"{self.run.pattern.name} on {self.run.machine.name}, {self.run.model}"
        return f"<corewise.Simulated {where}: {number_text(self.total_ns, 6)} ns, {self.gb_per_s:.4g} GB/s>"

    def _repr_html_(self) -> str:
        return display.paragraph(repr(self)[1:-1]) + traffic_picture(traffic(self.run), self.run.pattern.name)


def simulate(
    pattern: PatternLike,
    machine: str | Machine,
    placement: Placing | Sequence[int] | NDArray[Any] | str | None = None,
    *,
    repetitions: int = 1,
    granularity: str = "packet",
    seed: int | None = None,
) -> Simulated:
    """Simulates every message of a pattern on a machine; the same input gives the same result.

    Parameters
    ----------
    pattern : Pattern, ndarray of shape (ranks, ranks), str or Path
        Who sends how many bytes to whom; of a matrix, one message per pair that sends.
    machine : str or Machine
        See `corewise.machine`.
    placement : Placing, sequence of int, str, optional
        The unit of every rank, or a placement's name; without it rank r is on unit r.
    repetitions : int
        How often the pattern runs, one after the other.
    granularity : str
        ``packet``, or ``flow``: whole messages that share links evenly, quicker and less exact.
    seed : int, optional
        Of the jitter of a simulated Cell.

    Returns
    -------
    Simulated

    Raises
    ------
    InputError
        Something of this does not fit together.
    """
    units = placement.unit_of_rank if isinstance(placement, Placing) else placement
    where = machine_of(machine).core
    what = as_pattern(pattern)
    return Simulated(
        run_simulation(where, what, units, repetitions=repetitions, granularity=granularity, seed=seed)
    )
