"""What the search for placements of paper 000's patterns found on the simulated Cell; see `paper_placement`.

Single steps (Table 2) are judged by the least bandwidth among the ranks, as in the paper, collectives by
their time. A step's bandwidth depends on which SPEs exchange what, not on the ranks: of 40320 placements as
many are timed as give different sets of transfers (105 to 5040), which is an enumeration by the pattern's own
symmetry and assumes none of the machine's.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from corewise import _core, _lab
from corewise._core import Pattern
from corewise.analysis.placement.hypercube import map_by_hypercube
from corewise.analysis.placement.paired import tied_ranks
from corewise.analysis.result import Progress
from corewise.data.machines import load_machine
from corewise.papers.affinity.data import AFFINITIES, LARGE_BYTES, SPES

EVERY = np.array(list(permutations(range(SPES))), np.int64)
"""Every placement of eight ranks: shape (40320, 8), SPE of rank r in column r."""
Units = tuple[int, ...]


@dataclass(frozen=True)
class Effort:
    """How much is simulated.

    Attributes
    ----------
    search_repetitions : int
        Messages of each timed set of transfers in the search.
    final_repetitions, final_trials : int
        Of the finalists and the named placements; every trial has its own jitter.
    finalists : int
        Best sets of a step that are timed again.
    most_sets : int
        Sets timed per step; more are sampled.
    collective_searches : int
        Placements timed per collective operation.
    compromises : int
        Placements that are good for the steps together whose collectives are timed.
    ring_rounds : int
        Rounds of the ring on the PS3.
    """

    search_repetitions: int = 2
    final_repetitions: int = 20
    final_trials: int = 3
    finalists: int = 8
    most_sets: int = 5040
    collective_searches: int = 150
    compromises: int = 20
    ring_rounds: int = 60


QUICK = Effort(1, 4, 1, 3, 120, 20, 4, 20)


@dataclass(frozen=True)
class Step:
    """One pattern of Table 2.

    Attributes
    ----------
    pattern : _lab.Pattern000
    affinities : name -> GB/s
        Least bandwidth under the paper's affinities.
    best : tuple of int
        The best placement found.
    best_gb_per_s : float
    by_model, by_hypercube : (tuple of int, GB/s)
        The placement that the link-load search proves best; the one by way of a hypercube.
    by_model_cost, even_odd_cost : float
        Link load of the former and of EvenOdd, ns.
    quick_gb_per_s : ndarray, shape (40320,)
        Of every placement, with few repetitions; NaN where it was not timed.
    sets, timed : int
        Different sets of transfers, and how many were timed.
    """

    pattern: _lab.Pattern000
    affinities: dict[str, float]
    best: Units
    best_gb_per_s: float
    by_model: tuple[Units, float]
    by_hypercube: tuple[Units, float]
    by_model_cost: float
    even_odd_cost: float
    quick_gb_per_s: NDArray[np.float64]
    sets: int
    timed: int


@dataclass(frozen=True)
class Operation:
    """One collective operation: microseconds under the affinities, and of the best placement found."""

    name: str
    title: str
    affinities: dict[str, float]
    best: Units
    best_us: float
    timed: int


@dataclass(frozen=True)
class Compromise:
    """One placement for everything: its price per pattern, 1 is the best there is for that pattern alone."""

    unit_of_rank: Units
    prices: dict[str, float]
    even_odd: dict[str, float]

    @property
    def worst(self) -> float:
        """The highest price."""
        return max(self.prices.values())


def pattern_of(step: _lab.Pattern000) -> Pattern:
    """A step as a pattern of 64 KB messages."""
    to, source = np.array(step.flows, np.int32).T
    sizes = np.full(len(step.flows), LARGE_BYTES, np.uint64)
    return Pattern.from_coordinates(
        step.name, SPES, np.ascontiguousarray(source), np.ascontiguousarray(to), sizes, np.ones_like(sizes)
    )


def least_bandwidth(
    flows: Sequence[tuple[int, int]], units: Sequence[int], repetitions: int, trials: int = 1, seed: int = 1
) -> float:
    """Least bandwidth among the ranks, GB/s, mean over trials.

    Parameters
    ----------
    flows : sequence of (to, from)
        Ranks.
    units : sequence of int
        SPE of rank r at [r].
    repetitions, trials, seed : int
    """
    placed = sorted((int(units[to]), int(units[source])) for to, source in flows)
    found = [
        _lab.time_gets(placed, LARGE_BYTES, repetitions, seed=seed + trial, exact_clock=True).min()
        for trial in range(trials)
    ]
    return float(np.mean(found))


def transfer_sets(flows: Sequence[tuple[int, int]]) -> NDArray[np.uint64]:
    """Which set of transfers each of `EVERY` makes, as 64 bits: one per pair of SPEs."""
    to, source = np.array(flows, np.int64).T
    bits = np.uint64(1) << (EVERY[:, to] * SPES + EVERY[:, source]).astype(np.uint64)
    sets: NDArray[np.uint64] = np.bitwise_or.reduce(bits, axis=1)
    return sets


def search_step(step: _lab.Pattern000, effort: Effort, seed: int, tables: dict[int, float]) -> Step:
    """Times every set of transfers of a step, and the finalists again.

    Parameters
    ----------
    step : _lab.Pattern000
    effort : Effort
    seed : int
    tables : set of transfers -> GB/s
        What is already timed with few repetitions; steps share it.
    """
    sets = transfer_sets(step.flows)
    distinct, first = np.unique(sets, return_index=True)
    chosen = first
    if len(distinct) > effort.most_sets:
        chosen = np.sort(np.random.default_rng(seed).choice(first, effort.most_sets, replace=False))
    for at in chosen:
        key = int(sets[at])
        if key not in tables:
            tables[key] = least_bandwidth(
                step.flows, EVERY[at].tolist(), effort.search_repetitions, seed=seed
            )
    quick = np.array([tables.get(int(each), np.nan) for each in distinct])[np.searchsorted(distinct, sets)]
    order = chosen[np.argsort(-quick[chosen], kind="stable")]
    machine = load_machine("cell-be")
    pattern = pattern_of(step)
    searcher = _core.Searcher(machine)
    model = tuple(int(unit) for unit in searcher.search(pattern).unit_of_rank)
    mapped = map_by_hypercube(machine, pattern)
    cube = mapped.unit_of_rank if mapped is not None else tuple(range(SPES))
    finalists = dict.fromkeys([tuple(EVERY[at].tolist()) for at in order[: effort.finalists]])
    named = {name: tuple(units) for name, units in AFFINITIES.items()}
    known = {
        units: least_bandwidth(step.flows, units, effort.final_repetitions, effort.final_trials, seed)
        for units in {*finalists, *named.values(), model, cube}
    }
    # The named ones first: of equals the paper's own is kept.
    best = max([*named.values(), *finalists, model, cube], key=lambda units: known[units])
    return Step(
        pattern=step,
        affinities={name: known[units] for name, units in named.items()},
        best=best,
        best_gb_per_s=known[best],
        by_model=(model, known[model]),
        by_hypercube=(cube, known[cube]),
        by_model_cost=searcher.evaluate(pattern, list(model)).bottleneck_ns,
        even_odd_cost=searcher.evaluate(pattern, AFFINITIES["even_odd"]).bottleneck_ns,
        quick_gb_per_s=quick,
        sets=len(distinct),
        timed=len(chosen),
    )


class Timer:
    """Times collective operations under placements, each once."""

    def __init__(self, name: str, seed: int, trials: int) -> None:
        self.name, self.seeds = name, range(seed, seed + trials)
        self.known: dict[Units, float] = {}

    def __call__(self, units: Sequence[int]) -> float:
        """Microseconds of one operation, mean over the trials."""
        key = tuple(int(unit) for unit in units)
        if key not in self.known:
            times = [_lab.time_collective(self.name, list(key), 1, seed=seed) for seed in self.seeds]
            self.known[key] = float(np.mean(times))
        return self.known[key]


def search_operation(timer: Timer, title: str, starts: Sequence[Units], budget: int) -> Operation:
    """Descends from the fastest start by swapping two ranks, `budget` placements in all."""
    affinities = {name: timer(units) for name, units in AFFINITIES.items()}
    for units in starts:
        timer(units)
    best = min(timer.known, key=lambda units: timer.known[units])
    improved = True
    while improved and len(timer.known) < budget:
        improved = False
        for one, other in combinations(range(SPES), 2):
            if len(timer.known) >= budget:
                break
            tried = list(best)
            tried[one], tried[other] = tried[other], tried[one]
            if timer(tried) < timer.known[best]:
                best, improved = tuple(tried), True
                break
    return Operation(timer.name, title, affinities, best, timer.known[best], len(timer.known))


def find_compromise(
    steps: Sequence[Step], operations: Sequence[Operation], timers: Sequence[Timer], effort: Effort, seed: int
) -> Compromise:
    """The placement whose highest price over all patterns is least; the mean price decides between equals.

    Steps are looked up for all placements; the best of them are timed again and under every collective.
    """
    table = np.array([step.quick_gb_per_s for step in steps])
    prices = np.nanmax(table, axis=1)[:, None] / table
    worst = np.where(np.isnan(prices).any(axis=0), np.inf, prices.max(axis=0))
    order = np.lexsort((np.nan_to_num(prices, nan=9).mean(axis=0), worst))[: effort.compromises]
    even_odd = tuple(AFFINITIES["even_odd"])
    candidates = dict.fromkeys([even_odd, *(tuple(EVERY[at].tolist()) for at in order)])

    def price(units: Units) -> dict[str, float]:
        found = {}
        for step in steps:
            own = least_bandwidth(
                step.pattern.flows, units, effort.final_repetitions, effort.final_trials, seed
            )
            found[step.pattern.name] = step.best_gb_per_s / own
        for operation, timer in zip(operations, timers, strict=True):
            found[operation.name] = timer(units) / operation.best_us
        return found

    known = {units: price(units) for units in candidates}
    best = min(known, key=lambda units: (max(known[units].values()), sum(known[units].values())))
    return Compromise(best, known[best], known[even_odd])


# ---- the ring of paper 002 on the PS3 --------------------------------------------------------------------


@dataclass(frozen=True)
class Certified:
    """A placement of the ring of six that the link-load search proves best, and how it does when simulated.

    Attributes
    ----------
    mapping : tuple of int
        In the paper's notation: thread i, on SPE i, executes task pi(i).
    rank : int
        Among the 120 mappings, by simulated time; 1 is fastest, equals share the best rank.
    factor : float
        Time over the fastest's.
    """

    mapping: Units
    rank: int
    factor: float


@dataclass(frozen=True)
class Ps3Ring:
    """The ring of six: what is proven best, and what the simulation says of it."""

    optimum_ns: float
    statement: str
    certified: tuple[Certified, ...]
    spread: float
    median: float
    mappings: int
    correlation: float
    """Spearman's, of link load and simulated time over all mappings."""


def ps3_ring(rounds: int, progress: Progress) -> Ps3Ring:
    """Every mapping of six tasks: by link load with proof, and simulated with the paper's program."""
    # Loading it takes a while, and only this part needs it.
    from corewise.papers.mapping.data import experiment_on, time_all

    machine = load_machine("ps3")
    searcher = _core.Searcher(machine)
    pattern = _core.generate("ring", {"ranks": "6", "bytes": "1024"})
    found = searcher.search(pattern)
    least = found.evaluation.bottleneck_ns
    mappings = {index: _lab.mapping_at(6, index) for index in range(_lab.mapping_count(6))}  # thread -> task
    loads = {
        index: searcher.evaluate(pattern, [tasks.index(task) for task in range(6)]).bottleneck_ns
        for index, tasks in mappings.items()
    }
    best = [index for index, load in loads.items() if load <= least]
    experiment = experiment_on("ps3", 1024, jitter=False)
    experiment.most_rounds = rounds
    done = 0.0

    def advance(more: float) -> None:
        nonlocal done
        done += more
        progress(min(1.0, done / (120 * rounds)))

    curve = time_all("PS3", experiment, 1, advance)
    average = curve.average_us
    certified = []
    for index in best:
        own = average[np.flatnonzero(curve.indices == index)[0]]
        rank = 1 + int(np.count_nonzero(average < own * (1 - 1e-9)))
        certified.append(Certified(tuple(mappings[index]), rank, float(own / average.min())))
    certified.sort(key=lambda each: (each.rank, each.mapping))
    return Ps3Ring(
        optimum_ns=least,
        statement=found.statement,
        certified=tuple(certified),
        spread=curve.spread,
        median=curve.middle,
        mappings=len(average),
        correlation=_rank_correlation([loads[int(index)] for index in curve.indices], average.tolist()),
    )


def _rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    # Times that differ by rounding are equal.
    ranks = [tied_ranks([round(value, 9) for value in values]) for values in (one, other)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


@dataclass(frozen=True)
class Study:
    """Everything that was found."""

    steps: tuple[Step, ...]
    operations: tuple[Operation, ...]
    compromise: Compromise
    ring: Ps3Ring
