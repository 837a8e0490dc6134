"""The placement that a statistical model likes best, of all or of a sample and what swaps make of it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corewise._core import Machine, Pattern
from corewise.trials.statistical.features import Placements, RouteFeatures
from corewise.trials.statistical.model import StatisticalModel

MOST_PREDICTED = 50_000
"""Placements that are all predicted; of more, so many divided by `_SHARE` are drawn."""
_SHARE = 5
CHECKED = 5
"""Placements that the model likes best and that are checked; also climbs, where not all are predicted."""
_MOST_STEPS = 50


@dataclass(frozen=True)
class Pick:
    """A model's choice.

    Attributes
    ----------
    unit_of_rank : tuple of int
    predicted_ns : float
    predicted : int
        How many placements the model was asked about.
    complete : bool
        Whether these were all.
    next_best : tuple of tuple of int
        The placements that the model likes next, best first: to check a few costs little and finds better.
    """

    unit_of_rank: tuple[int, ...]
    predicted_ns: float
    predicted: int
    complete: bool
    next_best: tuple[tuple[int, ...], ...] = ()


def pick(
    model: StatisticalModel, machine: Machine, patterns: Sequence[Pattern], source: str, seed: int = 1
) -> Pick:
    """The placement with the least predicted time.

    Parameters
    ----------
    model : StatisticalModel
    machine : Machine
        The model's.
    patterns : sequence of Pattern
        They share one placement.
    source : str
        Names the model in errors.
    seed : int
        Of the sample.
    """
    features = RouteFeatures(machine, patterns)
    model.check_fits(machine, features, source)
    units, ranks = len(machine.units), patterns[0].ranks
    if math.perm(units, ranks) <= MOST_PREDICTED:
        every = np.array(list(itertools.permutations(range(units), ranks)), dtype=np.int32)
        times = model.predict_ns(features, every)
        first, *others = (int(at) for at in np.argsort(times, kind="stable")[:CHECKED])
        next_best = tuple(tuple(map(int, every[at])) for at in others)
        return Pick(tuple(map(int, every[first])), float(times[first]), len(every), True, next_best)
    rng = np.random.default_rng([seed, units, ranks, 1])
    drawn = np.array(
        [rng.permutation(units)[:ranks] for _ in range(MOST_PREDICTED // _SHARE)], dtype=np.int32
    )
    times = model.predict_ns(features, drawn)
    asked = len(drawn)
    found: list[tuple[float, tuple[int, ...]]] = []
    for at in np.argsort(times, kind="stable")[:CHECKED]:
        here, time = drawn[at], float(times[at])
        for _ in range(_MOST_STEPS):
            around = _neighbours(here, units)
            predicted = model.predict_ns(features, around)
            asked += len(around)
            step = int(np.argmin(predicted))
            if not predicted[step] < time:
                break
            here, time = around[step], float(predicted[step])
        found.append((time, tuple(map(int, here))))
    (time, unit_of_rank), *next_found = sorted(set(found))
    return Pick(unit_of_rank, time, asked, False, tuple(units for _, units in next_found))


def _neighbours(placement: Placements, units: int) -> Placements:
    """Every swap of two ranks and every move of a rank to a free unit."""
    ranks = len(placement)
    free = sorted(set(range(units)) - set(map(int, placement)))
    rows = []
    for one, other in itertools.combinations(range(ranks), 2):
        row = placement.copy()
        row[[one, other]] = row[[other, one]]
        rows.append(row)
    for rank, unit in itertools.product(range(ranks), free):
        row = placement.copy()
        row[rank] = unit
        rows.append(row)
    return np.array(rows, dtype=np.int32) if rows else placement[None, :]
