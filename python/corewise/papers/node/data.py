"""What was measured for paper 004, as the benchmarks give it, and section 7's runs on modelled nodes.

Whoever calls the study runs the benchmarks: rooms of papers and of benchmarks do not see each other.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corewise.analysis.noise.sources import Times
from corewise.analysis.result import Figure

NODE_CORES = 8
"""Of the paper's node."""
NODES = (1, 2, 4, 8, 16, 32)
"""Of figure 5 (section 7): 8, 16 and 32 are told in words."""
GRID = 1024
"""Side of the transformed grid, which the paper does not tell."""
BATCH_LOSS = 0.35
"""Of dynamic shares on batch nodes (section 6)."""
WINS = 512
"""Processors at which the paper's threaded FFT wins (section 8.4)."""
FLOPS_PER_NS = 2.0
"""Of a core in a 1D transform."""


@dataclass(frozen=True)
class Measured:
    """A row of a benchmark: medians, ratio and quartile distance as there."""

    ours: float | None
    theirs: float | None
    ratio: float | None
    spread: float | None = None
    more: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Statement:
    """A statement of section 4, held against one MPI; `found`: the numbers that decide."""

    mpi: str
    what: str
    reproduced: bool
    found: str


@dataclass(frozen=True)
class Underused:
    """One count of nodes with one all-to-all, modelled: seven and eight processes on each.

    Attributes
    ----------
    nodes : int
    collective : str
        By its name in `corewise.analysis.noise.collectives`.
    seven_ns, eight_ns : float
        Of an iteration, on average.
    assumed_ns : float or None
        With seven, and a library that takes eight for granted; of `by-nodes` only.
    seven_ranks_ns : array
        What each rank took, per iteration.
    """

    nodes: int
    collective: str
    seven_ns: float
    eight_ns: float
    assumed_ns: float | None
    seven_ranks_ns: Times


@dataclass(frozen=True)
class Transformed:
    """Both forms of section 8 on so many processors, simulated: microseconds of the slowest rank.

    `slowed_us`: threaded, with workers as slow as section 6 found dynamic shares on batch nodes.
    """

    side: int
    processors: int
    pure_us: float
    threaded_us: float
    slowed_us: float

    @property
    def ratio(self) -> float:
        """How many times as fast the threaded form is."""
        return self.pure_us / self.threaded_us

    @property
    def slowed_ratio(self) -> float:
        """The same with slow workers."""
        return self.pure_us / self.slowed_us


@dataclass(frozen=True)
class Found:
    """Everything. What a section has not measured is empty.

    Attributes
    ----------
    host : str
    cores : int
    copies_mb_per_s : mapping of str to float
        Kernels of section 3.
    statements : sequence of Statement
    figures : sequence of Figure
        1 and 2, by MPI.
    rows : mapping of str to Measured
        Rows of `bench node` and `bench fft` by their ids.
    noise : str
        What section 7 was modelled with.
    underused : sequence of Underused
    transformed : sequence of Transformed
        Section 8 in simulation.
    """

    host: str
    cores: int
    copies_mb_per_s: Mapping[str, float] = field(default_factory=dict)
    statements: Sequence[Statement] = ()
    figures: Sequence[Figure] = ()
    rows: Mapping[str, Measured] = field(default_factory=dict)
    noise: str = ""
    underused: Sequence[Underused] = ()
    transformed: Sequence[Transformed] = ()

    def having(self, start: str) -> dict[str, Measured]:
        """The rows whose ids begin so, without that beginning."""
        return {key.removeprefix(start): row for key, row in self.rows.items() if key.startswith(start)}
