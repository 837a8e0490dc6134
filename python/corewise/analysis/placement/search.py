"""One front for every placement search: which objective is minimised, by which search, under which clock.

Owns `Costs`, what a placement of one or several patterns costs by an objective, and `search_placements`,
which asks the core's one front, `Searcher.search`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from corewise import _core
from corewise.base import late
from corewise.base.quota import granted_cores
from corewise.errors import InputError

with late.imports():
    import numpy as np
    from numpy.typing import NDArray

    from corewise._core import Limits, Machine, Pattern, Searcher
    from corewise.analysis.placement.leaders import MOST_LEADERS, Leaders, quickest

OBJECTIVES = ("bottleneck", "flow", "simulated", "hop-bytes", "distance", "replay")
TIMES = ("flow", "simulated")
REPLAY = "replay"
"""The time of a recorded run's replay, which `Settings.replay` tells."""
LINEAR = ("hop-bytes", "distance")
"""Objectives by which several patterns cost what their sum costs."""
METHODS = ("auto", "exhaustive", "branch-and-bound", "multilevel", "local", "portfolio")
MOST_RANKS = 16
"""Up to so many ranks, on up to 64 units, a proof is certain to be tried (`proof_is_certain` of the core)."""
RANDOM_SAMPLES = 999
"""An odd number, so that the median is one placement that can be shown."""
RANDOM_TIMES = 49
"""The same where every sample is a simulation of few ranks."""
RANDOM_LOADS = 99
"""The same for many ranks: the one of median bottleneck stands for all."""
MOST_TIMED = {"flow": 50_000, "simulated": 1_000, REPLAY: 500}
"""Placements that a search times without being asked for more: a flow takes 0.1 ms, a simulation several."""
PROPOSALS = 6_000_000
"""Placements that a portfolio looks at without clock or number."""
MOST_WORKERS = 8
"""Portfolios side by side, each of which has memory of its own."""
LOCAL_EVALUATIONS = 200_000
"""The same of a local search."""
ENDLESS = 2**63
MOST_ENUMERATED = 1_000_000
"""The same where the user asks for a method; with ``--time`` a clock ends it before."""
UNITS = dict(zip(OBJECTIVES, ("ns", "ns", "ns", "B hops", "B ns", "ns"), strict=True))


@dataclass(frozen=True)
class Settings:
    """How to search.

    Attributes
    ----------
    objective : str
        One of `OBJECTIVES`.
    method : str
        One of `METHODS`; not every objective has every one.
    seed : int
    should_stop : callable or None
        Asked now and then; True ends the search with what it has. A clock, where the user wants one.
    certify : bool
        Make a certificate.
    evaluations : int or None
        Placements that a search that proves nothing looks at; None: as many as the clock lets it, or the
        search's own number where there is no clock.
    begin : callable or None
        Told, before one of several searches, which share of the time it may take.
    ends_by_itself : bool
        Whether the search needs no clock; see `settings_for`.
    limits : Limits or None
        Which placements it may choose from; None: all.
    leaders : int
        Of so many placements that are about equally quick by flow, and of the named ones, the quickest packet
        by packet wins. Of a search by bottleneck: so many are handed over.
    workers : int or None
        Portfolios side by side, each with a seed of its own; None: one for each core where a clock alone ends
        the search, at most `MOST_WORKERS`, else one.
    replay : callable or None
        Predicted time of a recorded run in ns, of a placement; with objective ``replay`` alone.
    left_open : bool
        Nobody asked for the objective: where every placement costs the same by link loads, times decide.
    """

    objective: str = "bottleneck"
    method: str = "auto"
    seed: int = 1
    should_stop: Callable[[], bool] | None = None
    certify: bool = False
    evaluations: int | None = None
    begin: Callable[[float], None] | None = None
    ends_by_itself: bool = True
    limits: Limits | None = None
    leaders: int = 0
    workers: int | None = None
    replay: Callable[[Sequence[int]], float] | None = None
    left_open: bool = False

    def with_(self, **changes: Any) -> Settings:
        """The same with other values."""
        return replace(self, **changes)


def settings_for(machine: Machine, ranks: int, objective: str | None, settings: Settings) -> Settings:
    """Settings with what a user left open: the objective, and whether the search needs a clock.

    Where a proof is certain to be tried, the objective is the bottleneck; beyond, contended time by flow,
    since placements of one bottleneck differ in time and nothing would be proven anyway. There packets
    decide among what is about equally quick by flow. Where a proof then says that all placements have one
    bottleneck, contended time decides, too (`study_placements`).

    Parameters
    ----------
    machine : Machine
    ranks : int
        Of the patterns.
    objective : str or None
        None: left open.
    settings : Settings
    """
    certain = _core.proof_is_certain(ranks, len(machine.units))
    chosen = objective or ("bottleneck" if certain or settings.certify else "flow")
    endless = not certain and settings.method in ("auto", "portfolio") and chosen not in LINEAR
    ends = not endless or settings.evaluations is not None
    leaders = MOST_LEADERS if objective is None and chosen == "flow" else 0
    left_open = objective is None and not settings.certify
    return settings.with_(objective=chosen, ends_by_itself=ends, leaders=leaders, left_open=left_open)


@dataclass(frozen=True)
class Outcome:
    """What a search found; see `corewise.analysis.placement.comparison.PlacementStudy`."""

    unit_of_rank: list[int]
    proven_optimal: bool
    method: str
    statement: str
    optimal: list[list[int]]
    worst: list[int] | None = None
    worst_proven: bool = False
    bound: float | None = None
    origin: str = ""
    certificate: str | None = None
    simulated_ns: Mapping[tuple[int, ...], float] = field(default_factory=dict)
    leaders: list[list[int]] = field(default_factory=list)


class Costs:
    """What placements cost by one objective: the weighted sum over the patterns that share the placement."""

    def __init__(
        self, machine: Machine, patterns: Sequence[Pattern], weights: Sequence[float], settings: Settings
    ) -> None:
        if settings.objective not in OBJECTIVES:
            raise InputError(f"objective '{settings.objective}' is unknown, allowed: {', '.join(OBJECTIVES)}")
        if settings.method not in METHODS:
            raise InputError(f"method '{settings.method}' is unknown, allowed: {', '.join(METHODS)}")
        if (settings.objective == REPLAY) != (settings.replay is not None):
            raise InputError(
                f"objective: found {settings.objective} {'without' if settings.replay is None else 'with'} a "
                "recorded run, allowed: replay, of a profile"
            )
        self.machine = machine
        self.patterns = tuple(patterns)
        self.weights = tuple(weights)
        self.settings = settings
        self.searcher = Searcher(machine)
        self.unit = UNITS[settings.objective]
        self._known: dict[tuple[int, ...], float] = {}

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Of the machine's units in ns, without the rounding of sums: a proof wants whole multiples."""
        return np.round(_core.machine_distances(self.machine), 6)

    def allowed(self, units: Sequence[int]) -> list[int]:
        """A placement, brought within the limits where they forbid it."""
        limits = self.settings.limits
        return list(units) if limits is None else list(limits.repaired(list(units)))

    def in_order(self) -> list[int]:
        """Rank order: the lowest units that the limits leave to each rank."""
        limits = self.settings.limits
        if limits is not None:
            return list(limits.in_order())
        return list(self.machine.identity_placement(self.patterns[0].ranks))

    def alone(self, index: int) -> Costs:
        """The same for one of the patterns, unweighted."""
        settings = replace(self.settings, certify=False, leaders=0)
        return Costs(self.machine, [self.patterns[index]], [1.0], settings)

    def weighted(self, values: Sequence[float]) -> float:
        """Sum over the patterns."""
        return float(sum(weight * value for weight, value in zip(self.weights, values, strict=True)))

    def of(self, unit_of_rank: Sequence[int]) -> float:
        """Cost of one placement."""
        return self.of_all([unit_of_rank])[0]

    def of_all(self, placements: Sequence[Sequence[int]]) -> list[float]:
        """Costs of several placements."""
        keys = [tuple(int(unit) for unit in units) for units in placements]
        fresh = [key for key in dict.fromkeys(keys) if key not in self._known]
        self._known |= dict(zip(fresh, self._evaluate(fresh), strict=True))
        return [self._known[key] for key in keys]

    def _evaluate(self, placements: Sequence[tuple[int, ...]]) -> list[float]:
        objective = self.settings.objective
        if not placements:
            return []
        if objective in TIMES:
            table = np.array(placements, np.int32)
            times = _core.contended_times(
                self.machine, list(self.patterns), table, model=objective, weights=list(self.weights)
            )
            return [float(time) for time in times]
        if self.settings.replay is not None:
            return [self.weighted([self.settings.replay(units)]) for units in placements]
        if objective == "distance":
            return [self._distance(units) for units in placements]
        return [self._link_load(units) for units in placements]

    def _link_load(self, units: Sequence[int]) -> float:
        if self.settings.objective == "bottleneck":
            return self._bottleneck(units)
        found = [self.searcher.evaluate(pattern, list(units)) for pattern in self.patterns]
        return self.weighted([each.hop_bytes for each in found])

    def _bottleneck(self, units: Sequence[int]) -> float:
        found = [self.searcher.evaluate(pattern, list(units)) for pattern in self.patterns]
        return self.weighted([each.bottleneck_ns for each in found])

    def _distance(self, units: Sequence[int]) -> float:
        return self.weighted(
            [_core.weighted_distance(self.distances, pattern, list(units)) for pattern in self.patterns]
        )

    def worst_seen(self) -> list[int]:
        """Of all placements asked about so far the one that costs most."""
        return list(max(self._known.items(), key=lambda each: (each[1], each[0]))[0])

    def median_random(self) -> list[int]:
        """Of many random placements the one of median cost; of many ranks by time, of median bottleneck."""
        by_time = self.settings.objective in TIMES
        ranks = self.patterns[0].ranks
        replayed = self.settings.objective == REPLAY
        many = replayed or (by_time and not _core.proof_is_certain(ranks, len(self.machine.units)))
        samples = RANDOM_LOADS if many else RANDOM_TIMES if by_time else RANDOM_SAMPLES
        drawn = [
            self.allowed([int(unit) for unit in row])
            for row in self.searcher.random_placements(ranks, samples, self.settings.seed)
        ]
        costs = [self._bottleneck(units) for units in drawn] if many else self.of_all(drawn)
        order = sorted(range(samples), key=lambda at: (costs[at], drawn[at]))
        return drawn[order[samples // 2]]


def search_placements(costs: Costs, starts: Mapping[str, Sequence[int]]) -> Outcome:
    """The placement that costs least.

    Parameters
    ----------
    costs : Costs
        With the settings of the search.
    starts : name -> unit of rank r at [r]
        Placements to begin from besides the search's own.
    """
    settings = costs.settings
    if settings.certify and settings.objective != "bottleneck":
        raise InputError(
            f"certificate: found with objective {settings.objective}, allowed: objective bottleneck"
        )
    objective = settings.objective
    linear = objective in LINEAR
    try:
        found = costs.searcher.search(
            [_together(costs)] if linear else list(costs.patterns),
            weights=None if linear else list(costs.weights),
            objective=objective,
            method=settings.method,
            seed=settings.seed,
            should_stop=settings.should_stop,
            find_worst=True,
            starts=[(name, list(units)) for name, units in starts.items()],
            certify=settings.certify,
            evaluations=_most_timed(settings),
            proposals=_most_looked_at(settings, PROPOSALS),
            local_evaluations=_most_looked_at(settings, LOCAL_EVALUATIONS),
            limits=settings.limits,
            leaders=settings.leaders,
            workers=workers_of(settings),
            cost=costs.of if objective == REPLAY else None,
        )
    except InputError as error:
        raise InputError(f"method '{settings.method}' on machine '{costs.machine.name}': {error}") from None
    leaders = _leaders(costs, found, starts)
    unit_of_rank = list(found.unit_of_rank if leaders is None else leaders.best)
    return Outcome(
        unit_of_rank=unit_of_rank,
        proven_optimal=found.proven_optimal,
        method=found.method,
        statement=_said(found.statement, leaders),
        optimal=_as_good(found, unit_of_rank),
        worst=list(found.worst) if found.worst else None,
        worst_proven=found.worst_proven,
        bound=found.bound or None,
        origin=found.origin,
        certificate=found.certificate,
        simulated_ns={} if leaders is None else leaders.simulated_ns,
        leaders=[list(units) for units in (*found.leaders, *found.optimal)][: settings.leaders],
    )


def _as_good(found: _core.SearchResult, unit_of_rank: list[int]) -> list[list[int]]:
    """Optimal placements, where they are known and the one that was chosen is among them."""
    chosen = unit_of_rank == list(found.unit_of_rank)
    return [list(units) for units in found.optimal] if chosen and found.optimal else [unit_of_rank]


def _leaders(costs: Costs, found: _core.SearchResult, starts: Mapping[str, Sequence[int]]) -> Leaders | None:
    """Where packets are to decide: the best by flow, rank order, the other leaders, the named placements."""
    if not costs.settings.leaders or costs.settings.objective != "flow" or found.proven_optimal:
        return None
    named = [costs.allowed(units) for units in starts.values()]
    candidates = [list(found.unit_of_rank), costs.in_order(), *map(list, found.leaders), *named]
    return quickest(costs.machine, costs.patterns, costs.weights, candidates)


def _said(statement: str, leaders: Leaders | None) -> str:
    if leaders is None:
        return statement
    gain = f" ({leaders.gain:.1%} quicker than the best by flow)" if leaders.gain > 0 else ""
    return f"{statement}; of {len(leaders.simulated_ns)} leaders the quickest packet by packet{gain}"


def _most_timed(settings: Settings) -> int:
    if settings.objective == REPLAY:
        return settings.evaluations or MOST_TIMED[REPLAY]
    return (
        MOST_TIMED.get(settings.objective, MOST_ENUMERATED) if settings.method == "auto" else MOST_ENUMERATED
    )


def _most_looked_at(settings: Settings, usual: int) -> int:
    """Nothing bounds what a clock ends."""
    if settings.evaluations is not None:
        return settings.evaluations
    return usual if settings.should_stop is None else ENDLESS


def workers_of(settings: Settings) -> int:
    """A number of placements gives the same answer on every host, a clock does not anyway."""
    if settings.workers is not None:
        return settings.workers
    by_clock = settings.should_stop is not None and settings.evaluations is None
    return min(MOST_WORKERS, granted_cores()) if by_clock else 1


def _together(costs: Costs) -> Pattern:
    """The weighted sum of the patterns, for objectives that are linear in bytes."""
    if len(costs.patterns) == 1:
        return costs.patterns[0]
    if any(weight != int(weight) for weight in costs.weights):
        objective = costs.settings.objective
        raise InputError(
            f"field 'weight': found a fraction with objective {objective}, allowed: whole numbers"
        )
    matrices = [pattern.matrix() for pattern in costs.patterns]
    total = sum(int(weight) * matrix for weight, matrix in zip(costs.weights, matrices, strict=True))
    return Pattern.from_dense("together", np.asarray(total, np.uint64))
