"""The statistical, platform-specific model that paper 002 asks for: the time of a placement from its routes.

A ridge regression of the logarithm of the time on `RouteFeatures`. Which groups of features and how much
regularisation is chosen by cross-validation on the placements it is fitted on. Its error is reported on
others that it has not seen, beside models that know the machine only by its links; each of those is brought
to the same scale by a straight line on the same placements. Deterministic.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, Pattern
from corewise.analysis.placement.route_features import Placements, RouteFeatures
from corewise.errors import bad_field

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
class Fit:
    """What a fit came to.

    Attributes
    ----------
    strength : float
        Of the regularisation.
    groups : tuple of str
        Of features (`RouteFeatures.groups`).
    fitted_on : int
        Placements.
    errors : tuple of UnseenError
        Of the fitted model, then of those beside it.
    """

    strength: float
    groups: tuple[str, ...]
    fitted_on: int
    errors: tuple[UnseenError, ...]


@dataclass(frozen=True)
class _Weights:
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
    seed: int = 1,
) -> Fit:
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
    return Fit(strength, groups, len(seen), tuple(errors))


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


def _fitted(values: Array, wanted: Array, columns: Indices, strength: float) -> _Weights:
    """Ridge regression on scaled features; those that never change are left out."""
    chosen = values[:, columns]
    size = np.maximum(np.abs(chosen).max(axis=0, initial=0), 1e-300)
    columns = columns[chosen.std(axis=0) > 1e-9 * size]
    mean, scale = values[:, columns].mean(axis=0), values[:, columns].std(axis=0)
    scaled = (values[:, columns] - mean) / scale
    intercept = float(wanted.mean())
    regular = scaled.T @ scaled + strength * np.eye(len(columns))
    weight = np.linalg.solve(regular, scaled.T @ (wanted - intercept))
    return _Weights(columns, mean, scale, weight, intercept)


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
