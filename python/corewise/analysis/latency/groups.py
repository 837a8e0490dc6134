"""From partitions to a tree of groups: what symmetry completes, and what equal rows add.

Three facts of real processors that distances alone miss. A coherent link may pass every request through the
socket or die where the line has its home, so that the CPUs of the other one are as far from each other as
from the first; and a cluster behind one port of a network may be no nearer to itself than to others, while
its CPUs see everything else at the same distances. The first is completed where exactly one group of the
usual size is missing, the second found in measurements quiet enough to show equal rows. And a coarse clock
shows some pairs of hardware threads at twice the latency of others, where no cut has all of them; but every
CPU's sibling is still the nearest to it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import squareform

from corewise.analysis.latency.levels import (
    LEAST_RATIO,
    Labels,
    Matrix,
    group_means,
    partitions,
    without_outliers,
)

COMPLETE_FROM = 0.75
"""Share of CPUs in groups of one size, from which a rest of that size is one, too."""
EQUAL_ROWS = 0.003
"""Mean difference between the logarithms of two rows that are called equal: 0.3 %."""
OUTLIERS = 0.15
"""Share of a row's differences that is left out, the largest."""
ROW_STEP = 3.0
"""So many times further apart are the rows of different groups."""
SMT_BELOW_NS = 15.0
"""Hardware threads of a core hand a line over in its first cache: 4 to 13 ns on all that were seen, cores
from 16.
"""
MOST_GROUPS = 0.75
"""Share of the groups in which rows must say so: a lucky draw in one is none."""
MOST_THREADS = 8
"""Hardware threads of a core."""
FEWEST_PAIRED, NEAREST = 8, 0.9
"""CPUs whose siblings say something, and the share of them to which no other CPU is nearer."""
_FEWEST_PARTS = 8
_SHUFFLES = 20
_CLEAR = 3e-4
"""Rows that differ less than this differ by rounding."""


@dataclass
class Group:
    """CPUs that are nearer to each other, or more alike, than to the rest.

    Attributes
    ----------
    cpus : sorted.
    parts : the groups inside, by their first CPU; single CPUs are groups without parts.
    latency_ns : median between CPUs of different parts; 0 for a single CPU.
    range_ns : the least and the largest of these.
    is_core : whether these are hardware threads of one core.
    how : ``near``, ``completed`` by symmetry, or ``rows`` that are equal; ``all`` for the whole, ``cpu``
        for one.
    """

    cpus: tuple[int, ...]
    how: str
    latency_ns: float = 0.0
    range_ns: tuple[float, float] = (0.0, 0.0)
    parts: list[Group] = field(default_factory=list)
    is_core: bool = False


def find_groups(latency_ns: Matrix) -> Group:
    """The tree of groups of a symmetric matrix of latencies."""
    cpus = len(latency_ns)
    positive = np.where(np.eye(cpus, dtype=bool), 1.0, latency_ns)
    log_latency = np.log(positive)
    levels = partitions(without_outliers(log_latency))
    completed = _completed(levels, cpus)
    pairs = _siblings(log_latency)
    if pairs is not None and all(_members(labels) != _members(pairs) for labels in completed):
        means = without_outliers(group_means(log_latency, pairs))
        levels = [*(level[pairs] for level in partitions(means)), pairs]
        completed = _completed(levels, cpus)
    found = {group: "near" for labels in levels for group in _members(labels)}
    for labels in completed:
        for group in _members(labels):
            found.setdefault(group, "completed")
    for group in _equal_rows(log_latency, [*levels, np.arange(cpus)]):
        found.setdefault(group, "rows")
    return _tree(found, latency_ns)


def _members(labels: Labels) -> list[tuple[int, ...]]:
    """The groups of more than one CPU, in order."""
    groups = [tuple(np.flatnonzero(labels == group).tolist()) for group in range(int(labels.max()) + 1)]
    return sorted(group for group in groups if len(group) > 1)


# ---- siblings --------------------------------------------------------------------------------------------


def _siblings(log_latency: Matrix) -> Labels | None:
    """The CPUs in pairs of hardware threads: of all ways to pair them the nearest."""
    cpus = np.arange(len(log_latency))
    if len(cpus) < FEWEST_PAIRED:
        return None
    apart = log_latency.copy()
    np.fill_diagonal(apart, np.inf)
    sibling = linear_sum_assignment(apart)[1]
    if not np.array_equal(sibling[sibling], cpus):
        return None
    own = apart[cpus, sibling]
    apart[cpus, sibling] = np.inf
    np.fill_diagonal(apart, np.inf)
    others = apart.min(axis=1)
    if np.mean(own <= others) < NEAREST or np.median(own) >= np.log(SMT_BELOW_NS):
        return None
    if np.median(others - own) < np.log(LEAST_RATIO):
        return None
    return np.unique(np.minimum(cpus, sibling), return_inverse=True)[1].astype(np.int64)


# ---- symmetry --------------------------------------------------------------------------------------------


def _completed(levels: list[Labels], cpus: int) -> list[Labels]:
    """The levels, with a rest made a group where exactly one of the usual size is missing."""
    whole = np.zeros(cpus, dtype=np.int64)
    completed: list[Labels] = []
    for index, level in enumerate(levels):
        coarser = completed[-1] if completed else whole
        finer = levels[index + 1] if index + 1 < len(levels) else np.arange(cpus)
        completed.append(_complete(level, coarser, finer))
    return completed


def _complete(level: Labels, coarser: Labels, finer: Labels) -> Labels:
    sizes = np.bincount(level)
    covered = Counter({int(size): int(size * np.sum(sizes == size)) for size in set(sizes.tolist())})
    usual = max(covered, key=lambda size: (covered[size], size))
    if usual == 1 or len(covered) == 1:
        usual = max(covered)
    result = level.copy()
    for group in range(int(coarser.max()) + 1):
        rest = (coarser == group) & (sizes[level] < usual)
        if int(rest.sum()) != usual:
            continue
        many = covered[usual] >= COMPLETE_FROM * len(level)
        if many or _same_parts(level, finer, rest, (coarser == group) & (sizes[level] == usual)):
            result[rest] = level[rest].min()
    return np.unique(result, return_inverse=True)[1].astype(np.int64)


def _same_parts(
    level: Labels, finer: Labels, rest: npt.NDArray[np.bool_], whole: npt.NDArray[np.bool_]
) -> bool:
    """Whether the rest has parts like those of a whole group beside it, which are no single CPUs."""
    if not whole.any():
        return False
    wanted = sorted(np.bincount(finer[level == level[whole][0]]).tolist())
    wanted = [size for size in wanted if size]
    found = [size for size in sorted(np.bincount(level[rest]).tolist()) if size]
    return found == wanted and wanted[0] > 1


# ---- equal rows ------------------------------------------------------------------------------------------


def _equal_rows(log_latency: Matrix, levels: list[Labels]) -> list[tuple[int, ...]]:
    """Groups of one size whose CPUs see all others alike, inside the finest groups that have parts enough."""
    nested = [np.zeros(len(log_latency), dtype=np.int64), *levels]
    cores = levels[-2] if len(levels) > 1 and _are_cores(log_latency, levels[-2]) else levels[-1]
    coarser = [labels for labels in nested if labels.max() < cores.max()][-1:] or nested[:1]
    means = group_means(log_latency, cores)
    groups = [np.unique(cores[coarser[0] == group]) for group in range(int(coarser[0].max()) + 1)]
    groups = [parts for parts in groups if len(parts) >= _FEWEST_PARTS]
    blocks = [_row_blocks(means, parts) for parts in groups]
    if sum(map(bool, blocks)) < MOST_GROUPS * len(groups) or _rows_by_chance(means, groups):
        return []
    return [tuple(np.flatnonzero(np.isin(cores, each)).tolist()) for inside in blocks for each in inside]


def _are_cores(log_latency: Matrix, labels: Labels) -> bool:
    inside = np.diag(group_means(log_latency, labels))
    inside = inside[np.isfinite(inside)]
    return bool(len(inside)) and float(np.exp(np.median(inside))) < SMT_BELOW_NS


def _row_blocks(means: Matrix, parts: Labels) -> list[Labels]:
    """The parts of each block, where blocks of one size stand out."""
    heights, tree = _row_linkage(means, parts)
    floored = np.maximum(heights, _CLEAR)
    jumps = np.flatnonzero((floored[1:] > ROW_STEP * floored[:-1]) & (floored[:-1] < EQUAL_ROWS))
    for at in jumps.tolist():
        labels = cut_tree(tree, n_clusters=len(parts) - 1 - at)[:, 0]
        sizes = np.bincount(labels)
        grouped = sizes[sizes > 1]
        if len(set(grouped.tolist())) == 1 and grouped.sum() >= len(parts) / 2 and len(grouped) > 1:
            return [parts[labels == block] for block in np.flatnonzero(sizes > 1)]
    return []


def _rows_by_chance(means: Matrix, groups: Sequence[Labels]) -> bool:
    """Whether the same latencies in any other order have equal rows, too: few different values do."""
    random = np.random.default_rng(len(means))
    upper = np.triu_indices(len(means), 1)
    for _ in range(_SHUFFLES):
        shuffled = np.zeros_like(means)
        shuffled[upper] = random.permutation(means[upper])
        shuffled += shuffled.T
        if any(_row_blocks(shuffled, parts) for parts in groups):
            return True
    return False


def _row_linkage(means: Matrix, parts: Labels) -> tuple[Matrix, Matrix]:
    rows = np.where(np.isfinite(means[parts]), means[parts], 0)
    apart = np.zeros((len(parts), len(parts)))
    for index, part in enumerate(parts):
        difference = np.abs(rows[index] - rows)
        difference[:, part] = np.inf
        difference[np.arange(len(parts)), parts] = np.inf
        kept = int((1 - OUTLIERS) * (len(means) - 2))
        apart[index] = np.sort(difference, axis=1)[:, :kept].mean(axis=1)
    apart = (apart + apart.T) / 2
    np.fill_diagonal(apart, 0)
    tree = linkage(squareform(apart, checks=False), "average")
    return tree[:, 2], tree


# ---- the tree --------------------------------------------------------------------------------------------


def _tree(found: dict[tuple[int, ...], str], latency_ns: Matrix) -> Group:
    cpus = len(latency_ns)
    root = Group(tuple(range(cpus)), "all")
    groups = [Group(members, how) for members, how in found.items() if len(members) < cpus]
    groups += [Group((cpu,), "cpu") for cpu in range(cpus)] if cpus > 1 else []
    inside = dict.fromkeys(range(cpus), root)
    for group in sorted(groups, key=lambda each: -len(each.cpus)):
        parent = inside[group.cpus[0]]
        if len({id(inside[cpu]) for cpu in group.cpus}) > 1 or parent.cpus == group.cpus:
            continue
        parent.parts.append(group)
        for cpu in group.cpus:
            inside[cpu] = group
    _measure(root, latency_ns)
    _mark_cores(root)
    return root


def _mark_cores(root: Group) -> None:
    """Innermost groups as small and quick as hardware threads are; as many as most of those have."""
    innermost = [
        group for group in _all_groups(root) if group.parts and not any(p.parts for p in group.parts)
    ]
    quick = [group for group in innermost if group is not root and group.latency_ns < SMT_BELOW_NS]
    sizes = Counter(len(group.cpus) for group in quick if len(group.cpus) <= MOST_THREADS)
    if not sizes:
        return
    threads = sizes.most_common(1)[0][0]
    usual = float(np.median([group.latency_ns for group in quick if len(group.cpus) == threads]))
    for group in innermost:
        like = group.latency_ns < max(SMT_BELOW_NS, 2 * usual) or group.how == "completed"
        group.is_core = len(group.cpus) == threads and group is not root and like


def _all_groups(root: Group) -> list[Group]:
    return [root, *(inside for part in root.parts for inside in _all_groups(part))]


def _measure(group: Group, latency_ns: Matrix) -> None:
    """Fills in the latencies of a group and of all inside; sorts parts."""
    group.parts.sort(key=lambda part: part.cpus)
    part_of = np.full(len(latency_ns), -1)
    for index, part in enumerate(group.parts):
        part_of[list(part.cpus)] = index
        _measure(part, latency_ns)
    own = part_of[list(group.cpus)]
    values = latency_ns[np.ix_(group.cpus, group.cpus)][own[:, None] < own[None, :]]
    if len(values):
        group.latency_ns = float(np.median(values))
        group.range_ns = (float(values.min()), float(values.max()))
