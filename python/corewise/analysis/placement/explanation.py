"""Why a placement costs what it costs: the deciding links, the messages on them, the best single step.

On every machine, by link loads; on a ring also the paper's rules of thumb (`rules`). A message loads every
link of its route, a tie half and half; a phase's busiest links are all that share its largest time.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from corewise._core import Machine, Pattern, Phase
from corewise.analysis.placement.rules import PhaseRules, is_ring, judge
from corewise.analysis.placement.search import REPLAY, Costs

MOST_SWAPS = 5000
_SAME = 1e-9


@dataclass(frozen=True)
class Crossing:
    """Bytes of one pair of ranks that cross a link."""

    sender: int
    receiver: int
    bytes: float


@dataclass(frozen=True)
class BusyLink:
    """A link that decides the time of a phase.

    Attributes
    ----------
    phase, link : str
    bytes, time_ns : float
        Its load, and load over bandwidth.
    crossings : tuple of Crossing
        The heaviest first.
    """

    phase: str
    link: str
    bytes: float
    time_ns: float
    crossings: tuple[Crossing, ...]


@dataclass(frozen=True)
class Change:
    """What one step would do.

    Attributes
    ----------
    text : str
        ``ranks 3 and 5 change places`` or ``rank 3 moves to SPE7``.
    before, after : float
        Costs, by the objective.
    unit_of_rank : tuple of int
        The placement after it.
    """

    text: str
    before: float
    after: float
    unit_of_rank: tuple[int, ...]


@dataclass(frozen=True)
class Explanation:
    """Everything that `corewise place --explain` shows of one placement.

    Attributes
    ----------
    unit_of_rank : tuple of int
    links : tuple of BusyLink
        Per phase that moves anything.
    change : Change or None
        The best single step; None where none is better.
    looked_at : int
        Steps that were evaluated.
    rules : tuple of (str, PhaseRules)
        Pattern and phase by phase; empty where the machine is no ring.
    """

    unit_of_rank: tuple[int, ...]
    links: tuple[BusyLink, ...]
    change: Change | None
    looked_at: int
    rules: tuple[tuple[str, PhaseRules], ...]


def explain_placement(costs: Costs, unit_of_rank: Sequence[int]) -> Explanation:
    """Explains one placement.

    Parameters
    ----------
    costs : Costs
        Machine, patterns and objective.
    unit_of_rank : sequence of int
        Unit of rank r at [r].
    """
    units = tuple(int(unit) for unit in unit_of_rank)
    change, looked_at = _best_step(costs, units)
    several = len(costs.patterns) > 1
    links = [
        link
        for pattern in costs.patterns
        for phase in pattern.phases
        for link in busiest_links(costs.machine, phase, units, f"{pattern.name} " if several else "")
    ]
    rules = [
        (pattern.name if several else "", phase)
        for pattern in costs.patterns
        if is_ring(costs.machine)
        for phase in judge(costs.machine, pattern, units)
    ]
    return Explanation(units, tuple(links), change, looked_at, tuple(rules))


def busiest_links(
    machine: Machine, phase: Phase, unit_of_rank: Sequence[int], label: str = ""
) -> list[BusyLink]:
    """The links that share the largest time of a phase; none of a silent phase.

    Parameters
    ----------
    machine : Machine
    phase : Phase
    unit_of_rank : sequence of int
    label : str
        Goes before the phase's name.
    """
    crossings: dict[int, dict[tuple[int, int], float]] = {}
    for sender, receiver, size, _ in zip(*phase.coordinates(), strict=True):
        if sender == receiver or not size:
            continue
        routes = machine.routes(unit_of_rank[sender], unit_of_rank[receiver])
        for route in routes:
            for link in route:
                pairs = crossings.setdefault(link, {})
                pair = int(sender), int(receiver)
                pairs[pair] = pairs.get(pair, 0.0) + float(size) / len(routes)
    links = machine.links
    times = {link: sum(pairs.values()) / links[link].bandwidth_gb_per_s for link, pairs in crossings.items()}
    largest = max(times.values(), default=0.0)
    return [
        BusyLink(
            phase=label + phase.name,
            link=links[link].name,
            bytes=sum(crossings[link].values()),
            time_ns=times[link],
            crossings=tuple(
                Crossing(*pair, size)
                for pair, size in sorted(crossings[link].items(), key=lambda each: (-each[1], each[0]))
            ),
        )
        for link in sorted(times)
        if times[link] >= largest * (1 - _SAME)
    ]


def _best_step(costs: Costs, units: tuple[int, ...]) -> tuple[Change | None, int]:
    """The single swap of two ranks, or move to a free unit, that lowers the cost most."""
    limits = costs.settings.limits
    steps = [
        step
        for step in _steps(costs.machine, costs.patterns, units)
        if limits is None or limits.hold(list(step[1]))
    ]
    if costs.settings.objective == REPLAY:
        steps = steps[: costs.settings.evaluations]
    if not steps:
        return None, 0
    before = costs.of(units)
    after = np.array(costs.of_all([placement for _, placement in steps]))
    best = int(after.argmin())
    if after[best] >= before * (1 - _SAME):
        return None, len(steps)
    text, placement = steps[best]
    return Change(text, before, float(after[best]), placement), len(steps)


def _steps(
    machine: Machine, patterns: Sequence[Pattern], units: tuple[int, ...]
) -> list[tuple[str, tuple[int, ...]]]:
    """Every single step, up to `MOST_SWAPS`: those of the ranks that move most bytes first."""
    volume = sum(pattern.matrix().astype(float) for pattern in patterns)
    weight = np.asarray(volume).sum(axis=0) + np.asarray(volume).sum(axis=1)
    order = [int(rank) for rank in np.lexsort((np.arange(len(units)), -weight))]
    free = sorted(set(range(len(machine.units))) - set(units))
    found: list[tuple[str, tuple[int, ...]]] = []
    for first, second in combinations(order, 2):
        if len(found) >= MOST_SWAPS:
            return found
        placed = list(units)
        placed[first], placed[second] = placed[second], placed[first]
        low, high = sorted((first, second))
        found.append((f"ranks {low} and {high} change places", tuple(placed)))
    for rank in order:
        for unit in free:
            if len(found) >= MOST_SWAPS:
                return found
            placed = list(units)
            placed[rank] = unit
            found.append((f"rank {rank} moves to {machine.units[unit].name}", tuple(placed)))
    return found
