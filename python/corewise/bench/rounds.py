"""Rounds: contestants in turn, and rows of what the rounds gave.

Every round runs every contestant once, a different one first each time. A ratio is taken within each round,
so that whatever disturbs a round disturbs both; its median is told.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from corewise.bench.rows import Row

Measured = TypeVar("Measured")


def in_turns(
    contestants: Mapping[str, Callable[[], Measured]],
    rounds: int,
    progress: Callable[[float], None] = lambda share: None,
) -> list[dict[str, Measured]]:
    """What every contestant gave in every round."""
    names, found = list(contestants), []
    for turn in range(rounds):
        first = turn % len(names)
        result: dict[str, Measured] = {}
        for place, name in enumerate(names[first:] + names[:first]):
            result[name] = contestants[name]()
            progress((turn + (place + 1) / len(names)) / rounds)
        found.append(result)
    return found


def alone(row: Row, ours: Sequence[float]) -> Row:
    """The row with ours, where nobody is beside it."""
    return replace(row, ours=middle(ours), spread=_spread(ours), n=len(ours))


def beside(row: Row, ours: Sequence[float], theirs: Sequence[float], *, more_is_better: bool = False) -> Row:
    """The row with ours and theirs, both by rounds, and their ratio.

    A time that is 0 or less (what was added cannot be told from nothing) makes its round's ratio infinite;
    the row has no ratio where the median is.
    """
    pairs = [(a, b) if more_is_better else (b, a) for a, b in zip(ours, theirs, strict=True)]
    ratios = [over / under if under > 0 else math.inf for over, under in pairs]
    ratio = middle(ratios)
    return replace(
        row,
        ours=middle(ours),
        theirs=middle(theirs),
        ratio=ratio,
        spread=None if ratio is None else _spread(ratios),
        n=len(ours),
    )


def middle(values: Sequence[float]) -> float | None:
    """The median with four significant digits; None of nothing and where it is no number."""
    return rounded(statistics.median(values)) if values else None


def rounded(value: float) -> float | None:
    """With four significant digits, whole numbers kept; None where it is no number."""
    if not math.isfinite(value):
        return None
    return round(value) if abs(value) >= 1000 else float(f"{value:.4g}")


def _spread(values: Sequence[float]) -> float | None:
    """Distance between the quartiles over the median."""
    if len(values) < 2:
        return None
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return rounded((high - low) / abs(median)) if median and math.isfinite(high - low) else None
