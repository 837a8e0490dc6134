"""When a core that is left idle pays: by a model, from the noise of a node, for programs of barriers.

With a core idle every rank has more to compute, and less is taken from it. The answer is the longest time
between two barriers at which the program with a core idle is faster, for several numbers of nodes. Nothing is
claimed of nodes of fewer than `FEWEST_CORES` cores: a core is too much of them.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corewise._core import Machine
from corewise.analysis.noise.collectives import (
    BARRIER,
    MOST_RANKS,
    Layout,
    Network,
    Program,
    simulate,
)
from corewise.analysis.noise.sources import NodeNoise

FEWEST_CORES = 8
INTERVALS_NS = (3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7)
"""Between two barriers."""
NODES = (1, 16, 128)
CLEARLY = 1.02
"""Times as fast at least, that it counts."""
_STEP_BUDGET = 1e6
"""Ranks times iterations, so that an answer takes seconds."""
_ITERATIONS = (10, 100)


@dataclass(frozen=True)
class Comparison:
    """One program on so many nodes, on all cores and with one idle on each.

    Attributes
    ----------
    nodes : int
    interval_ns : float
        Between barriers, of a program that uses all cores.
    everywhere_ns, spared_ns : float
        Of an iteration, on average.
    """

    nodes: int
    interval_ns: float
    everywhere_ns: float
    spared_ns: float

    @property
    def gain(self) -> float:
        """How many times faster it is with a core idle."""
        return self.everywhere_ns / self.spared_ns


@dataclass(frozen=True)
class Advice:
    """What can be said of a node.

    Attributes
    ----------
    cores : int
    noise : NodeNoise
    comparisons : tuple of Comparison
        Empty where nothing is claimed.
    """

    cores: int
    noise: NodeNoise
    comparisons: tuple[Comparison, ...]

    def pays_up_to_ns(self, nodes: int) -> float | None:
        """The longest interval up to which a core idle pays at all that were looked at; None: at none."""
        longest = None
        for each in sorted(self._of(nodes), key=lambda one: one.interval_ns):
            if each.gain < CLEARLY:
                break
            longest = each.interval_ns
        return longest

    def nodes(self) -> list[int]:
        """Those that were looked at."""
        return sorted({each.nodes for each in self.comparisons})

    def sentences(self) -> Iterator[str]:
        """What a user may want to know."""
        if not self.comparisons:
            yield f"nothing is claimed of a node of {self.cores} cores: it takes {FEWEST_CORES} and more"
        for nodes in self.nodes():
            ranks = f"{nodes * self.cores} or {nodes * (self.cores - 1)} ranks"
            where = f"on {nodes} node{'s' if nodes > 1 else ''} ({ranks})"
            longest = self.pays_up_to_ns(nodes)
            if longest is None:
                shortest_us = INTERVALS_NS[0] / 1e3
                yield f"{where} an idle core does not pay, at {shortest_us:g} us between barriers and more"
            else:
                gain = next(each.gain for each in self._of(nodes) if each.interval_ns == longest)
                yield (
                    f"{where} an idle core pays up to {longest / 1e3:g} us between barriers, where it is "
                    f"{gain:.2f} times as fast (a prediction)"
                )

    def _of(self, nodes: int) -> Iterator[Comparison]:
        return (each for each in self.comparisons if each.nodes == nodes)


def advise(
    noise: NodeNoise,
    cores: int,
    *,
    nodes: Sequence[int] = NODES,
    network: Network | None = None,
    seed: int = 1,
) -> Advice:
    """Compares all cores with one less, by nodes and intervals.

    Parameters
    ----------
    noise : NodeNoise
    cores : int
        Of a node.
    nodes : sequence of int
        Those with more ranks than the model takes are left out.
    network : Network or None
    seed : int
    """
    if cores < FEWEST_CORES:
        return Advice(cores, noise, ())
    found = [
        compare(noise, cores, count, interval_ns, network, seed)
        for count in nodes
        if count * cores <= MOST_RANKS
        for interval_ns in INTERVALS_NS
    ]
    return Advice(cores, noise, tuple(found))


def cores_of(machine: Machine) -> int:
    """Hardware threads of one core count once."""
    cores = {
        next((name for name in unit.domains if name.startswith("core")), unit.name) for unit in machine.units
    }
    return len(cores)


def compare(
    noise: NodeNoise,
    cores: int,
    nodes: int,
    interval_ns: float,
    network: Network | None = None,
    seed: int = 1,
) -> Comparison:
    """All cores and one less, for a program of barriers.

    Parameters
    ----------
    noise : NodeNoise
    cores, nodes : int
        Cores of a node, and nodes.
    interval_ns : float
        Between barriers, with all cores.
    network : Network or None
    seed : int
    """
    few, many = _ITERATIONS
    iterations = int(min(many, max(few, _STEP_BUDGET / (nodes * cores) / len(INTERVALS_NS))))
    program = Program(BARRIER, interval_ns)
    full, spared = Layout(nodes, cores), Layout(nodes, cores - 1)
    with_all = simulate(
        program, full, cores, noise.everywhere, iterations=iterations, seed=seed, network=network
    )
    with_less = simulate(
        program, spared, cores, noise.spared, iterations=iterations, seed=seed, network=network
    )
    return Comparison(nodes, interval_ns, with_all.mean_ns, with_less.mean_ns)
