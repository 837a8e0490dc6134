"""Times of placements by simulation, run after run.

A simulation is deterministic; what makes its runs differ is drawn, anew for every run and every placement,
from the seed and the run's number: on an interconnect how much longer each link's latency is (up to
`jitter` of itself), on a Cell the pauses of its data rings. Unpinned runs draw where the threads are
besides. Prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, Pattern, contended_times
from corewise.trials.statistical.features import Placements

Array = NDArray[np.float64]
Progress = Callable[[float], None]

MODELS = ("simulated", "flow")
PARTS = 4
"""Parts of an unpinned run: between two, every thread may have migrated."""
_AT_ONCE = 16  # placements between two reports of progress
_RUN_STRIDE = 1_000_003  # keeps the runs of neighbouring seeds apart


@dataclass(frozen=True)
class SimulatedRuns:
    """How placements are timed.

    Attributes
    ----------
    machine : Machine
    patterns : tuple of Pattern
        They share the placement; their times add up.
    model : str
        Of `MODELS`.
    jitter : float
        0: all runs are alike.
    repetitions : int
        Of every pattern in a run.
    separation : str
        ``dependence`` or ``barrier``.
    seed : int
    unpinned : bool
        Every run first puts all units in another order, as paper 002's default mapping did (figure 2).
    """

    machine: Machine
    patterns: tuple[Pattern, ...]
    model: str = MODELS[0]
    jitter: float = 1.0
    repetitions: int = 1
    separation: str = "dependence"
    seed: int = 1
    unpinned: bool = False

    def times_ns(self, placements: Placements, runs: int, progress: Progress | None = None) -> Array:
        """Times of every placement in every run, shape (runs, rows)."""
        found = np.zeros((runs, len(placements)))
        for run in range(runs):
            rows = self._moved(placements, run)
            for at in range(0, len(rows), _AT_ONCE):
                found[run, at : at + _AT_ONCE] = self._timed(rows[at : at + _AT_ONCE], run)
                if progress is not None:
                    progress((run + min(1.0, (at + _AT_ONCE) / len(rows))) / runs)
        return found

    def unpinned_ns(self, ranks: int, runs: int) -> Array:
        """Times of unpinned runs, shape (runs,): the mean of `PARTS` parts, each on a random placement."""
        units = len(self.machine.units)
        found = np.zeros(runs)
        for run in range(runs):
            rng = np.random.default_rng([self.seed, run, PARTS])
            drawn = [rng.permutation(units)[:ranks] for _ in range(PARTS)]
            found[run] = self._timed(np.array(drawn, dtype=np.int32), run).mean()
        return found

    def _moved(self, placements: Placements, run: int) -> Placements:
        if not self.unpinned:
            return placements
        order = np.random.default_rng([self.seed, run]).permutation(len(self.machine.units))
        return order.astype(np.int32)[placements]

    def _timed(self, placements: Placements, run: int) -> Array:
        return contended_times(
            self.machine,
            list(self.patterns),
            np.ascontiguousarray(placements, dtype=np.int32),
            self.model,
            seed=self.seed * _RUN_STRIDE + run,
            jitter=self.jitter,
            separation=self.separation,
            repetitions=self.repetitions,
        )


def texts_of(runs: SimulatedRuns) -> Sequence[str]:
    """What differs between the runs, and what an unpinned one is: a line each."""
    if runs.jitter == 0:
        differs = "no jitter: all runs of a placement are alike"
    elif runs.model == "simulated" and runs.machine.model == "cell":
        differs = "runs differ by the drawn pauses of the Cell's data rings"
    else:
        differs = f"runs differ by link latencies, each drawn up to {runs.jitter:g} of itself longer"
    moved = (
        "every run renames the units first (threads where the system puts them); " if runs.unpinned else ""
    )
    return (
        moved + differs,
        f"an unpinned run is the mean of {PARTS} parts, each on a placement drawn at random",
    )
