"""Nested partitions of CPUs from their latencies: which groups are nearer to each other than to the rest.

Average linkage of log latencies gives one dendrogram; a level is a cut through it that stands out. Cuts are
tried from the widest jump between two merges down. A cut counts where the latencies inside its groups and
between them (held against the levels already found, finer and coarser) are far apart by ratio, overlap
little, and lie further apart than the same linkage would find in the same scatter without any groups. A
mesh, whose latencies rise smoothly with distance, has no such cut.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import cophenet, cut_tree, linkage
from scipy.spatial.distance import squareform

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

LEAST_RATIO = 1.25
"""Between the median latency among groups and inside them: what positions in a mesh or on a ring make up is
less.
"""
LEAST_STEP = 1.15
"""The same between a group and the nearest one beside it."""
LEAST_CRISP = 0.87
"""Share of latencies inside that are shorter than those to the nearest group beside, from a CPU."""
MORE_THAN_CHANCE = 1.2
"""Times the widest that a few draws of scatter give: several cuts are tried."""
MOST_OVERLAP = 0.2
"""Share of pairs on the wrong side of the middle, inside and between counted alike."""
LEAST_COVER = 0.25
"""Share of CPUs that a level groups: fewer are outliers."""
MAJORITY, MINORITY_RATIO = 0.5, 2.0
"""A level that groups fewer CPUs than this share must stand out by that ratio, as SMT siblings do."""
HANDFUL, HANDFUL_RATIO = 9, 1.6
"""So must one that fewer pairs than these lie beside,"""
NOISY_PAIRS, NOISY = 30, 0.06
"""or that fewer than these do, if their logarithms scatter by more than that."""
CONSISTENT, MOST_SCATTER = 0.75, 0.3
"""One that groups less than this share has latencies inside that agree to that standard deviation of
logarithms.
"""
_OUTLIER = float(np.log(1.5))
_FEWEST_THIRDS = 4
_MOST_CUTS = 48
_DRAWS = 8
_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Cut:
    """A cut of the dendrogram: the group of every CPU, and how far apart the merges around it are."""

    labels: Labels
    jump: float

    @property
    def groups(self) -> int:
        return int(self.labels.max()) + 1


def partitions(log_latency: Matrix) -> list[Labels]:
    """The levels, coarsest first: for each the group of every CPU. None where all CPUs are alike.

    Parameters
    ----------
    log_latency : ndarray
        Symmetric, without outliers (`without_outliers`); the diagonal is not read.
    """
    cpus = len(log_latency)
    if cpus < 3:
        return []
    found: list[Labels] = []
    for cut in sorted(_cuts(log_latency), key=lambda each: -each.jump)[:_MOST_CUTS]:
        trial = sorted([*found, cut.labels], key=lambda labels: int(labels.max()))
        if _all_stand_out(log_latency, trial):
            found = trial
    return found


def without_outliers(log_latency: Matrix) -> Matrix:
    """The same, with latencies lowered that are far beyond the way over some third CPU.

    Two CPUs that a third one is near to are near to each other, unless an interrupt came between: at least
    two such thirds must agree, so that one that is too short does not spread.
    """
    if len(log_latency) < _FEWEST_THIRDS:
        return log_latency.copy()
    cleaned = log_latency.copy()
    rows = log_latency.copy()
    np.fill_diagonal(rows, np.inf)
    for cpu in range(len(rows)):
        over = np.maximum(rows[cpu], rows)
        bound = np.partition(over, 1, axis=1)[:, 1]
        far = rows[cpu] > bound + _OUTLIER
        far[cpu] = False
        cleaned[cpu, far] = bound[far]
    return np.minimum(cleaned, cleaned.T)


def _cuts(log_latency: Matrix) -> list[_Cut]:
    """Every cut between two merges of different height."""
    tree = linkage(_condensed(log_latency), "average")
    heights = tree[:, 2]
    cpus = len(log_latency)
    jumps = np.diff(heights)
    wide = np.argsort(-jumps, kind="stable")[:_MOST_CUTS]
    wide = np.sort(wide[jumps[wide] > 0])
    if not len(wide):
        return []
    columns = cut_tree(tree, n_clusters=[cpus - 1 - int(at) for at in wide])
    return [_Cut(columns[:, index].astype(np.int64), float(jumps[at])) for index, at in enumerate(wide)]


def _condensed(log_latency: Matrix) -> Matrix:
    """As scipy wants it: not negative, zero on the diagonal."""
    distance = log_latency - log_latency[~np.eye(len(log_latency), dtype=bool)].min() + 1
    np.fill_diagonal(distance, 0)
    condensed: Matrix = squareform(distance, checks=False)
    return condensed


def _all_stand_out(log_latency: Matrix, levels: list[Labels]) -> bool:
    everything = np.zeros(len(log_latency), dtype=np.int64)
    each_alone = np.arange(len(log_latency))
    nested = [everything, *levels, each_alone]
    return all(
        _stands_out(log_latency, coarser, level, finer)
        for coarser, level, finer in zip(nested, nested[1:], nested[2:], strict=False)
    )


def _stands_out(log_latency: Matrix, coarser: Labels, level: Labels, finer: Labels) -> bool:
    cover = _cover(level, finer)
    if cover < LEAST_COVER:
        return False
    upper = np.triu(np.ones(log_latency.shape, dtype=bool), 1)
    inside = log_latency[upper & _same(level) & ~_same(finer)]
    between = log_latency[upper & _same(coarser) & ~_same(level)]
    if not len(inside) or not len(between):
        return False
    near, far = float(np.median(inside)), float(np.median(between))
    if far - near < np.log(_least_ratio(cover, len(between), _scatter(between))):
        return False
    if cover < CONSISTENT and _scatter(inside) > MOST_SCATTER:
        return False
    middle = (near + far) / 2
    overlap = (np.mean(inside > middle) + np.mean(between < middle)) / 2
    clear = len(between) <= HANDFUL and overlap == 0 and far - near >= np.log(HANDFUL_RATIO)
    return bool(
        overlap <= MOST_OVERLAP
        and _step_at_border(log_latency, coarser, level) >= np.log(LEAST_STEP)
        and _crispness(log_latency, coarser, level, finer) >= LEAST_CRISP
        and (clear or (far - near) / _scatter(between) > MORE_THAN_CHANCE * _by_chance(coarser, level, finer))
    )


def _least_ratio(cover: float, pairs: int, scatter: float) -> float:
    """More where a minority is grouped, and where a handful of values says nothing of their scatter."""
    if cover < MAJORITY:
        return MINORITY_RATIO
    few = pairs < HANDFUL or (pairs < NOISY_PAIRS and scatter > NOISY)
    return HANDFUL_RATIO if few else LEAST_RATIO


def _same(labels: Labels) -> npt.NDArray[np.bool_]:
    same: npt.NDArray[np.bool_] = labels[:, None] == labels[None, :]
    return same


def _parts(level: Labels, finer: Labels) -> Labels:
    """How many groups of the finer level each group holds."""
    first = np.unique(finer, return_index=True)[1]
    return np.bincount(level[first], minlength=int(level.max()) + 1)


def _cover(level: Labels, finer: Labels) -> float:
    """Share of CPUs in groups that hold several of the finer level's."""
    return float(np.mean(_parts(level, finer)[level] > 1))


def _step_at_border(log_latency: Matrix, coarser: Labels, level: Labels) -> float:
    """From inside a group to the nearest one beside, the median of groups: a slope has no step."""
    means = group_means(log_latency, level)
    siblings = _same(coarser[np.unique(level, return_index=True)[1]])
    np.fill_diagonal(siblings, False)
    inside = np.diag(means)
    nearest = np.where(siblings, means, np.inf).min(axis=1)
    whole = np.isfinite(inside) & np.isfinite(nearest)
    return float(np.median(nearest[whole] - inside[whole])) if whole.any() else 0.0


def _crispness(log_latency: Matrix, coarser: Labels, level: Labels, finer: Labels) -> float:
    """How seldom a CPU has a neighbour outside that is nearer than one inside; on a slope it often has."""
    groups = int(level.max()) + 1
    member = (level[None, :] == np.arange(groups)[:, None]).astype(float)
    values = log_latency.copy()
    np.fill_diagonal(values, 0)
    beside = coarser[:, None] == coarser[np.unique(level, return_index=True)[1]][None, :]
    beside[np.arange(len(level)), level] = False
    nearest = np.where(beside, values @ member.T / member.sum(axis=1), np.inf).argmin(axis=1)
    shares = []
    for cpu in np.flatnonzero(beside.any(axis=1)).tolist():
        inside = log_latency[cpu][(level == level[cpu]) & (finer != finer[cpu])]
        outside = log_latency[cpu][level == nearest[cpu]]
        if len(inside):
            shares.append(float(np.mean(inside[:, None] < outside[None, :])))
    return float(np.mean(shares)) if shares else 0.0


def group_means(log_latency: Matrix, level: Labels) -> Matrix:
    """Mean between every two groups; inside a group of its pairs, infinite where it is one CPU."""
    member = (level[None, :] == np.arange(int(level.max()) + 1)[:, None]).astype(float)
    values = log_latency.copy()
    np.fill_diagonal(values, 0)
    sizes = member.sum(axis=1)
    pairs = np.outer(sizes, sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1))
    means: Matrix = np.full(pairs.shape, np.inf)
    np.divide(member @ values @ member.T, pairs, out=means, where=pairs > 0)
    return means


def _by_chance(coarser: Labels, level: Labels, finer: Labels) -> float:
    """How far apart, in scatters, the same linkage finds as many groups of parts where there are none.

    Of a handful of values there is no scatter to speak of; for those the ratio alone decides.
    """
    parts = [int(count) for count in _parts(coarser, finer) if count > 1]
    merges = len(set(finer.tolist())) - len(set(level.tolist()))
    if sum(count * (count - 1) // 2 for count in parts) < HANDFUL + merges:
        return 0.0
    random = np.random.default_rng(len(finer))
    return max(_apart_by_chance(random, parts, merges) for _ in range(_DRAWS))


def _apart_by_chance(random: np.random.Generator, parts: list[int], merges: int) -> float:
    noise, joined, heights = [], [], []
    for count in parts:
        values = random.normal(0, 1, count * (count - 1) // 2)
        lift = float(values.min()) - 1
        tree = linkage(values - lift, "average")
        noise.append(values)
        heights.append(tree[:, 2] + lift)
        joined.append(cophenet(tree) + lift)
    highest = np.sort(np.concatenate(heights))[merges - 1]
    inside = np.concatenate(joined) <= highest + _ROUNDING
    values = np.concatenate(noise)
    if inside.all():
        return 0.0
    return float(np.median(values[~inside]) - np.median(values[inside])) / _scatter(values[~inside])


def _scatter(values: Matrix) -> float:
    """Standard deviation of most of them; never zero."""
    return max(1.4826 * float(np.median(np.abs(values - np.median(values)))), _ROUNDING)
