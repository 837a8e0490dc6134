"""Prediction against measurement: what placements took in interleaved rounds, held against a model.

Every round runs every placement once, so a placement and the default of one round met the same minute of the
machine: the statistics are paired. Per placement the gain is the Hodges-Lehmann estimate of the rounds' log
ratios; its interval inverts Wilcoxon's signed-rank test exactly (no normal approximation, no assumption but
that a ratio is as likely over as under its middle). `CONFIDENCE` holds for all placements of a study
together: the error rate is shared out among them (Bonferroni). An interval that holds 1 is "no significant
difference"; where there are too few rounds for the confidence asked, the interval is open and nothing is
claimed.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

DEFAULT = "default"
"""What runs without being placed: the launcher's own binding; on a simulated machine rank order or the
system's."""
CONFIDENCE = 0.95
NOTHING = "no significant difference between the placements"
_EPSILON = 1e-12
"""Ratios this close are equal."""


@dataclass(frozen=True)
class Verified:
    """One placement: predicted beside measured.

    Attributes
    ----------
    which : str
        ``default``, ``best``, ``next 1``, ... or ``random``, several joined by `` = `` where they are one
        placement.
    unit_of_rank : tuple of int or None
        None where ranks are not placed (the launcher decides), or differently in every round.
    predicted_ns : float or None
        By the model; None where the placement is not known.
    median, spread : float
        Of the measured times and between their quartiles, in `unit`.
    gain, low, high : float
        How many times faster than the default, and its interval; infinite ends are open. 1 of the default.
    faster : bool or None
        True or False where the interval excludes 1, None where it does not: no significant difference.
    predicted_ratio, measured_ratio : float or None
        Time over the best's, by the model and measured (Hodges-Lehmann).
    model_error : float or None
        Predicted over measured ratio, less 1: over zero where the model promises more than there is.
    rounds : int
    """

    which: str
    unit_of_rank: tuple[int, ...] | None
    predicted_ns: float | None
    median: float
    spread: float
    gain: float
    low: float
    high: float
    faster: bool | None
    predicted_ratio: float | None
    measured_ratio: float | None
    model_error: float | None
    rounds: int

    def row(self) -> dict[str, object]:
        """As a JSON row; an open end of the interval is null."""
        ends = {
            "low": self.low if self.low > 0 else None,
            "high": self.high if math.isfinite(self.high) else None,
        }
        return {"id": f"verify-{self.which}", **asdict(self), **ends}


@dataclass(frozen=True)
class Verification:
    """Everything that `corewise place --verify` shows.

    Attributes
    ----------
    rows : tuple of Verified
        The default first, then the best.
    unit : str
        Of the times: ``s`` on the host, ``us`` where simulated.
    how : str
        What was timed, in a few words.
    confidence : float
        Of all intervals together.
    model_error : float or None
        Mean absolute error of the predicted ratios; None where there is nothing to compare.
    rank_correlation : float or None
        Spearman's, of predicted and measured times; None of fewer than three different predictions.
    statement : str
        One sentence.
    """

    rows: tuple[Verified, ...]
    unit: str
    how: str
    confidence: float
    model_error: float | None
    rank_correlation: float | None
    statement: str


@cache
def _signed_rank_counts(pairs: int) -> tuple[int, ...]:
    """How many of the 2**pairs sign patterns give each rank sum."""
    counts = [1]
    for rank in range(1, pairs + 1):
        longer = counts + [0] * rank
        for at, count in enumerate(counts):
            longer[at + rank] += count
        counts = longer
    return tuple(counts)


def signed_rank_interval(values: Sequence[float], confidence: float) -> tuple[float, float, float]:
    """Hodges-Lehmann estimate of the middle and its exact interval.

    Parameters
    ----------
    values : sequence of float
        Differences of pairs, independent, each symmetric about one middle.
    confidence : float
        At least this is covered; with too few values the interval is infinite.

    Returns
    -------
    tuple of float
        Estimate, lower end, upper end.
    """
    samples = np.asarray(values, float)
    pairs = len(samples)
    first, second = np.triu_indices(pairs)
    walsh: NDArray[np.float64] = np.sort((samples[first] + samples[second]) / 2)
    middle = float(np.median(walsh))
    # The largest k with P(rank sum <= k) within half the error: so many averages may be left out at either
    # end.
    allowed = (1 - confidence) / 2 * 2**pairs
    outside, below = 0, 0
    for count in _signed_rank_counts(pairs):
        below += count
        if below > allowed:
            break
        outside += 1
    if outside == 0:
        return middle, -math.inf, math.inf
    return middle, float(walsh[outside - 1]), float(walsh[-outside])


def least_rounds(others: int, confidence: float = CONFIDENCE) -> int:
    """Rounds below which no difference could be significant among so many placements beside the default."""
    return math.ceil(math.log2(2 * max(1, others) / (1 - confidence)))


def too_few_rounds(rounds: int, placements: int, confidence: float = CONFIDENCE) -> str | None:
    """Says that rounds cannot tell placements apart, the default among them; None where they can."""
    needed = least_rounds(placements - 1, confidence)
    if rounds >= needed:
        return None
    return f"{rounds} rounds cannot tell {placements} placements apart, allowed: {needed} or more"


def verify(
    times: Mapping[str, Sequence[float]],
    predicted_ns: Mapping[str, float],
    placements: Mapping[str, Sequence[int]],
    unit: str,
    how: str,
    confidence: float = CONFIDENCE,
) -> Verification:
    """Judges what was measured.

    Parameters
    ----------
    times : name -> times
        One per round, all of equal length; `DEFAULT` and the best (the second name) among them.
    predicted_ns : name -> float
        The model's time, of the placements that are known.
    placements : name -> unit of rank r at [r]
        Of the placements that are known.
    unit, how : str
        See `Verification`.
    confidence : float
        Of all intervals together.
    """
    names = list(times)
    best = names[1] if len(names) > 1 else names[0]
    each = 1 - (1 - confidence) / max(1, len(names) - 1)
    rows = tuple(
        _row(name, times, best, predicted_ns.get(name), predicted_ns.get(best), placements.get(name), each)
        for name in names
    )
    errors = [abs(row.model_error) for row in rows if row.model_error is not None and row.which != best]
    return Verification(
        rows=rows,
        unit=unit,
        how=how,
        confidence=confidence,
        model_error=statistics.fmean(errors) if errors else None,
        rank_correlation=_correlation(rows),
        statement=_statement(rows, len(times[names[0]]), confidence),
    )


def _row(
    name: str,
    times: Mapping[str, Sequence[float]],
    best: str,
    predicted: float | None,
    predicted_best: float | None,
    units: Sequence[int] | None,
    confidence: float,
) -> Verified:
    own = np.asarray(times[name], float)
    gain, low, high = 1.0, 1.0, 1.0
    if name != DEFAULT:
        logs = np.log(np.asarray(times[DEFAULT], float) / own).tolist()
        gain, low, high = (math.exp(value) for value in signed_rank_interval(logs, confidence))
    beside_best = np.log(own / np.asarray(times[best], float)).tolist()
    measured = math.exp(signed_rank_interval(beside_best, confidence)[0])
    ratio = predicted / predicted_best if predicted is not None and predicted_best else None
    quarters = statistics.quantiles(own.tolist(), n=4, method="inclusive") if len(own) > 1 else [own[0]] * 3
    return Verified(
        which=name,
        unit_of_rank=tuple(units) if units is not None else None,
        predicted_ns=predicted,
        median=float(np.median(own)),
        spread=float(quarters[2] - quarters[0]),
        gain=gain,
        low=low,
        high=high,
        faster=_faster(low, high),
        predicted_ratio=ratio,
        measured_ratio=measured,
        model_error=ratio / measured - 1 if ratio is not None else None,
        rounds=len(own),
    )


def _faster(low: float, high: float) -> bool | None:
    if low > 1 + _EPSILON:
        return True
    return False if high < 1 - _EPSILON else None


def _correlation(rows: Sequence[Verified]) -> float | None:
    known = [(row.predicted_ns, row.median) for row in rows if row.predicted_ns is not None]
    if len({round(predicted, 9) for predicted, _ in known}) < 3:
        return None
    ranks = [tied_ranks([pair[column] for pair in known]) for column in (0, 1)]
    if len(set(ranks[1])) == 1:
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def tied_ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1, equals share the mean of theirs."""
    ordered = sorted(values)
    return [(2 * ordered.index(value) + ordered.count(value) + 1) / 2 for value in values]


def _statement(rows: Sequence[Verified], rounds: int, confidence: float) -> str:
    if few := too_few_rounds(rounds, len(rows), confidence):
        return few
    different = [row for row in rows if row.faster is not None]
    if not different:
        return NOTHING
    best = rows[1] if rows[1].faster is not None else None
    shown = best or max(different, key=lambda row: row.gain)
    opening = "" if best else "the predicted best is no different from the default, but "
    gain, low, high = (shown.gain, shown.low, shown.high)
    if not shown.faster:
        gain, low, high = 1 / gain, 1 / high, 1 / low if low > 0 else math.inf
    word = "faster" if shown.faster else "slower"
    text = f"{opening}{shown.which} is {gain:.3g} times {word} than the default"
    return f"{text}, between {low:.3g} and {high:.3g}"
