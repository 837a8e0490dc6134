"""The statistical, platform-specific model that paper 002 asks for: the time of a placement from its routes.

A ridge regression of the logarithm of the time on the features of `statistical_features`. Which groups of
features and how much regularisation is chosen by cross-validation on the placements it is fitted on; its
error is reported on others that it has not seen, beside models that know the machine only by its links,
each brought to the same scale by a straight line on the same placements. Deterministic. Prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, Pattern
from corewise.errors import bad_field
from corewise.trials.statistical.features import Placements, RouteFeatures

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

LEAST_PLACEMENTS = 40
"""To fit a model and to say how wrong it is."""
UNSEEN = 0.25
"""Share of the placements that the model is not fitted on."""
FOLDS = 5
STRENGTHS = (0.1, 1.0, 10.0, 100.0, 1000.0)
"""Of the regularisation, to choose from."""
FITTED = "fitted"


@dataclass(frozen=True)
class UnseenError:
    """How far a model is off on placements that nothing was fitted on.

    Attributes
    ----------
    model : str
    median, p90 : float
        Of the relative errors without sign.
    spearman, kendall : float or None
        Rank correlation of prediction and time; None where either is the same everywhere.
    n : int
        Placements.
    """

    model: str
    median: float
    p90: float
    spearman: float | None
    kendall: float | None
    n: int

    def row(self) -> dict[str, object]:
        """As a JSON row."""
        return asdict(self)


@dataclass(frozen=True)
class StatisticalModel:
    """A fitted model.

    Attributes
    ----------
    machine : str
    units, links : int
        Of the machine.
    patterns : tuple of str
        Names of the patterns it was fitted on.
    ranks : int
    source : str
        ``simulated``, ``flow`` or ``host``: where the times came from.
    names : tuple of str
        Features used.
    mean, scale, weight : tuple of float
        Per feature: a feature counts as (value - mean) / scale * weight.
    intercept : float
        Logarithm of the time in ns where all features are at their mean.
    strength : float
        Of the regularisation.
    groups : tuple of str
    fitted_on : int
        Placements.
    errors : tuple of UnseenError
        Of this model and of those beside it.
    """

    machine: str
    units: int
    links: int
    patterns: tuple[str, ...]
    ranks: int
    source: str
    names: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weight: tuple[float, ...]
    intercept: float
    strength: float
    groups: tuple[str, ...]
    fitted_on: int
    errors: tuple[UnseenError, ...]

    def predict_ns(self, features: RouteFeatures, placements: Placements) -> Array:
        """Predicted times in ns, shape (n,).

        Parameters
        ----------
        features : RouteFeatures
            Of the machine the model was fitted on (`check_fits`).
        placements : ndarray of int32, shape (n, ranks)
        """
        column = {name: at for at, name in enumerate(features.names)}
        values = features.of(placements)[:, [column[name] for name in self.names]]
        scaled = (values - np.array(self.mean)) / np.array(self.scale)
        predicted: Array = np.exp(self.intercept + scaled @ np.array(self.weight))
        return predicted

    def check_fits(self, machine: Machine, features: RouteFeatures, source: str) -> None:
        """Refuses another machine than the model's, and a file whose features this corewise does not know."""
        if (machine.name, len(machine.units), len(machine.links)) != (self.machine, self.units, self.links):
            raise bad_field(
                source,
                "machine",
                f"'{self.machine}' ({self.units} units, {self.links} links)",
                f"'{machine.name}' ({len(machine.units)} units, {len(machine.links)} links): "
                "a model is of one machine",
            )
        unknown = [name for name in self.names if name not in set(features.names)]
        if unknown:
            raise bad_field(source, "names", f"'{unknown[0]}'", "the features of this machine")


@dataclass(frozen=True)
class _Fit:
    columns: Indices
    mean: Array
    scale: Array
    weight: Array
    intercept: float

    def logarithm(self, values: Array) -> Array:
        found: Array = self.intercept + ((values[:, self.columns] - self.mean) / self.scale) @ self.weight
        return found


def fit_model(
    machine: Machine,
    patterns: Sequence[Pattern],
    placements: Placements,
    times_ns: Array,
    beside: Mapping[str, Array],
    source: str,
    seed: int = 1,
) -> StatisticalModel:
    """Fits a model and says how wrong it is on placements that it has not seen.

    Parameters
    ----------
    machine : Machine
    patterns : sequence of Pattern
    placements : ndarray of int32, shape (n, ranks)
        Drawn at random, or all there are; at least `LEAST_PLACEMENTS`.
    times_ns : ndarray of float64, shape (n,)
        More than zero.
    beside : mapping of str to ndarray of float64, shape (n,)
        What other models say about each placement.
    source : str
        Where the times came from.
    seed : int
        Decides which placements stay unseen.
    """
    if len(placements) < LEAST_PLACEMENTS:
        raise bad_field("", "placements", len(placements), f"{LEAST_PLACEMENTS} or more, to fit a model")
    if not (times_ns > 0).all():
        raise bad_field(patterns[0].name, "time", "0 ns", "messages that take time")
    features = RouteFeatures(machine, patterns)
    values, wanted = features.of(placements), np.log(times_ns)
    order = np.random.default_rng(seed).permutation(len(placements))
    unseen, seen = np.split(order, [round(UNSEEN * len(order))])
    groups, strength = _chosen(features, values[seen], wanted[seen])
    fit = _fitted(values[seen], wanted[seen], _columns(features, groups), strength)
    errors = [error_on(FITTED, np.exp(fit.logarithm(values[unseen])), times_ns[unseen])]
    for name, says in beside.items():
        errors.append(error_on(name, _line(says, times_ns, seen)[unseen], times_ns[unseen]))
    return StatisticalModel(
        machine=machine.name,
        units=len(machine.units),
        links=len(machine.links),
        patterns=tuple(pattern.name for pattern in patterns),
        ranks=patterns[0].ranks,
        source=source,
        names=tuple(features.names[at] for at in fit.columns),
        mean=tuple(map(float, fit.mean)),
        scale=tuple(map(float, fit.scale)),
        weight=tuple(map(float, fit.weight)),
        intercept=float(fit.intercept),
        strength=strength,
        groups=groups,
        fitted_on=len(seen),
        errors=tuple(errors),
    )


def error_on(model: str, predicted: Array, measured: Array) -> UnseenError:
    """Relative errors and rank correlation of predictions, both shape (n,), n at least 1."""
    error = np.abs(predicted / measured - 1)
    spearman, kendall = rank_correlation(predicted, measured)
    return UnseenError(
        model, float(np.median(error)), float(np.quantile(error, 0.9)), spearman, kendall, len(measured)
    )


def rank_correlation(one: Array, other: Array) -> tuple[float | None, float | None]:
    """Spearman's rho and Kendall's tau-b; None where either side is the same everywhere."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None, None
    # Loading it takes a second, which every other command would wait for.
    from scipy import stats

    return float(stats.spearmanr(one, other).statistic), float(stats.kendalltau(one, other).statistic)


def _line(says: Array, times_ns: Array, seen: Indices) -> Array:
    """What a model says, as times: by the best straight line on the seen placements."""
    if np.ptp(says[seen]) == 0:
        return np.full(len(says), times_ns[seen].mean())
    slope, start = np.polyfit(says[seen] / says[seen].max(), times_ns[seen], 1)
    found: Array = start + slope * says / says[seen].max()
    return found


def _columns(features: RouteFeatures, groups: Sequence[str]) -> Indices:
    return np.array([at for group in groups for at in features.groups[group]], dtype=np.int64)


def _fitted(values: Array, wanted: Array, columns: Indices, strength: float) -> _Fit:
    """Ridge regression on scaled features; those that never change are left out."""
    chosen = values[:, columns]
    size = np.maximum(np.abs(chosen).max(axis=0, initial=0), 1e-300)
    columns = columns[chosen.std(axis=0) > 1e-9 * size]
    mean, scale = values[:, columns].mean(axis=0), values[:, columns].std(axis=0)
    scaled = (values[:, columns] - mean) / scale
    intercept = float(wanted.mean())
    regular = scaled.T @ scaled + strength * np.eye(len(columns))
    weight = np.linalg.solve(regular, scaled.T @ (wanted - intercept))
    return _Fit(columns, mean, scale, weight, intercept)


def _chosen(features: RouteFeatures, values: Array, wanted: Array) -> tuple[tuple[str, ...], float]:
    """Groups and strength with the least squared error over the folds; the simpler one of equals."""
    names = tuple(features.groups)
    choices = [(names[: upto + 1], strength) for upto in range(len(names)) for strength in STRENGTHS[::-1]]
    fold = np.arange(len(values)) % FOLDS
    squares = []
    for groups, strength in choices:
        columns = _columns(features, groups)
        total = 0.0
        for left_out in range(FOLDS):
            fit = _fitted(values[fold != left_out], wanted[fold != left_out], columns, strength)
            missed = fit.logarithm(values[fold == left_out]) - wanted[fold == left_out]
            total += float((missed**2).sum())
        squares.append(total)
    return choices[int(np.argmin(squares))]
