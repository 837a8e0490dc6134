"""The placement under which a recorded run is replayed quickest.

Link loads choose what is worth a replay, and the replay decides: it knows who waits for whom. Few ranks (as
many as a proof by link loads is tried for) are also moved one by one, or every placement is replayed. The
result is never slower than rank order or a named placement. Deterministic, unless a clock is handed in.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from corewise import _core
from corewise.analysis.placement.leaders import MOST_LEADERS
from corewise.analysis.placement.search import Costs, Outcome, search_placements

SHARE_OF_LOADS = 0.5
"""Of the time: for the search by link loads."""


def search_by_replay(costs: Costs, starts: Mapping[str, Sequence[int]]) -> Outcome:
    """The placement that is replayed quickest.

    Parameters
    ----------
    costs : Costs
        By replay.
    starts : name -> unit of rank r at [r]
        Placements that are replayed in any case.
    """
    settings = costs.settings
    begin = settings.begin or (lambda share: None)
    begin(SHARE_OF_LOADS)
    found = search_placements(_by_loads(costs), starts)
    begin(1 - SHARE_OF_LOADS)
    chosen = [found.unit_of_rank, *found.leaders]
    if settings.method != "auto" or _core.proof_is_certain(costs.patterns[0].ranks, len(costs.machine.units)):
        leaders = {f"by bottleneck {number}": units for number, units in enumerate(chosen, start=1)}
        return search_placements(costs, {**starts, **leaders})
    return _quickest(costs, [costs.in_order(), *starts.values()], chosen, found)


def _by_loads(costs: Costs) -> Costs:
    settings = costs.settings.with_(
        objective="bottleneck",
        method="auto",
        certify=False,
        evaluations=None,
        leaders=MOST_LEADERS,
        replay=None,
    )
    return Costs(costs.machine, costs.patterns, costs.weights, settings)


def _quickest(
    costs: Costs, certain: Sequence[Sequence[int]], leaders: Sequence[Sequence[int]], found: Outcome
) -> Outcome:
    """Of what is replayed in any case and, as far as the clock allows, the leaders; of equals the first."""
    stopped = costs.settings.should_stop or (lambda: False)
    times = {tuple(units): costs.of(units) for units in map(costs.allowed, certain)}
    for at, units in enumerate(map(costs.allowed, leaders)):
        if at == 0 or not stopped():
            times.setdefault(tuple(units), costs.of(units))
    best = list(min(times.items(), key=lambda each: each[1])[0])
    return Outcome(
        unit_of_rank=best,
        proven_optimal=False,
        method=found.method,
        statement=f"not proven: the quickest of {len(times)} replays; by link loads {found.statement}",
        optimal=[best],
        origin=found.origin,
    )
