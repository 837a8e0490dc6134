"""What placements do to the time of a pattern or a program: paper 002's study in general form.

Owns which placements are looked at, and what their times say: who is best and worst, where identity stands,
how likely a random placement is near the best, and how well runs agree with each other and with models. A
placement's time is the median of its runs. Measures nothing: `corewise.trials.exploration` does.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, Pattern, Searcher, contended_times
from corewise.analysis.placement.route_features import MOST_UNITS, Placements
from corewise.analysis.placement.statistical_model import LEAST_PLACEMENTS, Fit, fit_model, rank_correlation
from corewise.errors import bad_field

Array = NDArray[np.float64]

IDENTITY = "identity"
NEAR = 0.1
"""A placement is near the best where it takes at most so much longer."""
MOST_PLACEMENTS = 100_000
"""That are all looked at."""
CONFIDENCE = 0.95
ERROR_RATE = 0.01
"""How often a difference between placements may be claimed where there is none."""
_LEAST_RUNS = 3  # of a test whether placements differ at all
_LEAST_EVALUATIONS, _MOST_EVALUATIONS = 200, 2000
_SEARCHED_MESSAGES = 200_000  # of all placements that a search by flow times, about


@dataclass(frozen=True)
class Plan:
    """Placements to time.

    Attributes
    ----------
    placements : ndarray of int32, shape (rows, ranks)
        First the population, then named ones that it does not hold.
    population : int
        How many of them: all placements, or a sample in which each is equally likely.
    complete : bool
        Whether the population is all there are.
    total : int
        How many there are.
    named : dict of str to int
        Row of each named placement.
    """

    placements: Placements
    population: int
    complete: bool
    total: int
    named: dict[str, int]


def plan_placements(
    machine: Machine,
    ranks: int,
    samples: int,
    everything: bool,
    named: Mapping[str, Sequence[int]],
    seed: int,
) -> Plan:
    """Chooses the placements: all where they are few or all are wanted, else a sample without repeats.

    Parameters
    ----------
    machine : Machine
    ranks : int
    samples : int
        Size of a sample, up to `MOST_PLACEMENTS`.
    everything : bool
        All placements however many, up to `MOST_PLACEMENTS`.
    named : mapping of str to sequence of int
        Further placements to look at.
    seed : int
        Of the sample.
    """
    units = len(machine.units)
    if ranks > units:
        raise bad_field("", "ranks", ranks, f"at most {units}, the units of '{machine.name}'")
    total = math.perm(units, ranks)
    if everything and total > MOST_PLACEMENTS:
        raise bad_field(
            "", "--all", f"{total} placements", f"at most {MOST_PLACEMENTS}; --samples takes some"
        )
    complete = everything or total <= samples
    if not complete and samples > MOST_PLACEMENTS:
        raise bad_field("", "--samples", samples, f"at most {MOST_PLACEMENTS}")
    if complete:
        table = np.array(list(itertools.permutations(range(units), ranks)), dtype=np.int32)
    else:
        table = _sample(units, ranks, samples, total, seed)
    row_of = {tuple(map(int, row)): at for at, row in enumerate(table)}
    rows: dict[str, int] = {}
    more: list[tuple[int, ...]] = []
    for name, unit_of_rank in named.items():
        key = tuple(map(int, unit_of_rank))
        if key not in row_of:
            row_of[key] = len(table) + len(more)
            more.append(key)
        rows[name] = row_of[key]
    together = np.concatenate([table, np.array(more, dtype=np.int32)]) if more else table
    return Plan(together, len(table), complete, total, rows)


def _sample(units: int, ranks: int, samples: int, total: int, seed: int) -> Placements:
    rng = np.random.default_rng([seed, units, ranks])
    if total <= MOST_PLACEMENTS:
        every = np.array(list(itertools.permutations(range(units), ranks)), dtype=np.int32)
        return every[np.sort(rng.choice(total, samples, replace=False))]
    seen: dict[tuple[int, ...], None] = {}
    while len(seen) < samples:
        seen[tuple(map(int, rng.permutation(units)[:ranks]))] = None
    return np.array(list(seen), dtype=np.int32)


# ---- what the models say ---------------------------------------------------------------------------------


def named_by_models(machine: Machine, patterns: Sequence[Pattern], seed: int) -> dict[str, list[int]]:
    """The best placements by link load and by flow: predictions to hold against times."""
    searcher = Searcher(machine)
    bottleneck = searcher.search(list(patterns), seed=seed)
    messages = sum(len(phase.coordinates()[0]) for pattern in patterns for phase in pattern.phases)
    evaluations = _SEARCHED_MESSAGES // max(1, messages)
    evaluations = min(max(evaluations, _LEAST_EVALUATIONS), _MOST_EVALUATIONS)
    flow = searcher.search(list(patterns), objective="flow", seed=seed, evaluations=evaluations)
    return {"best by bottleneck": bottleneck.unit_of_rank, "best by flow": flow.unit_of_rank}


def model_times(
    machine: Machine, patterns: Sequence[Pattern], placements: Placements, repetitions: int
) -> dict[str, Array]:
    """What bottleneck, hop-bytes and flow say about every placement (ns, bytes, ns), shape (rows,) each."""
    searcher = Searcher(machine)
    bottleneck, hop_bytes = np.zeros(len(placements)), np.zeros(len(placements))
    for at, row in enumerate(placements):
        units = [int(unit) for unit in row]
        for pattern in patterns:
            cost = searcher.evaluate(pattern, units)
            bottleneck[at] += cost.bottleneck_ns
            hop_bytes[at] += cost.hop_bytes
    flow = contended_times(machine, list(patterns), placements, "flow", repetitions=repetitions)
    return {"bottleneck": bottleneck, "hop-bytes": hop_bytes, "flow": flow}


def least_runs(placements: int) -> int:
    """Runs of each below which the test of `Exploration.chance` cannot find a difference, however large.

    Then all runs of each placement lie above all of the one before it: no ranks differ more.
    """
    # Loading it takes a second, which every other command would wait for.
    from scipy import stats

    runs = _LEAST_RUNS
    while placements > 1:
        count = runs * placements
        middles = runs * (np.arange(placements) + 0.5) + 0.5
        largest = 12 / (count * (count + 1)) * runs * float((middles**2).sum()) - 3 * (count + 1)
        if stats.chi2.sf(largest, placements - 1) < ERROR_RATE:
            break
        runs += 1
    return runs


# ---- what the times say ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """Where one placement stands.

    Attributes
    ----------
    name : str
    row : int or None
        Of the plan; None for what is no placement (the median, the unpinned runs).
    time_ns, least_ns, most_ns : float
        Median, least and largest over the runs.
    rank : int
        1 and how many of the population are faster.
    factor : float or None
        Over the best time seen; None where that is nothing.
    """

    name: str
    row: int | None
    time_ns: float
    least_ns: float
    most_ns: float
    rank: int
    factor: float | None


@dataclass(frozen=True)
class Agreement:
    """Rank correlation of two series, the mean and least where there are several pairs; None: undefined."""

    what: str
    spearman: float | None
    kendall: float | None
    least_spearman: float | None
    pairs: int


@dataclass(frozen=True)
class Near:
    """Share of placements near the best, bounded with `CONFIDENCE`; the bounds meet where all are known."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Exploration:
    """Times of placements over several runs.

    Attributes
    ----------
    machine : Machine
    title : str
        The pattern or program.
    ranks : int
    source : str
        ``simulated``, ``flow``, ``replay`` or ``host``.
    plan : Plan
    times_ns : ndarray of float64, shape (runs, rows)
    unpinned_ns : ndarray of float64, shape (runs,)
        Of runs that nothing pinned.
    models : dict of str to ndarray of float64, shape (rows,)
        Empty where no pattern is known.
    fitted : Fit or None
    not_fitted : str
        Why there is none.
    notes : tuple of str
    """

    machine: Machine
    title: str
    ranks: int
    source: str
    plan: Plan
    times_ns: Array
    unpinned_ns: Array
    models: dict[str, Array] = field(default_factory=dict)
    fitted: Fit | None = None
    not_fitted: str = ""
    notes: tuple[str, ...] = ()

    def with_words(self, title: str, notes: tuple[str, ...]) -> Exploration:
        """The same with its title and notes."""
        return replace(self, title=title, notes=notes)

    @property
    def runs(self) -> int:
        """Runs of each placement."""
        return len(self.times_ns)

    @property
    def time_ns(self) -> Array:
        """Median over the runs, shape (rows,)."""
        middle: Array = np.median(self.times_ns, axis=0)
        return middle

    @property
    def population_ns(self) -> Array:
        """The same for the population, shape (population,)."""
        return self.time_ns[: self.plan.population]

    @property
    def order(self) -> NDArray[np.int64]:
        """Rows of the population, fastest first."""
        return np.argsort(self.population_ns, kind="stable").astype(np.int64)

    @property
    def best_row(self) -> int:
        """The fastest row, named ones included."""
        return int(np.argmin(self.time_ns))

    def standing(self, name: str, row: int) -> Standing:
        """Where a row of the plan stands."""
        runs = self.times_ns[:, row]
        return self._standing(name, row, float(self.time_ns[row]), float(runs.min()), float(runs.max()))

    def _standing(self, name: str, row: int | None, time: float, least: float, most: float) -> Standing:
        faster = int((self.population_ns < time).sum())
        return Standing(name, row, time, least, most, 1 + faster, over(time, float(self.time_ns.min())))

    def standings(self) -> list[Standing]:
        """Best, the named ones, median, worst and unpinned; fastest first."""
        population, order = self.population_ns, self.order
        found = [self.standing("best seen" if not self.plan.complete else "best", self.best_row)]
        found += [self.standing(name, row) for name, row in self.plan.named.items()]
        middle = float(np.median(population))
        per_run = np.median(self.times_ns[:, : self.plan.population], axis=1)
        found.append(
            self._standing("median placement", None, middle, float(per_run.min()), float(per_run.max()))
        )
        found.append(self.standing("worst seen" if not self.plan.complete else "worst", int(order[-1])))
        if len(self.unpinned_ns):
            runs = self.unpinned_ns
            found.append(
                self._standing("unpinned", None, float(np.median(runs)), float(runs.min()), float(runs.max()))
            )
        return sorted(found, key=lambda each: each.time_ns)

    @property
    def ratio(self) -> float | None:
        """Worst over best of the population; None where the best takes no time."""
        return over(float(self.population_ns.max()), float(self.population_ns.min()))

    @property
    def run_ratio(self) -> float | None:
        """The same within a run, the largest of the runs."""
        each = self.times_ns[:, : self.plan.population]
        ratios = [over(float(run.max()), float(run.min())) for run in each]
        known = [ratio for ratio in ratios if ratio is not None]
        return max(known) if len(known) == len(ratios) else None

    @property
    def run_spread(self) -> float:
        """Largest minus least time of a placement's runs, over its median; the median placement's."""
        each = self.times_ns[:, : self.plan.population]
        middle = np.median(each, axis=0)
        spread = np.divide(np.ptp(each, axis=0), middle, out=np.zeros_like(middle), where=middle > 0)
        return float(np.median(spread))

    @property
    def chance(self) -> float | None:
        """How likely times differ so much where all placements are equal (Kruskal and Wallis, 1952).

        None of fewer than 3 runs, or where nothing differs.
        """
        each = self.times_ns[:, : self.plan.population]
        if self.runs < _LEAST_RUNS or self.plan.population < 2 or np.ptp(each) == 0:
            return None
        # Loading it takes a second, which every other command would wait for.
        from scipy import stats

        return float(stats.kruskal(*each.T).pvalue)

    def near(self) -> Near:
        """How likely a random placement is within `NEAR` of the best seen."""
        count, best = self.plan.population, float(self.time_ns.min())
        hits = int((self.population_ns <= (1 + NEAR) * best).sum())
        share = hits / count
        if self.plan.complete:
            return Near(share, share, share)
        low, high = clopper_pearson(hits, count)
        return Near(share, low, high)

    def agreements(self) -> list[Agreement]:
        """Runs with each other, each model with the median of the runs; the fitted one on unseen."""
        each = self.times_ns[:, : self.plan.population]
        pairs = [rank_correlation(each[a], each[b]) for a, b in itertools.combinations(range(self.runs), 2)]
        found = [_between_runs(pairs)] if pairs else []
        for name, says in self.models.items():
            spearman, kendall = rank_correlation(says[: self.plan.population], self.population_ns)
            found.append(Agreement(name, spearman, kendall, None, 1))
        if self.fitted is not None:
            error = self.fitted.errors[0]
            found.append(Agreement("fitted, on unseen", error.spearman, error.kendall, None, 1))
        return found


def over(time_ns: float, least_ns: float) -> float | None:
    """A time over the least one; None where the least is nothing and the time is not."""
    if least_ns > 0:
        return time_ns / least_ns
    return 1.0 if time_ns == 0 else None


def _between_runs(pairs: list[tuple[float | None, float | None]]) -> Agreement:
    rhos = [rho for rho, _ in pairs if rho is not None]
    taus = [tau for _, tau in pairs if tau is not None]
    if not rhos:
        return Agreement("between runs", None, None, None, len(pairs))
    return Agreement("between runs", sum(rhos) / len(rhos), sum(taus) / len(taus), min(rhos), len(pairs))


def clopper_pearson(hits: int, count: int) -> tuple[float, float]:
    """Bounds of a share that `hits` of `count` draws showed, exact for the binomial distribution (1934)."""
    # Loading it takes a second, which every other command would wait for.
    from scipy import stats

    tail = (1 - CONFIDENCE) / 2
    low = 0.0 if hits == 0 else float(stats.beta.ppf(tail, hits, count - hits + 1))
    high = 1.0 if hits == count else float(stats.beta.ppf(1 - tail, hits + 1, count - hits))
    return low, high


def explored(
    machine: Machine,
    patterns: Sequence[Pattern],
    plan: Plan,
    times_ns: Array,
    unpinned_ns: Array,
    *,
    repetitions: int,
    source: str,
    seed: int,
) -> Exploration:
    """Puts times beside what the models say, and fits the statistical one.

    Parameters
    ----------
    machine : Machine
    patterns : sequence of Pattern
        None where the pattern of a program is not known.
    plan : Plan
    times_ns : ndarray of float64, shape (runs, rows)
    unpinned_ns : ndarray of float64, shape (runs,)
    repetitions : int
        Of every pattern in a run.
    source : str
        Of the times; see `Exploration`.
    seed : int
        Decides which placements the fit does not see.
    """
    models: dict[str, Array] = {}
    fitted: Fit | None = None
    why = "no pattern is known; record the program with corewise run and explore the profile"
    if patterns:
        models = model_times(machine, patterns, plan.placements, repetitions)
        fitted, why = _fitted(machine, patterns, plan, times_ns, models, seed)
    ranks = plan.placements.shape[1]
    return Exploration(machine, "", ranks, source, plan, times_ns, unpinned_ns, models, fitted, why)


def _fitted(
    machine: Machine,
    patterns: Sequence[Pattern],
    plan: Plan,
    times_ns: Array,
    models: Mapping[str, Array],
    seed: int,
) -> tuple[Fit | None, str]:
    """A model fitted on the population, or why there is none."""
    count = plan.population
    middle = np.median(times_ns, axis=0)[:count]
    if count < LEAST_PLACEMENTS:
        found = "1 placement is" if count == 1 else f"{count} placements are"
        return None, f"{found} too few to fit a model: it takes {LEAST_PLACEMENTS} or more"
    if len(machine.units) > MOST_UNITS:
        return None, f"a model is fitted on machines of at most {MOST_UNITS} units"
    if not (middle > 0).all():
        return None, "some placements take no time: there is nothing to fit"
    if np.ptp(middle) == 0:
        return None, "all placements take the same time: there is nothing to fit"
    beside = {name: says[:count] for name, says in models.items()}
    return fit_model(machine, patterns, plan.placements[:count], middle, beside, seed), ""
