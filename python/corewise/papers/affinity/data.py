"""What was measured for paper 000: the arrays that its rows, tables and figures are made of.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from corewise import _core

SPES = 8
LARGE_BYTES = 64 * 1024
SHORT_BYTES = 128
SIZES = tuple(128 << step for step in range(10))
"""Message sizes of the curves: 128 B to 64 KB."""
AFFINITIES: dict[str, list[int]] = dict(_core.affinities())
"""Physical SPE of rank r at [r], by name: identity, ring, overlap, even_odd, leap2."""
DEFAULT = "default"
SHOWN = {
    "overlap": "Overlap",
    DEFAULT: "Default",
    "even_odd": "EvenOdd",
    "identity": "Identity",
    "leap2": "Leap2",
    "ring": "Ring",
}
"""The order and the names of the paper's figures 5 to 8."""
STEP_OF_FIGURE_2 = "recursive_doubling_1"


def _empty() -> NDArray[np.float64]:
    return np.empty((0, 0))


@dataclass
class Measurements:
    """Raw results; bandwidths in GB/s.

    Attributes
    ----------
    defaults : ndarray of int32, shape (trials, 8)
        The default affinity of every trial: SPE of rank r in column r.
    table1 : experiment -> ndarray, shape (trials, flows)
    alone : ndarray, shape (7, sizes)
        SPE 1 .. 7 reading from SPE 0, one at a time.
    latency_ns : ndarray, shape (8, 8)
        A get of 128 bytes, row from column, alone; NaN on the diagonal.
    barrier_us : float
        One barrier of eight SPEs.
    steps : (pattern, affinity) -> ndarray, shape (trials, flows)
        64 KB.
    sizes : (pattern, affinity) -> ndarray, shape (sizes,)
        Least bandwidth among the ranks.
    collectives : (operation, affinity) -> ndarray, shape (trials,)
        Microseconds.
    permutations : ndarray, shape (permutations, 6)
        Least bandwidth among the ranks; columns as `AFFINITIES`, then the default.
    """

    defaults: NDArray[np.int32]
    table1: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    alone: NDArray[np.float64] = field(default_factory=_empty)
    latency_ns: NDArray[np.float64] = field(default_factory=lambda: np.full((SPES, SPES), np.nan))
    barrier_us: float = 0.0
    steps: dict[tuple[str, str], NDArray[np.float64]] = field(default_factory=dict)
    sizes: dict[tuple[str, str], NDArray[np.float64]] = field(default_factory=dict)
    collectives: dict[tuple[str, str], NDArray[np.float64]] = field(default_factory=dict)
    permutations: NDArray[np.float64] = field(default_factory=_empty)

    def minimum(self, pattern: str, affinity: str) -> float:
        """Least bandwidth among the ranks at 64 KB, mean over the trials."""
        return float(self.steps[pattern, affinity].min(axis=1).mean())

    def time_us(self, operation: str, affinity: str) -> float:
        """Mean time over the trials."""
        return float(self.collectives[operation, affinity].mean())


def deviation(trials: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sample standard deviation over trials (the first axis), normalised by n - 1; 0 of one trial."""
    if trials.shape[0] < 2:
        return np.zeros(trials.shape[1:])
    return np.asarray(trials.std(axis=0, ddof=1))
