"""Which placements a verification runs: the predicted best, the next bests, and those that a user names.

Next bests are taken from what lies near: all swaps of two ranks of the best, the named placements, random
ones; one of every further cost, the lowest first. Where everything costs the same, equals are taken: then
nothing may differ.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from corewise.analysis.placement.search import REPLAY, TIMES, Costs
from corewise.analysis.placement.starts import named_starts

NEXT_BESTS = 2
NEARBY_RANDOMS = 200
MOST_SWAPPED = 24
"""Up to so many ranks every swap of the best is looked at."""
_SEEDS = 2**64  # seeds that are counted up begin again there
_SAME = 1e-9  # costs this close (relative) are one cost


@dataclass(frozen=True)
class Contenders:
    """What is run beside the default and a random placement.

    Attributes
    ----------
    units : name -> unit of rank r at [r]
        ``best``, then ``next 1``, ``next 2``, ..., then the user's; equal placements under a joint name.
    predicted : name -> float
        The model's cost.
    """

    units: Mapping[str, tuple[int, ...]]
    predicted: Mapping[str, float]


def contenders(
    costs: Costs,
    best: Sequence[int],
    others: Mapping[str, Sequence[int]] | None = None,
    next_bests: int = NEXT_BESTS,
) -> Contenders:
    """Chooses what a verification runs.

    Parameters
    ----------
    costs : Costs
        The model that predicted.
    best : sequence of int
        The placement it calls best.
    others : name -> unit of rank r at [r], optional
        Placements that the user wants to see run too.
    next_bests : int
        How many besides the best, where there are so many placements.
    """
    chosen = {"best": tuple(best)}
    for number, units in enumerate(_next_bests(costs, tuple(best), next_bests), start=1):
        chosen[f"next {number}"] = units
    for name, given in (others or {}).items():
        chosen.setdefault(name, tuple(given))
    merged = merge_equal(chosen)
    return Contenders(merged, dict(zip(merged, costs.of_all(list(merged.values())), strict=True)))


def merge_equal(placements: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Placements that are the same one under a joint name, e.g. ``best = identity``: each is run once.

    Parameters
    ----------
    placements : name -> unit of rank r at [r]
    """
    names: dict[tuple[int, ...], list[str]] = {}
    for name, units in placements.items():
        names.setdefault(units, []).append(name)
    return {" = ".join(same): units for units, same in names.items()}


def _next_bests(costs: Costs, best: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    allowed = (tuple(costs.allowed(units)) for units in _nearby(costs, best))
    near = [units for units in dict.fromkeys(allowed) if units != best]
    if costs.settings.objective == REPLAY:
        near = near[: costs.settings.evaluations]
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
