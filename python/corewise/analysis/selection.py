"""From a sweep over algorithms and parameters to the rows of a tuning file.

Invariant: a row's winner was measured, and won, at every size that the row names; each loser stands there
with the parameters that served it best over those sizes. Of simulated times, which are the same every time,
the quickest wins, and of equal ones the configuration tried first; who wins on a host, its bench says.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from corewise.data.tuning import Choice, Selection, TuningRow, Value


@dataclass(frozen=True)
class Configuration:
    """An algorithm and what it is given, parameters sorted by name."""

    algorithm: str
    parameters: tuple[tuple[str, Value], ...] = ()

    @property
    def name(self) -> str:
        """``tree(degree=3)``."""
        return Choice(self.algorithm, self.parameters, ()).name


def configuration(algorithm: str, **parameters: Value) -> Configuration:
    """``configuration("tree", degree=3)``."""
    return Configuration(algorithm, tuple(sorted(parameters.items())))


Sweep = Mapping[int, Mapping[Configuration, float]]
"""Size in bytes -> what every configuration that can do it took, in us."""


def rows_of_sweep(
    selection: Selection,
    collective: str,
    ranks: int,
    sweep: Sweep,
    winners: Mapping[int, Configuration] | None = None,
) -> list[TuningRow]:
    """The rows for one collective on so many ranks; `winners` by size, where the quickest need not be them.

    A measured size speaks for the sizes below it, down to the next measured one: an algorithm that has a
    limit can do less, not more. The largest speaks for all above it too. Neighbouring sizes share a row where
    the same configuration wins against the same rivals.
    """
    sizes = sorted(size for size in sweep if sweep[size])
    won = winners or {size: winner(sweep[size]) for size in sizes}
    groups = [
        list(group) for _, group in groupby(sizes, key=lambda size: (won[size], frozenset(sweep[size])))
    ]
    rows = []
    first = 0
    for index, group in enumerate(groups):
        last = None if index == len(groups) - 1 else group[-1]
        best = won[group[0]]
        rivals = {each.algorithm for each in sweep[group[0]]} - {best.algorithm}
        lost = [_choice(_best_of(algorithm, group, sweep), group, sweep) for algorithm in rivals]
        lost.sort(key=lambda each: (each.latency_us[-1], each.name))
        chosen = _choice(best, group, sweep)
        rows.append(TuningRow(selection, collective, ranks, first, last, tuple(group), chosen, tuple(lost)))
        first = group[-1] + 1
    return rows


def winner(times: Mapping[Configuration, float]) -> Configuration:
    """The quickest; of equals, the first."""
    return min(times, key=lambda each: times[each])


def _choice(chosen: Configuration, sizes: list[int], sweep: Sweep) -> Choice:
    # Four digits are more than any choice turns on.
    times = tuple(float(f"{sweep[size][chosen]:.4g}") for size in sizes)
    return Choice(chosen.algorithm, chosen.parameters, times)


def _best_of(algorithm: str, sizes: list[int], sweep: Sweep) -> Configuration:
    """The algorithm's configuration with the least product of times over the sizes."""
    able = [each for each in sweep[sizes[0]] if each.algorithm == algorithm]
    return min(able, key=lambda each: sum(math.log(sweep[size][each]) for size in sizes))
