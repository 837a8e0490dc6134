"""Rounds of a measurement in two numbers.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """A median and the distance between the quartiles, of so many rounds."""

    median: float
    quartiles: float
    count: int


def spread_of(values: Sequence[float]) -> Spread:
    """Of at least one value."""
    if len(values) < 2:
        return Spread(values[0], 0.0, len(values))
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(statistics.median(values), high - low, len(values))


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Where the median lies, with at least this confidence; None where there are too few values to say so.

    Between two of the sorted values: how many lie below the median is binomial, however they are distributed.
    """
    count, ordered = len(values), sorted(values)
    outside, place, ways = 0.0, -1, 1
    for below in range(count // 2):
        outside += 2 * ways / 2**count
        if outside > 1 - confidence:
            break
        place, ways = below, ways * (count - below) // (below + 1)
    return None if place < 0 else (ordered[place], ordered[count - 1 - place])
