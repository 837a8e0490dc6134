"""Times what a model calls best against the default and a random placement, and judges the model by it.

The default is what one gets without asking: on this host the launcher's own binding, on a simulated machine
rank order, on eight SPEs what the system gives, drawn anew in every round (paper 000, section 3). The random
placement is drawn anew in every round too.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corewise import _lab
from corewise.analysis.placement.contenders import Contenders
from corewise.analysis.placement.hypercube import has_affinities
from corewise.analysis.placement.paired import DEFAULT, Verification, least_rounds, too_few_rounds, verify
from corewise.analysis.placement.search import Costs
from corewise.errors import InputError
from corewise.trials.launches import Launches
from corewise.trials.simulation import Simulation
from corewise.trials.timing import Array, Candidate, Progress, time

RANDOM = "random"
ROUNDS = 9
"""Runs of each placement, unless the user says or more are needed."""
JITTER = 0.1
"""Of a simulated round: link latencies up to a tenth longer (on a Cell: the pauses of its rings)."""


def rounds_for(chosen: Contenders, asked: int | None) -> int:
    """Rounds that can tell the contenders, the default and the random placement apart.

    Raises
    ------
    InputError
        Fewer are asked for: nothing could come of them.
    """
    placements = len(chosen.units) + 2
    if asked is None:
        return max(ROUNDS, least_rounds(placements - 1))
    if few := too_few_rounds(asked, placements):
        raise InputError(f"--rounds {asked}: {few}")
    return asked


def verify_simulated(
    costs: Costs, chosen: Contenders, rounds: int, seed: int, progress: Progress | None = None
) -> Verification:
    """Predicted beside simulated packet by packet, in us. A round has its own jitter, the same for all.

    Parameters
    ----------
    costs : Costs
        The model that predicted.
    chosen : Contenders
    rounds, seed : int
    progress : callable, optional
        Told the share that is done.

    Raises
    ------
    InputError
        A placement takes no time, so that nothing can be said to be so many times faster.
    """
    backend = Simulation(
        costs.machine, costs.patterns, costs.weights, jitter=JITTER, seed=seed, seed_stride=1
    )
    default, what = _simulated_default(costs, rounds, seed)
    candidates = _candidates(costs, chosen, rounds, default)
    times = time(candidates, backend, rounds, progress)
    _check_times(candidates, times)
    how = f"simulated packet by packet with jitter, {rounds} rounds; default: {what}"
    return _judged(candidates, times / 1000, chosen, "us", how)


def verify_on_host(
    costs: Costs, chosen: Contenders, rounds: int, backend: Launches, progress: Progress | None = None
) -> Verification:
    """Predicted beside measured on this host, in s; as `verify_simulated`."""
    candidates = _candidates(costs, chosen, rounds, Candidate(DEFAULT))
    times = time(candidates, backend, rounds, progress)
    how = (
        f"measured on this host, wall time of the whole launch, {rounds} interleaved rounds; default: unbound"
    )
    return _judged(candidates, times / 1e9, chosen, "s", how)


def _candidates(costs: Costs, chosen: Contenders, rounds: int, default: Candidate) -> list[Candidate]:
    drawn = costs.searcher.random_placements(costs.patterns[0].ranks, rounds, costs.settings.seed)
    fixed = [Candidate(name, (units,)) for name, units in chosen.units.items()]
    return [default, *fixed, Candidate(RANDOM, _tuples(costs.allowed(units) for units in _tuples(drawn)))]


def _simulated_default(costs: Costs, rounds: int, seed: int) -> tuple[Candidate, str]:
    """The default of a simulated machine, and what it is in words."""
    ranks = costs.patterns[0].ranks
    if not has_affinities(costs.machine):
        return Candidate(DEFAULT, (tuple(costs.in_order()),)), "rank order"
    drawn = [row[:ranks] for row in _lab.default_affinities(rounds, seed)]
    return Candidate(DEFAULT, _tuples(drawn)), "the system's, drawn in every round"


def _tuples(rows: Iterable[Iterable[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(unit) for unit in row) for row in rows)


def _check_times(candidates: Sequence[Candidate], times_ns: Array) -> None:
    for row in times_ns:
        for candidate, time_ns in zip(candidates, row, strict=True):
            if not time_ns > 0:
                raise InputError(
                    f"--verify: found no time that placement '{candidate.name}' takes (no message crosses a "
                    "link), allowed: patterns that take time under every placement"
                )


def _judged(
    candidates: Sequence[Candidate], times: Array, chosen: Contenders, unit: str, how: str
) -> Verification:
    by_name = {each.name: times[:, at].tolist() for at, each in enumerate(candidates)}
    return verify(by_name, chosen.predicted, chosen.units, unit, how)
