"""A tree of links whose hops add up to the latencies between CPUs.

Every CPU lies equally deep: where a part of the processor has a level less, a node with one child stands
in. Nodes of a level whose latencies agree, under parents that agree, share one hop latency; hops are those,
none of them negative, whose sums come nearest to the medians by least squares of the relative errors.
Latencies that no tree has (a cluster whose cores are nearer to everybody else than to each other) are met
as closely as that allows, and `error` says so.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import nnls

from corewise.analysis.latency.groups import Group
from corewise.analysis.latency.levels import Labels, Matrix

ALIKE = 1.15
"""Nodes whose latencies differ by less than this ratio share their hop latency."""
LEAST_SHARE = 0.2
"""Of the nodes of a level: fewer that differ are no kind of their own."""
LEAST_HOP_NS = 0.05
"""What a link takes at least: a machine file has no link that takes no time."""
_EVEN = 1e-3
UNKNOWN_HOP_NS = 20.0
"""Of the one link of a single CPU, which nobody measured."""


@dataclass(frozen=True)
class TreeLevel:
    """One level of the tree, as a machine file describes it.

    Attributes
    ----------
    parts : the groups that are nodes of this level, in order; a CPU or a smaller group stands in where
        there is none.
    counts : nodes under each node of the level above.
    hop_ns : latency of each node's links.
    is_core : whether the nodes are cores with hardware threads below.
    """

    parts: tuple[Group, ...]
    counts: tuple[int, ...]
    hop_ns: tuple[float, ...]
    is_core: bool


@dataclass(frozen=True)
class LatencyTree:
    """Levels from outermost to the CPUs, and the CPUs in the order of the last level's nodes.

    Attributes
    ----------
    error : the largest relative difference between a sum of hops and the median latency that it stands for.
    """

    levels: tuple[TreeLevel, ...]
    cpus: tuple[int, ...]
    error: float


@dataclass
class _Node:
    group: Group
    height: int
    children: list[_Node] = field(default_factory=list)
    kind: int = 0


def latency_tree(root: Group, latency_ns: Matrix) -> LatencyTree:
    """The tree of links for a tree of groups."""
    threads = any(group.is_core for group in _groups(root))
    top = _padded(root, max(1, _height(root, threads)), threads)
    rows = [[top]]
    while rows[-1][0].height:
        rows.append([child for node in rows[-1] for child in node.children])
    kinds = _assign_kinds(rows)
    cpus = [node.group.cpus[0] for node in rows[-1]]
    hops, error = _fit(rows, kinds, latency_ns[np.ix_(cpus, cpus)])
    levels = [
        TreeLevel(
            tuple(node.group for node in row),
            tuple(len(node.children) for node in above),
            tuple(float(hops[node.kind]) for node in row),
            threads and row[0].height == 1,
        )
        for above, row in itertools.pairwise(rows)
    ]
    return LatencyTree(tuple(levels), tuple(cpus), error)


def renumbered(root: Group, tree: LatencyTree, cpus: Sequence[int]) -> LatencyTree:
    """The tree by the operating system's numbers instead of rows; the groups of `root` get them, too."""
    for group in _groups(root):
        group.cpus = tuple(cpus[row] for row in group.cpus)
    return replace(tree, cpus=tuple(cpus[row] for row in tree.cpus))


def _groups(root: Group) -> Iterator[Group]:
    yield root
    for part in root.parts:
        yield from _groups(part)


def _height(group: Group, threads: bool) -> int:
    """Levels below; only a core lies one above its hardware threads."""
    if not group.parts:
        return 0
    if threads and group.is_core:
        return 1
    return max(1 + threads, 1 + max(_height(part, threads) for part in group.parts))


def _padded(group: Group, height: int, threads: bool) -> _Node:
    node = _Node(group, height)
    if height and _height(group, threads) == height:
        node.children = [_padded(part, height - 1, threads) for part in group.parts]
    elif height:
        node.children = [_padded(group, height - 1, threads)]
    return node


# ---- nodes that are alike --------------------------------------------------------------------------------


def _assign_kinds(rows: Sequence[Sequence[_Node]]) -> int:
    """Numbers the kinds of nodes, from the top; returns how many there are, the top's included."""
    next_kind = 1
    for above, row in itertools.pairwise(rows):
        parents = {id(child): node.kind for node in above for child in node.children}
        for parent in sorted(set(parents.values())):
            nodes = [node for node in row if parents[id(node)] == parent]
            for bucket in _alike(nodes):
                for node in bucket:
                    node.kind = next_kind
                next_kind += 1
    return next_kind


def _alike(nodes: Sequence[_Node]) -> list[list[_Node]]:
    """Nodes of about the same latency inside; those that only pass through are a bucket of their own."""
    inner = sorted((node for node in nodes if len(node.children) > 1), key=lambda node: node.group.latency_ns)
    buckets: list[list[_Node]] = []
    for node in inner:
        if buckets and node.group.latency_ns < ALIKE * buckets[-1][-1].group.latency_ns:
            buckets[-1].append(node)
        else:
            buckets.append([node])
    usual = [bucket for bucket in buckets if len(bucket) >= LEAST_SHARE * len(inner)]
    for bucket in buckets:
        if usual and bucket not in usual:  # an odd one is a disturbed measurement
            _nearest(usual, bucket).extend(bucket)
    passing = [node for node in nodes if len(node.children) <= 1]
    return [*([passing] if passing else []), *(usual or buckets)]


def _nearest(buckets: list[list[_Node]], odd: list[_Node]) -> list[_Node]:
    wanted = odd[0].group.latency_ns
    return min(buckets, key=lambda bucket: abs(bucket[0].group.latency_ns - wanted))


# ---- hops ------------------------------------------------------------------------------------------------


def _fit(rows: Sequence[Sequence[_Node]], kinds: int, latency_ns: Matrix) -> tuple[Matrix, float]:
    if len(latency_ns) < 2:
        return np.full(kinds, UNKNOWN_HOP_NS), 0.0
    sums, medians, counts = [], [], []
    for coefficients, values in _paths(rows, kinds, latency_ns):
        sums.append(coefficients)
        medians.append(float(np.median(values)))
        counts.append(len(values))
    matrix, wanted = np.array(sums), np.array(medians)
    weights = np.sqrt(np.array(counts)) / wanted
    least = matrix @ np.full(kinds, LEAST_HOP_NS)
    # Where only a sum of hops is known, a small penalty on each makes the two alike.
    even = _EVEN * np.eye(kinds) * np.sqrt(float(np.sum(counts))) / float(np.median(wanted))
    rows_of = np.vstack([matrix * weights[:, None], even])
    more, _ = nnls(rows_of, np.concatenate([(wanted - least) * weights, np.zeros(kinds)]))
    hops: Matrix = LEAST_HOP_NS + more
    return hops, float(np.max(np.abs(matrix @ hops - wanted) / wanted))


def _paths(
    rows: Sequence[Sequence[_Node]], kinds: int, latency_ns: Matrix
) -> Iterator[tuple[Matrix, Matrix]]:
    """For every way that pairs take: how often it takes a link of each kind, and their latencies."""
    node_of, kind_of = _ancestors(rows)
    cpus = len(latency_ns)
    one, other = np.triu_indices(cpus, 1)
    meet = np.sum(node_of[:, one] != node_of[:, other], axis=0)
    for height in sorted(set(meet.tolist())):
        pairs = meet == height
        ways, way_of = np.unique(kind_of[:height].T, axis=0, return_inverse=True)
        way_of = way_of.reshape(-1)
        first, second = way_of[one[pairs]], way_of[other[pairs]]
        both = np.minimum(first, second) * len(ways) + np.maximum(first, second)
        values = latency_ns[one[pairs], other[pairs]]
        for code in np.unique(both):
            links = np.concatenate([ways[code // len(ways)], ways[code % len(ways)]])
            yield np.bincount(links, minlength=kinds).astype(float), values[both == code]


def _ancestors(rows: Sequence[Sequence[_Node]]) -> tuple[Labels, Labels]:
    """For every height (a row) below the top and CPU: the node that the CPU is in, and the node's kind."""
    nodes, kinds = [], []
    for row in rows[1:]:
        sizes = [len(node.group.cpus) for node in row]
        nodes.append(np.repeat(np.arange(len(row)), sizes))
        kinds.append(np.repeat([node.kind for node in row], sizes))
    return np.array(nodes[::-1]), np.array(kinds[::-1])
