"""Paper 000's claims, each as a row: the numbers of Table 1, the collectives' times, what its text says.

Tolerances: "good" is within 5 % of the best affinity of that pattern, "poor" at least 20 % below it; "equal"
is within 5 %.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np

from corewise import _lab
from corewise.analysis.result import Row, number_row, statement_row
from corewise.data.published import DataSet, Published, published_as
from corewise.papers.affinity.data import (
    AFFINITIES,
    DEFAULT,
    SHOWN,
    SIZES,
    STEP_OF_FIGURE_2,
    Measurements,
    deviation,
)

GOOD = 0.95
POOR = 0.80
EQUAL = 0.05
AS_PRINTED = "A7p"
PORT_GB_PER_S = 25.6
_KB = 1024
UNEXPLAINED = 0.05
"""Flows in like positions differ by up to this in the paper: 24.2 to 24.7 alone, 19.1 to 20.1 in #5."""

RELABELLED = (
    "an affinity relabels the ranks of a uniformly random permutation, which gives a uniformly random "
    "permutation again: all have the same distribution of transfers, and each wins one time in six"
)
"""Why EvenOdd cannot win on all random permutations but one."""

POOR_ONES: dict[str, tuple[str, ...]] = {
    "ring": ("overlap", "ring", "identity"),
    "recursive_doubling_1": ("overlap",),
    "recursive_doubling_2": ("leap2",),
    "recursive_doubling_3": ("ring",),
    "bruck_2": ("ring", "overlap", "leap2"),
    "binomial_tree_3": (),
}
"""What section 5 says loses on each pattern; the other deterministic affinities are good."""
LOOKED_AT = "A10"
"""Held out at first; then candidates for the bus's rules were dropped by it, as by all that the paper says of
good and poor affinities (docs/decisions/0006)."""
_STATED_IN: dict[str, str] = {
    "ring": "000 figure 5 left",
    "recursive_doubling_1": "000 figure 5 right",
    "recursive_doubling_2": "000 figure 6 left",
    "recursive_doubling_3": "000 figure 6 right",
    "bruck_2": "000 figure 7 left",
    "binomial_tree_3": "000 figure 7 right",
}
"""All were looked at; those of ring, recursive_doubling_3 and bruck_2 were meant to be held out."""


def rows_of(found: Measurements) -> tuple[Row, ...]:
    """Every row, in the paper's order."""
    return (
        *_alone(found),
        *_figure_2(found),
        *_trial_scatter(found),
        *table1_rows(found),
        *_table1_order(found),
        *_table1_comments(found),
        *_rules_of_thumb(found),
        *_classes(found),
        *_gains(found),
        *_tree_collectives(found),
        *_all_gathers(found),
        *_permutations(found),
    )


# ---- sections 2 to 4 -------------------------------------------------------------------------------------


def _alone(found: Measurements) -> Iterator[Row]:
    latency = found.latency_ns[~np.isnan(found.latency_ns)]
    yield statement_row(
        "L1/short",
        "latency between SPEs is under 100 ns for short messages (128 B)",
        "000 section 1",
        bool(latency.max() < 100),
        float(latency.max()),
        "ns",
        "C",
    )
    spread = float(latency.max() / latency.min() - 1)
    yield statement_row(
        "L1/equal",
        "latency of short messages is identical for each pair of SPEs",
        "000 section 1",
        spread <= EQUAL,
        100 * spread,
        "% spread",
        "C",
    )
    readers = float((found.alone.max(axis=0) / found.alone.min(axis=0) - 1).max())
    yield statement_row(
        "B12/position",
        "alone, the bandwidth from SPE 0 does not depend on the reader's position",
        "000 figure 1 right",
        readers <= EQUAL,
        100 * readers,
        "% spread",
        "C",
    )
    share = float(found.alone[:, -1].min() / PORT_GB_PER_S)
    yield statement_row(
        "B12/limit",
        "alone, long messages reach the theoretical limit of 25.6 GB/s (94 % as in row 1 of Table 1)",
        "000 section 1",
        share >= 0.94,
        100 * share,
        "% of the limit",
        "C",
    )
    yield number_row("K3", "barrier of 8 SPEs", "000 section 3", 0.4, found.barrier_us, "us", "C")


def threshold_bytes(found: Measurements) -> int:
    """Smallest message size at which the worst named affinity is more than 5 % below the best; 0 if none."""
    curves = np.array([found.sizes[STEP_OF_FIGURE_2, affinity] for affinity in AFFINITIES])
    apart = curves.min(axis=0) < GOOD * curves.max(axis=0)
    return int(SIZES[int(apart.argmax())]) if apart.any() else 0


def _figure_2(found: Measurements) -> Iterator[Row]:
    threshold = threshold_bytes(found)
    yield statement_row(
        "B11",
        "affinity starts to matter between 1 and 4 KB",
        "000 figure 2 left",
        _KB < threshold <= 4 * _KB,
        threshold / _KB,
        "KB",
        "H",
    )
    trials = found.steps[STEP_OF_FIGURE_2, "overlap"]
    uneven = float((trials.max(axis=1) / trials.min(axis=1)).max())
    yield statement_row(
        "B11/uneven",
        "with a bad affinity (Overlap) some SPEs get good bandwidth while others get little",
        "000 figure 2 right",
        uneven > 1.1,
        uneven,
        "best / worst SPE",
        "C",
    )


def _trial_scatter(found: Measurements) -> Iterator[Row]:
    default, identity = (
        float(deviation(found.steps[STEP_OF_FIGURE_2, affinity].min(axis=1)))
        for affinity in (DEFAULT, "identity")
    )
    yield statement_row(
        "B15/default",
        "repeated trials of the default affinity scatter much more than those of Identity",
        "000 figures 3 and 4",
        default > 4 * identity,
        default,
        "GB/s sd",
        "H",
    )
    mean = float(found.steps[STEP_OF_FIGURE_2, "identity"].min(axis=1).mean())
    yield statement_row(
        "B15/identity",
        "all SPEs consistently get good bandwidth with Identity (sd below 1 %)",
        "000 figure 4",
        identity < 0.01 * mean,
        identity,
        "GB/s sd",
        "H",
    )


# ---- table 1 ---------------------------------------------------------------------------------------------


def table1_rows(found: Measurements) -> Iterator[Row]:
    """The 38 values, and those of #7 as printed, which belong to no set."""
    for experiment in _lab.paper000_table1():
        printed = experiment.id == AS_PRINTED
        values = published_as("A7" if printed else experiment.id)
        means = found.table1[experiment.id].mean(axis=0)
        for flow, value, ours in zip(experiment.flows, values, means, strict=True):
            name = f"{flow[0]}<-{flow[1]}"
            what = f"{name} (looked at)" if experiment.id == LOOKED_AT else name
            yield number_row(
                f"{experiment.id}/{name}",
                what,
                value.source,
                value.value,
                float(ours),
                value.unit,
                None if printed else value.set,
            )


def distinct_pairs(values: tuple[Published, ...], least: float = 0.0) -> Iterator[tuple[int, int]]:
    """(faster, slower) flows of an experiment that are over two standard deviations (of both) apart.

    Parameters
    ----------
    values : tuple of Published
        The experiment's flows.
    least : float
        And by more than this share of the faster one.
    """
    for one, other in combinations(range(len(values)), 2):
        high, low = (one, other) if values[one].value > values[other].value else (other, one)
        apart = values[high].value - values[low].value
        both = math.hypot(values[high].sd or 0.0, values[low].sd or 0.0)
        if apart > max(2 * both, least * values[high].value):
            yield high, low


def _table1_order(found: Measurements) -> Iterator[Row]:
    readings = (
        ("order", UNEXPLAINED, f"by more than {100 * UNEXPLAINED:.0f} %"),
        ("order-strict", 0.0, "by however little"),
    )
    for name, least, said in readings:
        right, pairs = 0, 0
        for experiment in _lab.paper000_table1():
            if experiment.id == AS_PRINTED:
                continue
            means = found.table1[experiment.id].mean(axis=0)
            distinct = list(distinct_pairs(published_as(experiment.id), least))
            pairs += len(distinct)
            right += sum(bool(means[high] > means[low]) for high, low in distinct)
        yield statement_row(
            f"A/{name}",
            f"flows of one experiment that are two standard deviations apart, {said}, are in this order",
            "000 table 1",
            right == pairs,
            float(right),
            f"of {pairs} pairs",
        )


def _table1_comments(found: Measurements) -> Iterator[Row]:
    mean = {name: trials.mean(axis=0) for name, trials in found.table1.items()}
    alone = float(mean["A1"][0])

    def row(id: str, what: str, holds: bool, ours: float, set: DataSet) -> Row:
        return statement_row(f"{id}/comment", what, "000 table 1", holds, ours, "of #1", set)

    def least(id: str) -> float:
        return float(mean[id].min()) / alone

    yield row(
        "A2", "#2: two messages in one direction keep their bandwidth", least("A2") > 0.98, least("A2"), "C"
    )
    three, four, five = (float(mean[id].mean()) / alone for id in ("A3", "A4", "A5"))
    yield row("A3", "#3: three without overlap lose slightly", 0.95 < three < 1, three, "C")
    yield row("A4", "#4: four lose more than three", four < three, four, "C")
    yield row("A5", "#5: five lose much more, about 15 %", 0.75 < five < 0.88, five, "C")
    yield row("A6", "#6: being source and destination costs nothing", least("A6") > 0.98, least("A6"), "H")
    other_way = float(mean["A7"][-1]) / alone
    yield row("A7", "#7: traffic one way does not affect the other way", other_way > 0.98, other_way, "H")
    yield row("A8", "#8: two overlapping messages keep their bandwidth", least("A8") > 0.98, least("A8"), "C")
    first = bool(mean["A9"].argmax() == 1) and least("A9") < POOR
    yield row(
        "A9", "#9: three overlapping messages lose, not evenly; 6<-0 keeps most", first, least("A9"), "C"
    )
    outer = float(min(mean["A10"][0], mean["A10"][4]) / mean["A10"][1:4].max())
    yield row("A10", "#10: half way across, 0<-7 and 7<-0 get most", outer > 1, least("A10"), "C")
    both = min(least("A11a"), least("A11b"))
    yield row("A11", "#11: half-way messages take both directions, nobody loses", both > 0.98, both, "H")


def _rules_of_thumb(found: Measurements) -> Iterator[Row]:
    mean = {name: trials.mean(axis=0) for name, trials in found.table1.items()}
    alone = float(mean["A1"][0])
    two, three = float(mean["A8"].min()) / alone, float(mean["A9"].min()) / alone
    yield statement_row(
        "R1",
        "rule 1: two overlapping messages in one direction are free, three are not",
        "000 section 4",
        two >= GOOD and three <= POOR,
        three,
        "of alone",
    )
    one_way, balanced = float(mean["A5"].min()), float(mean["A7"].min())
    yield statement_row(
        "R2",
        "rule 2: five messages are better balanced over both directions than in one",
        "000 section 4",
        balanced > 1.1 * one_way,
        balanced / one_way,
        "balanced / one way",
    )
    free = min(float(mean["A11a"].min()), float(mean["A11b"].min())) / alone
    yield statement_row(
        "R3",
        "rule 3: a half-way message goes whichever way is free",
        "000 section 4",
        free >= GOOD,
        free,
        "of alone",
    )


# ---- section 5 -------------------------------------------------------------------------------------------


def relative_minima(found: Measurements, pattern: str) -> dict[str, float]:
    """Least bandwidth under each named affinity, over that of the best one."""
    minima = {affinity: found.minimum(pattern, affinity) for affinity in AFFINITIES}
    best = max(minima.values())
    return {affinity: value / best for affinity, value in minima.items()}


def _classes(found: Measurements) -> Iterator[Row]:
    for pattern in _lab.paper000_table2():
        relative = relative_minima(found, pattern.name)
        for affinity, share in relative.items():
            poor = affinity in POOR_ONES[pattern.name]
            yield statement_row(
                f"{pattern.id}/{affinity}",
                f"{pattern.title}: {SHOWN[affinity]} is {'poor' if poor else 'good'}",
                _STATED_IN[pattern.name],
                share <= POOR if poor else share >= GOOD,
                share,
                "of the best",
                "C",
            )
    yield statement_row(
        "B1/overlap-half",
        "ring: Overlap gets less than half of the best",
        "000 figure 5 left",
        relative_minima(found, "ring")["overlap"] < 0.5,
        relative_minima(found, "ring")["overlap"],
        "of the best",
        "C",
    )
    bruck = {affinity: found.minimum("bruck_2", affinity) for affinity in AFFINITIES}
    yield statement_row(
        "B5/order",
        "Bruck phase 2: EvenOdd best, Identity a little below",
        "000 figure 7 left",
        max(bruck, key=lambda name: bruck[name]) == "even_odd"
        and bruck["identity"] >= GOOD * bruck["even_odd"],
        bruck["identity"] / bruck["even_odd"],
        "Identity / EvenOdd",
        "H",
    )
    even_odd = min(relative_minima(found, pattern.name)["even_odd"] for pattern in _lab.paper000_table2())
    yield statement_row(
        "B16",
        "EvenOdd performs well on every pattern",
        "000 section 5",
        even_odd >= GOOD,
        even_odd,
        "of the best, least",
        "C",
    )


def _gains(found: Measurements) -> Iterator[Row]:
    over_poor, over_default, over_trial = 0.0, 0.0, 0.0
    for pattern in _lab.paper000_table2():
        minima = [found.minimum(pattern.name, affinity) for affinity in AFFINITIES]
        trials = found.steps[pattern.name, DEFAULT].min(axis=1)
        over_poor = max(over_poor, max(minima) / min(minima))
        over_default = max(over_default, max(minima) / float(trials.mean()))
        over_trial = max(over_trial, max(minima) / float(trials.min()))
    said = (
        ("B14/poor", "a good affinity gains over a factor of two over a poor one", over_poor, 2.0),
        ("B14/default", "a good affinity is close to twice the average of the default", over_default, 1.8),
        ("B14/trial", "a good affinity gains up to a factor of two over the default", over_trial, 1.8),
    )
    for id, what, gain, least in said:
        yield statement_row(id, what, "000 sections 1 and 7", gain >= least, gain, "times", "C")


def _spread(found: Measurements, operation: str) -> float:
    times = [found.time_us(operation, affinity) for affinity in (*AFFINITIES, DEFAULT)]
    return max(times) / min(times) - 1


def _tree_collectives(found: Measurements) -> Iterator[Row]:
    for id, operation, limit_us in (("B9", "broadcast", 15.36), ("B10", "scatter", 4.48)):
        (value,) = published_as(id)
        times = [found.time_us(operation, affinity) for affinity in AFFINITIES]
        yield number_row(
            id,
            f"{operation}, mean of the affinities",
            value.source,
            value.value,
            float(np.mean(times)),
            "us",
            value.set,
        )
        spread = _spread(found, operation)
        yield statement_row(
            f"{id}/equal",
            f"{operation}: all affinities are around equally good",
            "000 section 5",
            spread <= EQUAL,
            100 * spread,
            "% spread",
            value.set,
        )
        yield statement_row(
            f"{id}/limit",
            f"{operation}: synchronisation takes time beyond the limit of {limit_us} us (KB of 1024 bytes)",
            "000 section 5",
            min(times) > limit_us,
            min(times) / limit_us,
            "of the limit",
            value.set,
        )


def _all_gathers(found: Measurements) -> Iterator[Row]:
    bruck = {affinity: found.time_us("all_gather_bruck", affinity) for affinity in AFFINITIES}
    groups = (("even_odd",), ("identity", "leap2"), ("overlap",), ("ring",))
    for better, worse in pairwise(groups):
        slow, fast = max(bruck[name] for name in better), min(bruck[name] for name in worse)
        yield statement_row(
            f"B7/{better[0]}",
            f"Bruck all-gather: {_names(better)} before {_names(worse)}",
            "000 figure 8 left",
            slow < fast,
            fast / slow,
            "time ratio",
            "H",
        )
    doubling = {affinity: found.time_us("all_gather_recursive_doubling", affinity) for affinity in AFFINITIES}
    slow = max(doubling[name] for name in ("even_odd", "identity"))
    fast = min(doubling[name] for name in ("ring", "overlap", "leap2"))
    yield statement_row(
        "B8",
        "recursive-doubling all-gather: EvenOdd and Identity best, the other three worse",
        "000 figure 8 right",
        slow < fast,
        fast / slow,
        "time ratio",
        "H",
    )


def _names(affinities: tuple[str, ...]) -> str:
    return " and ".join(SHOWN[name] for name in affinities)


# ---- permutations ----------------------------------------------------------------------------------------


def permutation_wins(found: Measurements) -> dict[str, int]:
    """How often each affinity is the best one of a permutation of sources."""
    names = (*AFFINITIES, DEFAULT)
    best = found.permutations.argmax(axis=1)
    return {name: int((best == index).sum()) for index, name in enumerate(names)}


def permutation_lead(found: Measurements) -> dict[str, float]:
    """Each affinity's bandwidth over the best one of the same permutation, mean over the permutations."""
    relative = found.permutations / found.permutations.max(axis=1, keepdims=True)
    return {name: float(relative[:, index].mean()) for index, name in enumerate((*AFFINITIES, DEFAULT))}


def _permutations(found: Measurements) -> Iterator[Row]:
    count = found.permutations.shape[0]
    wins = permutation_wins(found)
    even_odd = list(AFFINITIES).index("even_odd")
    near = found.permutations[:, even_odd] >= GOOD * found.permutations.max(axis=1)
    yield statement_row(
        "B13/best",
        f"EvenOdd is the best in all but one of {count} random permutations of sources",
        "000 section 5",
        wins["even_odd"] >= count - 1,
        float(wins["even_odd"]),
        f"of {count}",
        "H",
        RELABELLED,
    )
    yield statement_row(
        "B13/near",
        "EvenOdd is within 5 % of the best in all but one of them",
        "000 section 5",
        bool(near.sum() >= count - 1),
        float(near.sum()),
        f"of {count}",
        "H",
        RELABELLED,
    )
