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

from corewise import _core
from corewise._core import Machine, Pattern, Searcher
from corewise.analysis.placement.hypercube import has_affinities, map_by_hypercube
from corewise.analysis.placement.rules import is_ring, judge, violations

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
        starts["greedy"] = list(Searcher(machine).greedy(joint))
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


def by_rules(machine: Machine, pattern: Pattern, starts: Mapping[str, Sequence[int]]) -> list[int]:
    """The placement that breaks the rules of thumb least, by swaps from the best start."""

    def cost(units: Sequence[int]) -> tuple[int, int, int]:
        return violations(judge(machine, pattern, units))

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
