"""Which placements a verification runs, and what they take on a simulated machine.

The placements: the default, the best, the next bests, a random one that is drawn anew in every round. Next
bests are taken from what lies near: all swaps of two ranks of the best, the named placements, random ones;
one of every further cost, the lowest first. Where everything costs the same, equals are taken: then nothing
may differ.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from corewise import _core
from corewise._core import Machine
from corewise.analysis.placement.hypercube import has_affinities
from corewise.analysis.placement.search import TIMES, Costs
from corewise.analysis.placement.starts import named_starts
from corewise.errors import InputError
from corewise.trials.verification.statistics import DEFAULT

NEXT_BESTS = 2
RANDOM = "random"
NEARBY_RANDOMS = 200
MOST_SWAPPED = 24
"""Up to so many ranks every swap of the best is looked at."""
JITTER = 0.1
"""Of a simulated round: link latencies up to a tenth longer (on a Cell: the pauses of its rings)."""
_SEEDS = 2**64
"""Seeds that are counted up begin again there."""
_SAME = 1e-9
"""Costs this close (relative) are one cost."""


@dataclass(frozen=True)
class Contenders:
    """What is run.

    Attributes
    ----------
    fixed : name -> unit of rank r at [r]
        ``best``, then ``next 1``, ``next 2``, ...; equal placements under a joint name.
    randoms : tuple of tuple of int
        The random placement of every round.
    predicted : name -> float
        The model's cost of the fixed ones.
    """

    fixed: Mapping[str, tuple[int, ...]]
    randoms: tuple[tuple[int, ...], ...]
    predicted: Mapping[str, float]


def contenders(costs: Costs, best: Sequence[int], rounds: int, next_bests: int = NEXT_BESTS) -> Contenders:
    """Chooses what a verification runs.

    Parameters
    ----------
    costs : Costs
        The model that predicted.
    best : sequence of int
        The placement it calls best.
    rounds : int
    next_bests : int
        How many besides the best, where there are so many placements.
    """
    chosen = {"best": tuple(best)}
    for number, units in enumerate(_next_bests(costs, tuple(best), next_bests), start=1):
        chosen[f"next {number}"] = units
    predicted = dict(zip(chosen, costs.of_all(list(chosen.values())), strict=True))
    ranks = len(best)
    drawn = costs.searcher.random_placements(ranks, rounds, costs.settings.seed)
    return Contenders(chosen, tuple(tuple(int(unit) for unit in row) for row in drawn), predicted)


def _next_bests(costs: Costs, best: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    near = [units for units in _nearby(costs, best) if units != best]
    values = costs.of_all(near)
    order = sorted(range(len(near)), key=lambda at: (values[at], near[at]))
    levels: list[tuple[int, ...]] = []
    last = costs.of(best)
    for at in order:
        if len(levels) < count and values[at] > last * (1 + _SAME):
            levels.append(near[at])
            last = values[at]
    equals = [near[at] for at in order if near[at] not in levels]
    return [*levels, *equals][:count]


def _nearby(costs: Costs, best: tuple[int, ...]) -> list[tuple[int, ...]]:
    found = [tuple(units) for units in named_starts(costs.machine, costs.patterns).values()]
    if len(best) <= MOST_SWAPPED:
        for first, second in combinations(range(len(best)), 2):
            swapped = list(best)
            swapped[first], swapped[second] = swapped[second], swapped[first]
            found.append(tuple(swapped))
    samples = NEARBY_RANDOMS // 10 if costs.settings.objective in TIMES else NEARBY_RANDOMS
    drawn = costs.searcher.random_placements(len(best), samples, (costs.settings.seed + 1) % _SEEDS)
    found += [tuple(int(unit) for unit in row) for row in drawn]
    return list(dict.fromkeys(found))


def simulate(costs: Costs, chosen: Contenders, rounds: int, seed: int) -> dict[str, list[float]]:
    """Times of the placements on the simulated machine, packet by packet, in us: name -> one per round.

    A round has its own jitter, the same settings for all. The default is rank order; on eight SPEs what the
    system gives, drawn anew in every round (paper 000, section 3).

    Raises
    ------
    InputError
        A placement takes no time, so that nothing can be said to be so many times faster.
    """
    defaults = _defaults(costs, rounds, seed)
    times: dict[str, list[float]] = {name: [] for name in (DEFAULT, *chosen.fixed, RANDOM)}
    for turn in range(rounds):
        placements = [defaults[turn], *chosen.fixed.values(), chosen.randoms[turn]]
        found = _core.contended_times(
            costs.machine,
            list(costs.patterns),
            np.array(placements, np.int32),
            model="simulated",
            seed=(seed + turn) % _SEEDS,
            jitter=JITTER,
            weights=list(costs.weights),
        )
        for name, time_ns in zip(times, found, strict=True):
            if not time_ns > 0:
                raise InputError(
                    f"--verify: found no time that placement '{name}' takes (no message crosses a link), "
                    "allowed: patterns that take time under every placement"
                )
            times[name].append(float(time_ns) / 1000)
    return times


def default_of(machine: Machine) -> str:
    """What the default of a simulated machine is, in words."""
    return "the system's, drawn in every round" if has_affinities(machine) else "rank order"


def _defaults(costs: Costs, rounds: int, seed: int) -> list[list[int]]:
    ranks = costs.patterns[0].ranks
    if has_affinities(costs.machine):
        return [[int(spe) for spe in row[:ranks]] for row in _core.default_affinities(rounds, seed)]
    return [list(costs.machine.identity_placement(ranks))] * rounds
