"""Collectives of up to a million ranks under noise, a step at a time, all ranks of a step at once.

A step of a rank ends when it and its partner have come, plus what the step costs, plus what noise takes from
the rank meanwhile. Ranks lie on nodes one after the other, so many on each. Ranks of one node that send to
others share the node's link. Invariant: the same seed gives the same times.

Costs: `pairwise` takes one step less than there are ranks, so it is limited to `MOST_PAIRWISE` ranks. All
others take some tens of steps.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from corewise.analysis.noise.sources import Noise, Times
from corewise.errors import InputError

MOST_RANKS = 1_000_000
MOST_PAIRWISE = 65_536


@dataclass(frozen=True)
class Network:
    """What a step costs.

    Attributes
    ----------
    inside_ns, between_ns : float
        Of a message of no bytes within a node, and from node to node.
    inside_ns_per_byte, between_ns_per_byte : float
        Of a rank's bytes within a node, and of a node's link.
    """

    inside_ns: float = 500.0
    between_ns: float = 1500.0
    inside_ns_per_byte: float = 0.1
    between_ns_per_byte: float = 0.04


@dataclass(frozen=True)
class Layout:
    """Where ranks are.

    Attributes
    ----------
    nodes, per_node : int
    assumed : int
        Ranks per node that a library which knows nodes takes for granted; 0: the true ones.
    """

    nodes: int
    per_node: int
    assumed: int = 0

    @property
    def ranks(self) -> int:
        """On all nodes."""
        return self.nodes * self.per_node

    def node_of(self, ranks: np.ndarray) -> np.ndarray:
        """Of each of the ranks."""
        return ranks // self.per_node


class Run:
    """Ranks on their way through collectives: when each of them is done with what came before.

    Parameters
    ----------
    layout : Layout
    noise : Noise
    network : Network
    seed : int
    """

    def __init__(self, layout: Layout, noise: Noise, network: Network, seed: int) -> None:
        if not 1 <= layout.ranks <= MOST_RANKS:
            raise InputError(f"ranks: found {layout.ranks}, allowed: 1 to {MOST_RANKS}")
        self.layout, self.network = layout, network
        self.times: Times = np.zeros(layout.ranks)
        self._noise = noise
        self._random = np.random.default_rng(seed)
        self._every = np.arange(layout.ranks)

    def compute(self, window_ns: float) -> None:
        """Every rank works for a time."""
        self.times += window_ns + self._noise.delays(self._random, len(self.times), window_ns)

    def exchange(self, source: np.ndarray, size_bytes: float, ranks: np.ndarray | None = None) -> None:
        """Every one of the ranks (None: all) sends, and waits for the message of its source."""
        who = self._every if ranks is None else ranks
        cost = self._cost(source, who, size_bytes)
        lost = self._noise.delays(self._random, len(who), float(cost.mean()))
        self.times[who] = np.maximum(self.times[who], self.times[source]) + cost + lost

    def send(self, source: np.ndarray, target: np.ndarray, size_bytes: float) -> None:
        """Some ranks send to as many others, and both are there until the message is."""
        cost = self._cost(source, target, size_bytes)
        ended = np.maximum(self.times[source], self.times[target]) + cost
        for ranks in (source, target):
            self.times[ranks] = ended + self._noise.delays(self._random, len(ranks), float(cost.mean()))

    def _cost(self, source: np.ndarray, target: np.ndarray, size_bytes: float) -> Times:
        network, per_node = self.network, self.layout.per_node
        near = self.layout.node_of(source) == self.layout.node_of(target)
        inside = network.inside_ns + size_bytes * network.inside_ns_per_byte
        # A node's ranks send at the same time through one link, as far as they take part.
        sharing = min(per_node, len(target) / self.layout.nodes)
        between = network.between_ns + size_bytes * network.between_ns_per_byte * max(sharing, 1.0)
        return np.where(near, inside, between)


# ---- collectives -------------------------------------------------------------------------------------------


def dissemination(run: Run, size_bytes: float) -> None:
    """A barrier, or with bytes an allgather of one value: every rank hears of all in ceil(log2 n) steps."""
    ranks = run.layout.ranks
    every = np.arange(ranks)
    distance = 1
    while distance < ranks:
        run.exchange((every - distance) % ranks, size_bytes)
        distance *= 2


def bruck(run: Run, size_bytes: float) -> None:
    """All-to-all of blocks of so many bytes in ceil(log2 n) steps of half of all blocks each."""
    ranks = run.layout.ranks
    every = np.arange(ranks)
    distance = 1
    while distance < ranks:
        run.exchange((every - distance) % ranks, size_bytes * bruck_blocks(ranks, distance))
        distance *= 2


def bruck_blocks(ranks: int, distance: int) -> int:
    """Blocks that a step sends: those whose number, below `ranks`, has the bit of its distance."""
    whole, rest = divmod(ranks, 2 * distance)
    return whole * distance + max(0, rest - distance)


def pairwise(run: Run, size_bytes: float) -> None:
    """All-to-all in n - 1 steps of one block: with the rank of the other bits, or of the next distance."""
    ranks = run.layout.ranks
    if ranks > MOST_PAIRWISE:
        raise InputError(
            f"pairwise: found {ranks} ranks, allowed: up to {MOST_PAIRWISE}, its steps are one less"
        )
    every = np.arange(ranks)
    by_bits = ranks & (ranks - 1) == 0
    for step in range(1, ranks):
        run.exchange(every ^ step if by_bits else (every - step) % ranks, size_bytes)


def by_nodes(run: Run, size_bytes: float) -> None:
    """All-to-all by way of a leader per node: gathered by a tree, exchanged by Bruck's steps, given back.

    Where the library takes other ranks per node for granted than there are, its groups are cut across nodes.
    """
    layout = run.layout
    ranks, group = layout.ranks, min(layout.assumed or layout.per_node, layout.ranks)
    every = np.arange(ranks)
    place = every % group
    distances = [2**bit for bit in range((group - 1).bit_length())]
    for distance in distances:
        target = every[
            (place % (2 * distance) == 0) & (place + distance < group) & (every + distance < ranks)
        ]
        if len(target):
            run.send(target + distance, target, size_bytes * ranks * distance)
    _between_leaders(run, every[place == 0], size_bytes * group * group)
    for distance in reversed(distances):
        source = every[
            (place % (2 * distance) == 0) & (place + distance < group) & (every + distance < ranks)
        ]
        if len(source):
            run.send(source, source + distance, size_bytes * ranks * distance)


def _between_leaders(run: Run, leaders: np.ndarray, size_bytes: float) -> None:
    """Bruck's steps of some ranks only."""
    count = len(leaders)
    distance = 1
    while distance < count:
        source = leaders[(np.arange(count) - distance) % count]
        run.exchange(source, size_bytes * bruck_blocks(count, distance), leaders)
        distance *= 2


Collective = Callable[[Run, float], None]
BARRIER = "dissemination"
ALL_TO_ALLS: Mapping[str, Collective] = {"bruck": bruck, "pairwise": pairwise, "by-nodes": by_nodes}
COLLECTIVES: Mapping[str, Collective] = {BARRIER: dissemination, **ALL_TO_ALLS}


# ---- a program ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A program that computes and then does a collective, again and again.

    Attributes
    ----------
    collective : str
        One of `COLLECTIVES`.
    compute_ns : float
        Of all cores of a node, used fully; with fewer ranks each has more to do.
    total_bytes : float
        That an all-to-all moves among all ranks, however many they are; a barrier moves none.
    """

    collective: str
    compute_ns: float
    total_bytes: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """Times of a program's iterations.

    Attributes
    ----------
    iterations_ns : array
        Of each, by the last rank.
    ranks_ns : array
        What each rank had taken until the end of the last iteration, over the number of iterations.
    """

    iterations_ns: Times
    ranks_ns: Times

    @property
    def median_ns(self) -> float:
        """Of an iteration."""
        return float(np.median(self.iterations_ns))

    @property
    def mean_ns(self) -> float:
        """Of an iteration."""
        return float(np.mean(self.iterations_ns))


def simulate(
    program: Program, layout: Layout, cores: int, noise: Noise, *, iterations: int, seed: int = 1,
    network: Network | None = None,
) -> Outcome:  # fmt: skip
    """Runs a program on nodes of so many cores, of which the layout uses some.

    Parameters
    ----------
    program : Program
    layout : Layout
    cores : int
        Of a node.
    noise : Noise
        Of a core that is used.
    iterations : int
    seed : int
    network : Network or None
        None: the usual one.
    """
    run = Run(layout, noise, network or Network(), seed)
    compute_ns = program.compute_ns * cores / layout.per_node
    size_bytes = (
        program.total_bytes / layout.ranks**2 if program.collective in ALL_TO_ALLS else program.total_bytes
    )
    ends = [0.0]
    for _ in range(iterations):
        run.compute(compute_ns)
        COLLECTIVES[program.collective](run, size_bytes)
        ends.append(float(run.times.max()))
    return Outcome(np.diff(ends), run.times / iterations)
