"""Placements that have a name: what a search starts from, and what its result is held against.

On every machine: ``identity`` (rank order), ``greedy`` (heaviest partners next to each other, one rank after
another) and ``hypercube`` (`placement_hypercube`). On a ring of eight SPEs also paper 000's affinities
``ring``, ``overlap``, ``even_odd`` and ``leap2``; on every ring of up to 16 ranks ``rules``, the placement
that breaks the paper's rules of thumb least, as a descent from the others finds it. Deterministic.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from corewise import _core
from corewise._core import Machine, Pattern
from corewise.analysis.placement.hypercube import has_affinities, map_by_hypercube
from corewise.analysis.placement.rules import harm, is_ring, judge

MOST_GREEDY = 1024
"""Up to so many ranks."""
MOST_BY_RULES = 16


def named_starts(machine: Machine, patterns: Sequence[Pattern]) -> dict[str, list[int]]:
    """Every named placement that this machine and number of ranks have, by name.

    Parameters
    ----------
    machine : Machine
    patterns : sequence of Pattern
        Of equal ranks; they count together, one after another.
    """
    joint = joined(patterns)
    starts = {"identity": list(machine.identity_placement(joint.ranks))}
    if has_affinities(machine):
        starts |= {name: list(units[: joint.ranks]) for name, units in _core.affinities()}
    if joint.ranks <= MOST_GREEDY:
        starts["greedy"] = greedy(machine, joint)
    by_hypercube = map_by_hypercube(machine, joint)
    if by_hypercube is not None:
        starts["hypercube"] = list(by_hypercube.unit_of_rank)
    if is_ring(machine) and joint.ranks <= MOST_BY_RULES:
        starts["rules"] = by_rules(machine, joint, starts)
    return starts


def joined(patterns: Sequence[Pattern]) -> Pattern:
    """Several patterns as one whose phases follow each other."""
    if len(patterns) == 1:
        return patterns[0]
    phases = [(phase.name, *phase.coordinates()) for pattern in patterns for phase in pattern.phases]
    return Pattern.from_phases(" + ".join(pattern.name for pattern in patterns), patterns[0].ranks, phases)


def greedy(machine: Machine, pattern: Pattern) -> list[int]:
    """Ranks in the order of their traffic with those already placed, each on the free unit that costs least.

    A unit costs bytes times hops to the partners that are placed; of equal units the first is taken.
    """
    traffic = pattern.matrix().astype(float)
    traffic = traffic + traffic.T
    np.fill_diagonal(traffic, 0)
    hops = machine.hops().astype(float)
    free = np.ones(len(machine.units), bool)
    # In the middle of the machine first.
    unit_of_rank = np.full(pattern.ranks, -1)
    towards = np.zeros(pattern.ranks)
    for placed in range(pattern.ranks):
        waiting = np.flatnonzero(unit_of_rank < 0)
        rank = waiting[np.lexsort((waiting, -traffic[waiting].sum(axis=1), -towards[waiting]))[0]]
        done = np.flatnonzero(unit_of_rank >= 0)
        cost = hops[:, unit_of_rank[done]] @ traffic[rank, done] if placed else hops.sum(axis=1)
        unit_of_rank[rank] = np.where(free, cost, np.inf).argmin()
        free[unit_of_rank[rank]] = False
        towards += traffic[rank]
    return [int(unit) for unit in unit_of_rank]


def by_rules(machine: Machine, pattern: Pattern, starts: Mapping[str, Sequence[int]]) -> list[int]:
    """The placement that breaks the rules of thumb least, by swaps from the best start."""

    def cost(units: Sequence[int]) -> tuple[int, int, int]:
        return harm(judge(machine, pattern, units))

    best = min(([*units] for units in starts.values()), key=cost)
    least = cost(best)
    improved = True
    while improved and least > (0, 0, 0):
        improved = False
        for first, second in combinations(range(pattern.ranks), 2):
            tried = list(best)
            tried[first], tried[second] = tried[second], tried[first]
            if (found := cost(tried)) < least:
                best, least, improved = tried, found, True
    return best
