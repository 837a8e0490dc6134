"""Placements that were run: times per placement, held against the default.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

DEFAULT = "default"
"""The name under which the launcher's own binding runs."""

ERROR_RATE = 0.01
"""How often all rows together may claim a difference where there is none."""


@dataclass(frozen=True)
class AppliedRow:
    """What one placement took.

    Attributes
    ----------
    which : the placement's name.
    median_s : median wall time of the launches, in seconds.
    spread_s : distance between the quartiles, in seconds.
    ratio : the default's median over this one's; over 1 is faster than the default.
    differs : whether the times differ from the default's beyond chance: two-sided Mann-Whitney test, its
        threshold `ERROR_RATE` shared among the placements (Bonferroni).
    n : number of launches.
    """

    which: str
    median_s: float
    spread_s: float
    ratio: float
    differs: bool
    n: int

    def row(self) -> dict[str, object]:
        """As a JSON row."""
        return {"id": f"applied-{self.which}", **asdict(self)}


def summarise(times: Mapping[str, Sequence[float]]) -> list[AppliedRow]:
    """One row per placement, in the order given; `DEFAULT` must be among them.

    Parameters
    ----------
    times : name -> wall times in seconds, two or more each.
    """
    base = times[DEFAULT]
    threshold = ERROR_RATE / max(1, len(times) - 1)
    return [_row(which, values, base, threshold) for which, values in times.items()]


def _row(which: str, values: Sequence[float], base: Sequence[float], threshold: float) -> AppliedRow:
    low, middle, high = quartiles(values)
    # Loading it takes a second, which every other command would wait for.
    from scipy import stats

    probability = stats.mannwhitneyu(values, base, alternative="two-sided").pvalue
    return AppliedRow(
        which=which,
        median_s=middle,
        spread_s=high - low,
        ratio=statistics.median(base) / middle,
        differs=which != DEFAULT and bool(probability < threshold),
        n=len(values),
    )


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile (inclusive method: the extremes are the sample's own)."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def verdict(rows: Sequence[AppliedRow]) -> str:
    """What the times say, in one sentence."""
    different = [row for row in rows if row.differs]
    if not different:
        return "no significant difference between the placements on this host"
    best = max(different, key=lambda row: row.ratio)
    if best.ratio <= 1:
        return f"none is faster than the default; {best.which} is {1 / best.ratio:.2f} times slower"
    return f"{best.which} is {best.ratio:.2f} times faster than the default"


def merge_equal(placements: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Placements that are the same one under a joint name, e.g. ``best = identity``: each is run once.

    Parameters
    ----------
    placements : name -> unit of rank r at [r].
    """
    names: dict[tuple[int, ...], list[str]] = {}
    for name, units in placements.items():
        names.setdefault(tuple(units), []).append(name)
    return {" = ".join(same): units for units, same in names.items()}
