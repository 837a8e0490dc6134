"""What the placement of a pattern on a machine costs: the best, and what it is compared with.

Owns the four reference rows (best, identity, random, worst) and which link and phase is named as the
bottleneck. Deterministic: the same pattern, machine and seed give the same study. Prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corewise._core import Bottleneck, Evaluation, Machine, Pattern, Searcher
from corewise.errors import InputError, bad_field

OBJECTIVES = ("bottleneck", "hop-bytes")
RANDOM_SAMPLES = 999
"""An odd number, so that the median is one placement that can be shown."""


@dataclass(frozen=True)
class PlacementRow:
    """One placement and what it costs.

    Attributes
    ----------
    which : str
        ``best``, ``identity``, ``random`` (the median one) or ``worst``.
    unit_of_rank : tuple of int
        Unit of rank r at [r].
    bottleneck_ns : float
        Time of the busiest link, summed over the phases, in ns.
    bottleneck_bytes : float
        Load of the busiest link of the phase that takes longest, in bytes.
    bottleneck_link : str or None
        That link's name; None where no link carries anything.
    bottleneck_phase : str
        That phase's name.
    hop_bytes : int
        Sum over all messages of bytes times hops.
    ratio : float
        Cost over the best one's, by the study's objective.
    """

    which: str
    unit_of_rank: tuple[int, ...]
    bottleneck_ns: float
    bottleneck_bytes: float
    bottleneck_link: str | None
    bottleneck_phase: str
    hop_bytes: int
    ratio: float


@dataclass(frozen=True)
class PlacementStudy:
    """The rows, and how far they can be trusted."""

    machine: Machine
    pattern: Pattern
    objective: str
    rows: tuple[PlacementRow, ...]
    proven_optimal: bool
    worst_proven: bool
    statement: str
    symmetry_order: int

    @property
    def best(self) -> PlacementRow:
        """The row of the best placement."""
        return self.rows[0]


def study_placements(
    pattern: Pattern, machine: Machine, objective: str = "bottleneck", seed: int = 1, source: str = ""
) -> PlacementStudy:
    """Searches the best placement and evaluates what it is compared with.

    Parameters
    ----------
    pattern : Pattern
        Who sends how much to whom; its phases run one after another.
    machine : Machine
        Where the ranks go; it needs at least as many units.
    objective : str
        One of `OBJECTIVES`: the time of the busiest link, or bytes times hops.
    seed : int
        Of the local search and of the random placements.
    source : str
        Names the pattern's origin in errors.
    """
    if objective not in OBJECTIVES:
        raise InputError(f"objective '{objective}' is unknown, allowed: {', '.join(OBJECTIVES)}")
    if pattern.ranks > len(machine.units):
        allowed = f"at most {len(machine.units)}, the units of '{machine.name}'"
        raise bad_field(source or pattern.name, "ranks", pattern.ranks, allowed)
    identity = machine.identity_placement(pattern.ranks)
    searcher = Searcher(machine)
    found = searcher.search(pattern, objective=objective, seed=seed, find_worst=True)
    candidates = {
        "best": found.unit_of_rank,
        "identity": identity,
        "random": _median_random(searcher, pattern, objective, seed),
        "worst": found.worst or identity,
    }
    costs = {which: searcher.evaluate(pattern, units) for which, units in candidates.items()}
    rows = tuple(_row(which, candidates[which], costs, machine, pattern, objective) for which in candidates)
    return PlacementStudy(
        machine, pattern, objective, rows, found.proven_optimal, found.worst_proven, found.statement,
        searcher.symmetry_order,
    )  # fmt: skip


def _median_random(searcher: Searcher, pattern: Pattern, objective: str, seed: int) -> list[int]:
    drawn = [list(map(int, row)) for row in searcher.random_placements(pattern.ranks, RANDOM_SAMPLES, seed)]
    drawn.sort(key=lambda units: (_cost(searcher.evaluate(pattern, units), objective), units))
    return drawn[RANDOM_SAMPLES // 2]


def _cost(evaluation: Evaluation, objective: str) -> float:
    return evaluation.bottleneck_ns if objective == "bottleneck" else float(evaluation.hop_bytes)


def _row(
    which: str,
    unit_of_rank: Sequence[int],
    costs: dict[str, Evaluation],
    machine: Machine,
    pattern: Pattern,
    objective: str,
) -> PlacementRow:
    mine, best = _cost(costs[which], objective), _cost(costs["best"], objective)
    phase, busiest = _longest_phase(costs[which])
    return PlacementRow(
        which=which,
        unit_of_rank=tuple(unit_of_rank),
        bottleneck_ns=costs[which].bottleneck_ns,
        bottleneck_bytes=busiest.bytes if busiest else 0.0,
        bottleneck_link=machine.links[busiest.link].name if busiest and busiest.link >= 0 else None,
        bottleneck_phase=pattern.phases[phase].name if busiest else "",
        hop_bytes=costs[which].hop_bytes,
        # Nothing to carry: every placement is as good as the best.
        ratio=mine / best if best > 0 else 1.0,
    )


def _longest_phase(evaluation: Evaluation) -> tuple[int, Bottleneck | None]:
    phases = evaluation.phases
    if not phases:
        return 0, None
    index = max(range(len(phases)), key=lambda phase: (phases[phase].time_ns, -phase))
    return index, phases[index]
