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
