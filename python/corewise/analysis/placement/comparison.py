"""What the placement of a pattern on a machine costs: the best, and what it is compared with.

Owns the reference rows (best, identity, random, worst; named and given ones where asked), the price that each
of several patterns pays for sharing one placement, and which link and phase is named as the bottleneck. The
searches are in `placement_search`. Deterministic: the same patterns, machine and seed give the same study,
unless a clock is handed in. Prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from corewise._core import Bottleneck, Evaluation, Machine, Pattern
from corewise.analysis.placement.by_replay import search_by_replay
from corewise.analysis.placement.programs import Programs
from corewise.analysis.placement.search import (
    OBJECTIVES,
    REPLAY,
    Costs,
    Outcome,
    Settings,
    search_placements,
)
from corewise.analysis.placement.starts import named_starts
from corewise.errors import InputError, bad_field

__all__ = [
    "OBJECTIVES",
    "PlacementRow",
    "PlacementStudy",
    "Price",
    "Settings",
    "study_placements",
    "weights_of",
]


TIME_ALONE = 0.5
"""Of the time for several patterns: for the best placement of each pattern alone, together."""
TIME_OF_PACKETS = 0.15
"""Of the time for the shared placement, where packets decide among its leaders."""
LOADS = "bottleneck"
LOADS_ALIKE = "every placement has the same link loads, so their times decide"
_TIMED, _ROUNDING = 5, 1e-9
"""Random placements whose times say whether they differ at all, and by how much sums may."""
MOST_EXCHANGED = 20
"""Units up to which the order of the group of all exchanges is a number of 64 bits."""
MOST_SYMMETRIC = 128
"""Units up to which the group of symmetries is computed for its order alone."""


@dataclass(frozen=True)
class PlacementRow:
    """One placement and what it costs.

    Attributes
    ----------
    which : str
        ``best``, ``identity``, ``random`` (the median one), ``worst``, ``given`` or the name of a named one.
    unit_of_rank : tuple of int
        Unit of rank r at [r].
    bottleneck_ns : float
        Time of the busiest link, summed over phases and (weighted) over patterns, in ns.
    bottleneck_bytes : float
        Load of the busiest link of the phase that takes longest, in bytes.
    bottleneck_link : str or None
        That link's name; None where no link carries anything.
    bottleneck_phase : str
        That phase's name.
    hop_bytes : int
        Sum over all messages of bytes times hops.
    cost : float
        By the study's objective, in its unit.
    ratio : float
        Cost over the best one's; below 1 where packets decided otherwise than flow.
    simulated_ns : float or None
        Packet by packet, where that decided; weighted over the patterns.
    """

    which: str
    unit_of_rank: tuple[int, ...]
    bottleneck_ns: float
    bottleneck_bytes: float
    bottleneck_link: str | None
    bottleneck_phase: str
    hop_bytes: int
    cost: float
    ratio: float
    simulated_ns: float | None = None

    @property
    def words(self) -> str:
        """Its name in words."""
        return {"random": "random (median)", "identity": "identity (rank order)"}.get(self.which, self.which)


@dataclass(frozen=True)
class Price:
    """What one of several patterns pays for the placement that they share.

    Attributes
    ----------
    pattern : str
    weight : float
    own_cost : float
        Of the placement that is best for this pattern alone.
    own_proven : bool
        Whether that one is proven.
    shared_cost : float
        Of the shared placement, for this pattern.
    identity_cost : float
        Of rank order.
    price : float
        Shared over own cost; 1 is no loss.
    own_unit_of_rank : tuple of int
        The placement that is best for this pattern alone.
    """

    pattern: str
    weight: float
    own_cost: float
    own_proven: bool
    shared_cost: float
    identity_cost: float
    price: float
    own_unit_of_rank: tuple[int, ...]


@dataclass(frozen=True)
class PlacementStudy:
    """The rows, and how far they can be trusted.

    Attributes
    ----------
    machine : Machine
    patterns : tuple of Pattern
        That share the placement, mostly one.
    weights : tuple of float
    objective, unit : str
        What was minimised, and in what its cost is.
    rows : tuple of PlacementRow
        The best first.
    prices : tuple of Price
        One per pattern where several share the placement, one per program where several run together.
    proven_optimal, worst_proven : bool
    method, statement : str
        How it was searched, and what that proves.
    origin : str
        Of a portfolio: where the best came from.
    all_alike : bool
        Whether every placement is known to cost the same: there is nothing to gain.
    left_free : tuple of int
        Units on which the best has no rank.
    symmetry_order : int or None
        Of the machine's links; None where the machine is too large to say so in passing.
    bound, gap : float or None
        No placement costs less than `bound`; cost of the best over it, less 1. None where no bound is known.
    optimal : tuple of tuple of int
        Placements as good as the best, where they are known; the best among them.
    certificate : str or None
        The proof as JSON, where asked for.
    """

    machine: Machine
    patterns: tuple[Pattern, ...]
    weights: tuple[float, ...]
    objective: str
    unit: str
    rows: tuple[PlacementRow, ...]
    prices: tuple[Price, ...]
    proven_optimal: bool
    worst_proven: bool
    method: str
    statement: str
    origin: str
    all_alike: bool
    left_free: tuple[int, ...]
    symmetry_order: int | None
    bound: float | None
    gap: float | None
    optimal: tuple[tuple[int, ...], ...]
    certificate: str | None

    @property
    def pattern(self) -> Pattern:
        """The only pattern, or the first."""
        return self.patterns[0]

    @property
    def best(self) -> PlacementRow:
        """The row of the best placement."""
        return self.rows[0]

    def words_of(self, row: PlacementRow) -> str:
        """A row's name in words, as tables show it; what is proven says so."""
        proven = {"best": self.proven_optimal, "worst": self.worst_proven}.get(row.which, False)
        return f"{row.words}{' (proven)' if proven else ''}"

    def row(self, which: str) -> PlacementRow:
        """The row of that name."""
        return next(row for row in self.rows if row.which == which)


def study_placements(
    pattern: Pattern | Sequence[Pattern],
    machine: Machine,
    objective: str = "bottleneck",
    seed: int = 1,
    source: str = "",
    *,
    weights: Sequence[float] | None = None,
    settings: Settings | None = None,
    named: bool = False,
    given: Sequence[int] | None = None,
    programs: Programs | None = None,
) -> PlacementStudy:
    """Searches the best placement and evaluates what it is compared with.

    Parameters
    ----------
    pattern : Pattern or sequence of Pattern
        Who sends how much to whom; phases run one after another. Several share one placement: its cost is the
        sum of theirs, each times its weight.
    machine : Machine
        Where the ranks go; it needs at least as many units.
    objective : str
        One of `OBJECTIVES`.
    seed : int
        Of the local search and of the random placements.
    source : str
        Names the pattern's origin in errors.
    weights : sequence of float, optional
        One per pattern; 1 without.
    settings : Settings, optional
        How to search; its objective and seed give way to the two above.
    named : bool
        Also a row for every named placement.
    given : sequence of int, optional
        A placement that gets a row too.
    programs : Programs, optional
        Those whose joint pattern this is.
    """
    patterns = (pattern,) if isinstance(pattern, Pattern) else tuple(pattern)
    settings = (settings or Settings()).with_(objective=objective, seed=seed)
    _check(patterns, machine, source)
    costs = Costs(machine, patterns, weights_of(patterns, weights), settings)
    starts = named_starts(machine, patterns)
    alone = TIME_ALONE if len(patterns) > 1 or programs is not None else 0.0
    if settings.begin is not None:
        settings.begin((1 - alone) * (1 - (TIME_OF_PACKETS if settings.leaders else 0.0)))
    search = search_by_replay if objective == REPLAY else search_placements
    found = search(costs, starts)
    identity = costs.in_order()
    if settings.left_open and objective == LOADS and _times_alone_differ(costs, found):
        by_time = study_placements(
            patterns, machine, "flow", seed, source, weights=weights, named=named, given=given,
            programs=programs, settings=settings.with_(left_open=False, method="auto"),
        )  # fmt: skip
        return replace(by_time, statement=f"{LOADS_ALIKE}; {by_time.statement}")
    candidates = _candidates(costs, found, identity, given, starts if named else {})
    least = costs.of(found.unit_of_rank)
    rows = tuple(
        replace(_row(which, units, costs, least), simulated_ns=found.simulated_ns.get(tuple(units)))
        for which, units in candidates.items()
    )
    symmetry_order = costs.searcher.symmetry_order if len(machine.units) <= MOST_SYMMETRIC else None
    return PlacementStudy(
        machine=machine,
        patterns=patterns,
        weights=costs.weights,
        objective=objective,
        unit=costs.unit,
        rows=rows,
        prices=_all_prices(costs, found.unit_of_rank, identity, programs),
        proven_optimal=found.proven_optimal,
        worst_proven=found.worst_proven,
        method=found.method,
        statement=found.statement,
        origin=found.origin,
        all_alike=_all_alike(costs, found, symmetry_order),
        left_free=tuple(sorted(set(range(len(machine.units))) - set(found.unit_of_rank))),
        symmetry_order=symmetry_order,
        bound=found.bound,
        gap=least / found.bound - 1 if found.bound else None,
        optimal=tuple(tuple(units) for units in found.optimal),
        certificate=found.certificate,
    )


def _times_alone_differ(costs: Costs, found: Outcome) -> bool:
    """Whether every placement is proven to have one bottleneck, and some take longer than others by flow."""
    if found.worst is None or not (found.proven_optimal and found.worst_proven):
        return False
    if costs.of(found.worst) != costs.of(found.unit_of_rank):
        return False
    ranks = costs.patterns[0].ranks
    drawn = costs.searcher.random_placements(ranks, _TIMED, costs.settings.seed)
    tried = [found.unit_of_rank, costs.in_order(), *(costs.allowed(each) for each in drawn)]
    settings = costs.settings.with_(objective="flow", method="auto")
    try:
        times = Costs(costs.machine, costs.patterns, costs.weights, settings).of_all(tried)
    except InputError:  # more bytes than a flow takes
        return False
    return max(times) > min(times) * (1 + _ROUNDING)


def _all_alike(costs: Costs, found: Outcome, symmetry_order: int | None) -> bool:
    """All units are alike, to links and to times, or the best and the worst placement are proven equal."""
    units = len(costs.machine.units)
    if symmetry_order is not None and units <= MOST_EXCHANGED and symmetry_order == math.factorial(units):
        return bool(costs.searcher.unmerged_symmetry_order == symmetry_order)
    proven = found.proven_optimal and found.worst_proven and found.worst is not None
    return proven and costs.of(found.worst or []) == costs.of(found.unit_of_rank)


def _candidates(
    costs: Costs,
    found: Outcome,
    identity: list[int],
    given: Sequence[int] | None,
    named: Mapping[str, Sequence[int]],
) -> dict[str, Sequence[int]]:
    """The placements that get a row, the best first; the worst is the worst seen where no search found it."""
    rows: dict[str, Sequence[int]] = {
        "best": found.unit_of_rank,
        "identity": identity,
        "random": costs.median_random(),
        "worst": found.worst or identity,
    }
    if given is not None:
        rows["given"] = list(given)
    rows |= {name: costs.allowed(units) for name, units in named.items() if name not in rows}
    if found.worst is None:
        costs.of_all(list(rows.values()))
        rows["worst"] = costs.worst_seen()
    return rows


def _check(patterns: Sequence[Pattern], machine: Machine, source: str) -> None:
    for each in patterns:
        if each.ranks > len(machine.units):
            allowed = f"at most {len(machine.units)}, the units of '{machine.name}'"
            raise bad_field(source or each.name, "ranks", each.ranks, allowed)
        if each.ranks != patterns[0].ranks:
            allowed = f"{patterns[0].ranks}, the ranks of '{patterns[0].name}' that shares the placement"
            raise bad_field(source or each.name, "ranks", each.ranks, allowed)


def weights_of(patterns: Sequence[Pattern], weights: Sequence[float] | None) -> tuple[float, ...]:
    """A weight for every pattern: those given, in the order of the patterns, then 1."""
    given = tuple(float(weight) for weight in weights or ())
    if len(given) > len(patterns):
        raise InputError(
            f"field 'weight': found {len(given)}, allowed: at most {len(patterns)}, one per pattern in their "
            "order"
        )
    for weight in given:
        if not 0 < weight < 1e6:
            raise InputError(f"field 'weight': found {weight:g}, allowed: above 0 and below 1e6")
    return given + (1.0,) * (len(patterns) - len(given))


def _all_prices(
    costs: Costs, shared: Sequence[int], identity: Sequence[int], programs: Programs | None
) -> tuple[Price, ...]:
    if programs is not None:
        return _prices_of_programs(costs, shared, identity, programs)
    return _prices(costs, shared, identity) if len(costs.patterns) > 1 else ()


def _prices_of_programs(
    costs: Costs, shared: Sequence[int], identity: Sequence[int], programs: Programs
) -> tuple[Price, ...]:
    """What each program's own messages cost on its part of the node, and if it had the node alone."""
    share = TIME_ALONE / len(programs.patterns)
    parts = zip(pairwise(programs.firsts), programs.patterns, programs.weights, strict=True)
    prices = []
    for number, ((first, end), pattern, weight) in enumerate(parts):
        limits = programs.rules_of(number).on(costs.machine, pattern.ranks)
        settings = costs.settings.with_(certify=False, limits=limits, leaders=0)
        alone = Costs(costs.machine, [pattern], [1.0], settings)
        prices.append(_price(alone, weight, shared[first:end], identity[first:end], share))
    return tuple(prices)


def _prices(costs: Costs, shared: Sequence[int], identity: Sequence[int]) -> tuple[Price, ...]:
    alone = [costs.alone(index) for index in range(len(costs.patterns))]
    share = TIME_ALONE / len(alone)
    return tuple(
        _price(each, weight, shared, identity, share)
        for each, weight in zip(alone, costs.weights, strict=True)
    )


def _price(
    alone: Costs, weight: float, shared: Sequence[int], identity: Sequence[int], share: float
) -> Price:
    if alone.settings.begin is not None:
        alone.settings.begin(share)
    found = search_placements(alone, {**named_starts(alone.machine, alone.patterns), "shared": list(shared)})
    own, here = alone.of(found.unit_of_rank), alone.of(shared)
    return Price(
        pattern=alone.patterns[0].name,
        weight=weight,
        own_cost=own,
        own_proven=found.proven_optimal,
        shared_cost=here,
        identity_cost=alone.of(identity),
        price=_ratio(here, own),
        own_unit_of_rank=tuple(found.unit_of_rank),
    )


def _ratio(cost: float, least: float) -> float:
    # Nothing to carry: every placement is as good as the best.
    return cost / least if least > 0 else 1.0


def _row(which: str, units: Sequence[int], costs: Costs, least: float) -> PlacementRow:
    evaluations = [costs.searcher.evaluate(pattern, list(units)) for pattern in costs.patterns]
    phase, busiest = _longest_phase(costs, evaluations)
    links = costs.machine.links
    cost = costs.of(units)
    return PlacementRow(
        which=which,
        unit_of_rank=tuple(units),
        bottleneck_ns=costs.weighted([each.bottleneck_ns for each in evaluations]),
        bottleneck_bytes=busiest.bytes if busiest else 0.0,
        bottleneck_link=links[busiest.link].name if busiest and busiest.link >= 0 else None,
        bottleneck_phase=phase,
        hop_bytes=sum(each.hop_bytes for each in evaluations),
        cost=cost,
        ratio=_ratio(cost, least),
    )


def _longest_phase(costs: Costs, evaluations: Sequence[Evaluation]) -> tuple[str, Bottleneck | None]:
    phases = [
        (phase.name, found)
        for pattern, evaluation in zip(costs.patterns, evaluations, strict=True)
        for phase, found in zip(pattern.phases, evaluation.phases, strict=True)
    ]
    if not phases:
        return "", None
    index = max(range(len(phases)), key=lambda at: (phases[at][1].time_ns, -at))
    return phases[index]


def names_of(machine: Machine, units: Sequence[int]) -> list[str]:
    """Names of units."""
    return [machine.units[unit].name for unit in units]


def rank_of_unit(units: Sequence[int]) -> Mapping[int, int]:
    """Rank on every used unit."""
    return {unit: rank for rank, unit in enumerate(units)}
