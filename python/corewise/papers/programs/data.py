"""What paper 003's programs are run with, and how messages are sorted by how far apart their ends are.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, Pattern
from corewise.papers.programs.calls import CallLine
from corewise.sim.ranks import RankRun

CLUSTER = "roadrunner"
SPES, CELL, NODE = 256, 8, 32
"""SPEs of the paper's cluster, of a Cell and of a node."""
SETTINGS: Mapping[str, float] = MappingProxyType({"cpu_ghz": 3.2})
"""Of simulated ranks: an SPE's clock; one operation per cycle, a quarter of its peak, is assumed."""
ENDS_NS = 200.0
"""Of a message's latency, what its sender and its receiver take: the defaults of simulated ranks."""
SIZES = (0, 65536, 131072)
"""Of the ping-pong: its latency, and the two sizes whose difference is its bandwidth."""


@dataclass(frozen=True)
class Level:
    """How far apart two SPEs can be.

    Attributes
    ----------
    name : str
    shared : int
        Domains of the machine (node, blade, Cell) that both are in.
    peer : int
        A rank so far from rank 0.
    latency_us, mb_per_s : float
        Of the machine file.
    published : str
        What table 2 calls it; empty where it has no row and the file assumes its numbers.
    """

    name: str
    shared: int
    peer: int
    latency_us: float
    mb_per_s: float
    published: str


LEVELS = (
    Level("same Cell", 3, 1, 0.272, 22994.2, "Same Cell"),
    Level("same blade", 2, 8, 0.825, 4281.3, "Same node"),
    Level("same node", 1, 16, 3.116, 830.7, ""),
    Level("other node", 0, 32, 11.771, 161.2, "Different nodes"),
)
SAME_CELL, SAME_BLADE, SAME_NODE, ELSEWHERE = range(4)


@dataclass(frozen=True)
class Effort:
    """How much is simulated.

    Attributes
    ----------
    sweep, dynamics, flow : tuple of str
        Arguments of sweep3d, md and lbm.
    objective : str
        Of the searches for placements.
    evaluations : int
        Where they end.
    shares : tuple of float
        Of the latency between nodes, in which a forwarder serves nobody else.
    """

    sweep: tuple[str, ...]
    dynamics: tuple[str, ...]
    flow: tuple[str, ...]
    objective: str
    evaluations: int
    shares: tuple[float, ...]


FULL = Effort(
    ("--size", "64x64x80", "--iterations", "1"),
    ("--cells", "16x16x8", "--dims", "8x8x4", "--steps", "10"),
    ("--size", "32x64x64", "--dims", "4x8x8", "--steps", "5"),
    "bottleneck",
    20000,
    (0.0, 0.1, 0.2, 0.4, 0.6),
)
QUICK = Effort(
    ("--size", "32x32x10", "--iterations", "1", "--planes", "5"),
    ("--cells", "12x12x6", "--dims", "8x8x4", "--steps", "2"),
    ("--size", "16x32x32", "--dims", "4x8x8", "--steps", "2"),
    "hop-bytes",
    1000,
    (0.0, 0.4),
)


def levels_of(machine: Machine) -> NDArray[np.int64]:
    """For every pair of units the index of its level.

    Returns
    -------
    ndarray of int64, shape (units, units)
    """
    index = {level.shared: number for number, level in enumerate(LEVELS)}
    domains = [unit.domains for unit in machine.units]
    return np.array([[index[_shared(one, other)] for other in domains] for one in domains], dtype=np.int64)


def _shared(one: list[str], other: list[str]) -> int:
    return sum(a == b for a, b in zip(one, other, strict=True))


@dataclass(frozen=True)
class Sent:
    """One program's own messages, in order of ranks.

    Attributes
    ----------
    messages, volume : ndarray of int64, shape (ranks, ranks)
        Number, and bytes.
    time_us : float
        Simulated, of the whole run.
    """

    messages: NDArray[np.int64]
    volume: NDArray[np.int64]
    time_us: float

    @classmethod
    def of(cls, run: RankRun) -> Sent:
        """What a run sent."""
        shape = (run.ranks.size, run.ranks.size)
        messages, volume = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        where = (run.traffic["sender"], run.traffic["receiver"])
        messages[where], volume[where] = run.traffic["messages"], run.traffic["bytes"]
        return cls(messages, volume, run.time_ns * 1e-3)

    def heavy(self) -> NDArray[np.bool_]:
        """Pairs whose mean message is not an order of magnitude smaller than the largest one."""
        mean = self.volume / np.maximum(self.messages, 1)
        found: NDArray[np.bool_] = mean * 10 > mean.max()
        return found

    def by_level(self, levels: NDArray[np.int64], only: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Messages of each level."""
        chosen = self.messages if only is None else np.where(only, self.messages, 0)
        return np.array([int(chosen[levels == number].sum()) for number in range(len(LEVELS))])


@dataclass(frozen=True)
class Placed:
    """What a placement did for a program.

    Attributes
    ----------
    predicted : float
        The objective in rank order over that of the placement found.
    before, after : Sent
        In rank order; and placed, still by rank.
    level_shares : tuple of float
        Of the messages after placement, by level.
    statement : str
        What the search says of itself.
    """

    predicted: float
    before: Sent
    after: Sent
    level_shares: tuple[float, ...]
    statement: str

    @property
    def gain(self) -> float:
        """Simulated time in rank order over that of the placement."""
        return self.before.time_us / self.after.time_us


@dataclass(frozen=True)
class Study:
    """Everything that was simulated.

    Attributes
    ----------
    effort : Effort
    table2 : tuple of (float, float)
        Of each level: latency in microseconds, bandwidth in MB/s.
    levels : ndarray of int64, shape (ranks, ranks)
    sweep, modified, dynamics, flow : Sent
    gains : tuple of (float, float, float)
        Share of the latency between nodes that keeps a forwarder busy; times of both sweeps, microseconds.
    placed : mapping of str to Placed
    calls : tuple of CallLine
        Of SPE 0 of lattice Boltzmann, 10 iterations.
    """

    effort: Effort
    table2: tuple[tuple[float, float], ...]
    levels: NDArray[np.int64]
    sweep: Sent
    modified: Sent
    dynamics: Sent
    flow: Sent
    gains: tuple[tuple[float, float, float], ...]
    placed: Mapping[str, Placed]
    calls: tuple[CallLine, ...]

    def programs(self) -> dict[str, Sent]:
        """By the name that tables use."""
        return {
            "Sweep3D": self.sweep,
            "modified Sweep3D": self.modified,
            "molecular dynamics": self.dynamics,
            "lattice Boltzmann": self.flow,
        }


def pattern_of(name: str, sent: Sent) -> Pattern:
    """A program's messages for a search."""
    sender, receiver = np.nonzero(sent.messages)
    return Pattern.from_coordinates(
        name,
        len(sent.messages),
        sender.astype(np.int32),
        receiver.astype(np.int32),
        sent.volume[sender, receiver].astype(np.uint64),
        sent.messages[sender, receiver].astype(np.uint64),
    )
