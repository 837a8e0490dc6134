"""Does the order that a model predicts hold? Placements of patterns on every bundled machine, beside packets.

Each pair of machine and pattern has a set of placements: rank order and the other named ones, what a short
search finds by each model, copies of the best with some ranks exchanged, and random ones. So good, middling
and bad ones are among them. Every placement is simulated packet by packet (a Cell as a whole) and predicted
by every model. A row says how well the two orders agree (Spearman's rank correlation) and what picking by the
prediction loses: the simulated time of the placement that the model calls best (the mean where it calls
several equally good) over the least simulated time in the set, less 1. Nothing is timed by a clock: the same
command prints the same numbers.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corewise import _core
from corewise.analysis.placement.limits import LimitRules
from corewise.analysis.placement.search import Costs, Settings
from corewise.analysis.placement.starts import named_starts
from corewise.analysis.placement.statistical_model import rank_correlation
from corewise.bench.rounds import rounded
from corewise.bench.rows import Listener, Row
from corewise.data.machines import bundled_machines, load_machine

__all__ = ["FULL", "QUICK", "Extent", "remarks", "rows"]

Floats = NDArray[np.float64]
MODELS = ("flow", "bottleneck", "hop-bytes", "distance")
"""The first is what `corewise place` goes by beyond the sizes of proofs."""
BY_PACKETS = "flow, then packets"
"""As `corewise place` does it: of all within 5 % of the best by flow the quickest packet by packet."""
LEADERS = 1.05
SEED = 1
EQUAL = 1e-9
"""Costs this close (relative) are one cost."""
_SEARCHED = 60_000
"""Placements that each search looks at."""


@dataclass(frozen=True)
class Extent:
    """How much is simulated.

    Attributes
    ----------
    patterns : mapping of name to parameters, as pairs
        All with 4 KiB per message where nothing else is said.
    most_ranks : int
        A power of two: as many as the machine has units for, up to this.
    exchanged, random : int
        Placements near the best, and random ones.
    """

    patterns: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    most_ranks: int
    exchanged: int
    random: int


_RANDOM = (("degree", "3"), ("min_bytes", "1 KiB"), ("max_bytes", "8 KiB"))
QUICK = Extent((("ring", ()), ("halo_2d", ())), 16, 3, 3)
FULL = Extent(
    (
        ("ring", ()),
        ("halo_2d", ()),
        ("halo_3d", ()),
        ("transpose", ()),
        ("recursive_doubling", ()),
        ("wavefront", (("octants", "1"),)),
        ("random", _RANDOM),
    ),
    32,
    6,
    6,
)


def ranks_on(machine: _core.Machine, most: int) -> int:
    """The greatest power of two up to `most` for which the machine has units."""
    return 1 << (min(most, len(machine.units)).bit_length() - 1)


def pairs(extent: Extent) -> Iterator[tuple[_core.Machine, _core.Pattern]]:
    """Every bundled machine with every pattern."""
    for name in bundled_machines():
        machine = load_machine(name)
        ranks = str(ranks_on(machine, extent.most_ranks))
        for family, parameters in extent.patterns:
            yield machine, _core.generate(family, {"ranks": ranks, **dict(parameters)})


def placements(machine: _core.Machine, pattern: _core.Pattern, extent: Extent) -> list[tuple[int, ...]]:
    """The set of one pair, each once; every rank has a core to itself where there are enough."""
    limits = LimitRules().on(machine, pattern.ranks)
    costs = Costs(machine, [pattern], [1.0], Settings(limits=limits))
    searcher = costs.searcher
    found = [tuple(units) for units in named_starts(machine, [pattern]).values()]
    for model in MODELS:
        best = searcher.search(
            pattern, model, SEED, limits=limits, proposals=_SEARCHED, local_evaluations=_SEARCHED // 10,
            nodes=_SEARCHED // 10, evaluations=_SEARCHED // 100,
        )  # fmt: skip
        found.append(tuple(best.unit_of_rank))
    draw = np.random.default_rng(SEED)
    for number in range(extent.exchanged):
        near = np.array(found[-1 - number % len(MODELS)])
        chosen = draw.choice(pattern.ranks, size=min(pattern.ranks, 2 + number), replace=False)
        near[chosen] = near[np.roll(chosen, 1)]
        found.append(tuple(int(unit) for unit in near))
    drawn = searcher.random_placements(pattern.ranks, extent.random, SEED)
    found += [tuple(int(unit) for unit in row) for row in drawn]
    return list(dict.fromkeys(tuple(costs.allowed(units)) for units in found))


def lost(predicted: Floats, simulated_ns: Floats) -> float:
    """Of the least predicted one: over the least simulated time, less 1; of equals the mean."""
    picked = predicted <= predicted.min() * (1 + EQUAL)
    return float(simulated_ns[picked].mean() / simulated_ns.min() - 1) if simulated_ns.min() > 0 else 0.0


def lost_by_leaders(flow: Floats, simulated_ns: Floats) -> float:
    """The same where packets decide among all within `LEADERS` of the best by flow."""
    least = simulated_ns.min()
    return float(simulated_ns[flow <= flow.min() * LEADERS].min() / least - 1) if least > 0 else 0.0


def row(machine: _core.Machine, pattern: _core.Pattern, extent: Extent) -> Row:
    """One pair: the default model's correlation, and both numbers of every model besides."""
    chosen = placements(machine, pattern, extent)
    simulated = Costs(machine, [pattern], [1.0], Settings("simulated")).of_all(chosen)
    simulated_ns = np.array(simulated)
    more: dict[str, object] = {"machine": machine.name, "pattern": pattern.name, "ranks": pattern.ranks}
    more |= {
        "placements": len(chosen),
        "worst_to_best": rounded(float(simulated_ns.max() / simulated_ns.min())),
    }
    correlations: dict[str, float | None] = {}
    losses: dict[str, float] = {}
    for model in MODELS:
        predicted = np.array(Costs(machine, [pattern], [1.0], Settings(model)).of_all(chosen))
        spearman, _ = rank_correlation(predicted, simulated_ns)
        correlations[model] = None if spearman is None else rounded(spearman)
        losses[model] = abs(round(lost(predicted, simulated_ns), 4))
        if model == MODELS[0]:
            losses[BY_PACKETS] = round(lost_by_leaders(predicted, simulated_ns), 4)
    return Row(
        f"mapping-order-{machine.name}-{pattern.name}",
        f"{pattern.name}, {pattern.ranks} ranks on {machine.name}: predicted by flow against packets",
        "rank correlation",
        correlations[MODELS[0]],
        n=len(chosen),
        more={**more, "rank_correlation": correlations, "loss": losses},
    )


def rows(extent: Extent, listener: Listener) -> list[Row]:
    """Every pair."""
    every = list(pairs(extent))
    found = []
    for index, (machine, pattern) in enumerate(every):
        found.append(row(machine, pattern, extent))
        listener.progress((index + 1) / len(every))
    return found


def remarks(found: Sequence[Row]) -> tuple[str, ...]:
    """A line per model: how well its order holds, and what picking by it loses."""
    return tuple(_remark(model, found) for model in (MODELS[0], BY_PACKETS, *MODELS[1:]))


def _remark(model: str, found: Sequence[Row]) -> str:
    correlations = [value for each in found if (value := _of(each, "rank_correlation", model)) is not None]
    losses = {each.id: loss for each in found if (loss := _of(each, "loss", model)) is not None}
    worst, where = max((loss, name) for name, loss in losses.items())
    within = sum(loss <= 0.05 for loss in losses.values())
    middle = f"rank correlation {statistics.median(correlations):.2f} in the middle; " if correlations else ""
    usual = statistics.median(losses.values())
    return (
        f"{model}: {middle}picking by it loses {usual:.1%} in the middle, "
        f"at most 5 % in {within} of {len(losses)} pairs, {worst:.1%} at worst "
        f"({where.removeprefix('mapping-order-')})"
    )


def _of(each: Row, field: str, model: str) -> float | None:
    values = each.more[field]
    assert isinstance(values, dict)
    return None if values.get(model) is None else float(values[model])
