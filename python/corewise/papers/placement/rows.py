"""What papers 000 and 002 asked of a placement found automatically, each as a row that holds or does not.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator

from corewise.analysis.result import Row, statement_row
from corewise.papers.affinity.data import SHOWN
from corewise.papers.mapping.data import mapping_text
from corewise.papers.placement.data import Ps3Ring, Study

GOOD = 0.95
"""Within 5 % of the best counts as good, as in `corewise paper affinity`."""
BETTER = 1.01
"""A gain of less than 1 % is not called better."""
_SEARCH, _CLAIM, _PS3 = "000 section 7", "000 section 5", "002 section 3"


def rows_of(study: Study) -> Iterator[Row]:
    """What is claimed, and whether it holds."""
    yield from _automatic(study)
    yield from _even_odd(study)
    yield from _other_ways(study)
    yield from _compromise(study)
    yield from _ring(study.ring)


def _best_affinity(affinities: dict[str, float], least: bool = False) -> tuple[str, float]:
    pick = min if least else max
    name = pick(affinities, key=lambda each: affinities[each])
    return name, affinities[name]


def _automatic(study: Study) -> Iterator[Row]:
    for step in study.steps:
        name, bandwidth = _best_affinity(step.affinities)
        ratio = step.best_gb_per_s / bandwidth
        said = f"better than {SHOWN[name]}" if ratio >= BETTER else f"as good as {SHOWN[name]}"
        what = f"{step.pattern.title}: the search is at least as good as the best affinity: {said}"
        yield statement_row(f"P/{step.pattern.name}", what, _SEARCH, ratio >= 1, ratio, "times its bandwidth")
    for operation in study.operations:
        name, time_us = _best_affinity(operation.affinities, least=True)
        ratio = time_us / operation.best_us
        said = f"better than {SHOWN[name]}" if ratio >= BETTER else f"as good as {SHOWN[name]}"
        what = (
            f"{operation.title}: the search finds a placement at least as good as the best affinity: {said}"
        )
        yield statement_row(f"P/{operation.name}", what, _SEARCH, ratio >= 1, ratio, "times faster")


def _even_odd(study: Study) -> Iterator[Row]:
    """EvenOdd "yields good performance on all the patterns studied": against the best placement there is."""
    shares = {step.pattern.name: step.affinities["even_odd"] / step.best_gb_per_s for step in study.steps}
    shares |= {
        operation.name: operation.best_us / operation.affinities["even_odd"] for operation in study.operations
    }
    for name, share in shares.items():
        what = f"{name}: EvenOdd is within 5 % of the best placement found"
        yield statement_row(f"E/{name}", what, _CLAIM, share >= GOOD, share, "of the best")
    least = min(shares, key=lambda name: shares[name])
    what = f"EvenOdd is good at all ten patterns (least: {least})"
    yield statement_row("E/all", what, _CLAIM, shares[least] >= GOOD, shares[least], "of the best")


def _other_ways(study: Study) -> Iterator[Row]:
    """The two ways of the paper's future work, against the best placement found by simulation."""
    for step in study.steps:
        model, cube = step.by_model[1] / step.best_gb_per_s, step.by_hypercube[1] / step.best_gb_per_s
        what = f"{step.pattern.title}: the placement that a model (link loads) proves best is good"
        yield statement_row(f"L/{step.pattern.name}", what, _SEARCH, model >= GOOD, model, "of the best")
        what = f"{step.pattern.title}: the placement by way of a hypercube onto EvenOdd is good"
        yield statement_row(f"H/{step.pattern.name}", what, _SEARCH, cube >= GOOD, cube, "of the best")


def _compromise(study: Study) -> Iterator[Row]:
    found = study.compromise
    for name, price in found.prices.items():
        what = f"{name}: price of the best compromise is at most 5 %"
        yield statement_row(f"C/{name}", what, _CLAIM, price <= 1 / GOOD, price, "times the best")
    even_odd = max(found.even_odd.values())
    what = "one placement for all ten patterns costs no pattern more than EvenOdd costs its worst"
    yield statement_row("C/all", what, _CLAIM, found.worst <= even_odd, found.worst, "times the best")


def _ring(ring: Ps3Ring) -> Iterator[Row]:
    for each in ring.certified:
        shown = mapping_text(each.mapping)
        what = f"PS3, {shown}, proven best by link load, is good: rank {each.rank} of 120 simulated"
        id = f"S/{shown[1:-1]}"
        yield statement_row(id, what, _PS3, each.factor <= 1 / GOOD, each.factor, "times the best")
    first = ring.certified[0].rank
    what = "PS3: the fastest of the 120 simulated mappings is among those proven best"
    yield statement_row("S/first", what, _PS3, first == 1, float(first), "best rank of the proven")
    what = "PS3: link load orders the mappings as the simulation does (rank correlation over 0.5)"
    yield statement_row("S/order", what, _PS3, ring.correlation > 0.5, ring.correlation)
    worst = max(each.factor for each in ring.certified)
    what = "PS3: a proven mapping is over 1 % better than one drawn at random (median)"
    unit = f"times the best, median {ring.median:.3g}"
    yield statement_row("S/random", what, _PS3, BETTER * worst < ring.median, worst, unit)
