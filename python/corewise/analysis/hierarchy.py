"""Hierarchies: groups of ranks of which one each, its root, exchanges with the other groups for all of them.

The modified Sweep3D of paper 003 is one (figure 7: an SPE of each Cell gathers and forwards). Groups have one
size. They are looked for as runs of ranks, as a launcher fills Cells and nodes, and where that fails as what
hangs on one rank alone, whatever the numbers. What the roots do among themselves is named like any
pattern. Pure functions.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corewise._core import CONVINCING_DEGREE, Naming, Pattern, name_pattern

FEWEST = 3
"""Ranks of a group, and groups: a pair has no root that tells it from the other."""
MOST_RELABELLED = 512
"""Ranks up to which groups are looked for whatever the numbers: that takes a walk for each rank."""


@dataclass(frozen=True)
class Hierarchy:
    """Groups with roots.

    Attributes
    ----------
    group : int
        Ranks of each.
    roots : tuple of int
        One per group, in their order.
    degree : float
        The share of the bytes between groups that roots exchange, times the share of the other ranks that
        exchange messages with their root.
    between : Naming
        What the roots do, as a pattern of groups.
    relabelled : bool
        Groups are no runs of ranks.
    """

    group: int
    roots: tuple[int, ...]
    degree: float
    between: Naming
    relabelled: bool = False

    @property
    def label(self) -> str:
        """In words: the groups, and what lies between them where it has a name."""
        parts = [one.match.label for one in self.between.components]
        between = f", between roots {' + '.join(parts)}" if parts else ""
        return f"hierarchy of {len(self.roots)} groups of {self.group}, one root each{between}"


def find_hierarchy(pattern: Pattern) -> Hierarchy | None:
    """The hierarchy that fits best, of several the one of the largest groups; None where none convinces."""
    matrix = pattern.matrix().astype(np.float64)
    np.fill_diagonal(matrix, 0.0)
    as_they_are = np.arange(pattern.ranks)
    found = [_fit(matrix, as_they_are, group) for group in _sizes(pattern.ranks)]
    relabelled = max((each.degree for each in found), default=0.0) < CONVINCING_DEGREE
    if relabelled:
        order, group = _hanging(matrix) if pattern.ranks <= MOST_RELABELLED else (as_they_are, 0)
        found = [_fit(matrix, order, group)] if group else []
    best = max(found, key=lambda each: (each.degree, each.group), default=None)
    if best is None or best.degree < CONVINCING_DEGREE:
        return None
    between = matrix[np.ix_(best.roots, best.roots)].astype(np.uint64)
    named = name_pattern(Pattern.from_dense("roots", np.ascontiguousarray(between)), 1)
    return Hierarchy(best.group, tuple(best.roots.tolist()), best.degree, named, relabelled)


@dataclass(frozen=True)
class _Fit:
    group: int
    degree: float
    roots: NDArray[np.int64]


def _sizes(ranks: int) -> Iterator[int]:
    return (group for group in range(FEWEST, ranks // FEWEST + 1) if ranks % group == 0)


def _fit(matrix: NDArray[np.float64], order: NDArray[np.int64], group: int) -> _Fit:
    """Groups of this size along an order of the ranks; a root is who exchanges most with other groups."""
    ranks = len(matrix)
    number = np.empty(ranks, np.int64)
    number[order] = np.arange(ranks) // group
    across = np.where(number[:, None] != number[None, :], matrix, 0.0)
    outside = across.sum(axis=0) + across.sum(axis=1)
    places = outside[order].reshape(-1, group).argmax(axis=1) + np.arange(ranks // group) * group
    roots = order[places]
    if not outside[roots].all():
        return _Fit(group, 0.0, roots)  # a group that is alone
    exchanged = matrix + matrix.T
    with_root = exchanged[np.arange(ranks), roots[number]] > 0
    members = np.setdiff1d(np.arange(ranks), roots)
    share = across[np.ix_(roots, roots)].sum() / across.sum()
    return _Fit(group, float(share * with_root[members].mean()), np.sort(roots))


def _hanging(matrix: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """The ranks by groups, and a group's size: 0 where there are no such groups of one size.

    A group is a rank and all that reaches the others through it alone.
    """
    linked = np.packbits(matrix + matrix.T > 0, axis=1, bitorder="little")
    peers = [int.from_bytes(row.tobytes(), "little") for row in linked]
    groups = [[rank, *_members(below)] for rank in range(len(peers)) if (below := _below(peers, rank))]
    ranks = [rank for group in groups for rank in group]
    sizes = {len(group) for group in groups}
    whole = len(groups) >= FEWEST and len(sizes) == 1 and sorted(ranks) == list(range(len(peers)))
    size = sizes.pop() if whole else 0
    return np.array(ranks, np.int64), size if size >= FEWEST else 0


def _below(peers: list[int], rank: int) -> int:
    """What is no longer connected to most of the others without this rank; sets of ranks are bits."""
    left, parts = peers[rank], []
    while left:
        part = fresh = left & -left
        while fresh:
            peer = fresh & -fresh
            found = peers[peer.bit_length() - 1] & ~part & ~(1 << rank)
            part |= found
            fresh = (fresh ^ peer) | found
        parts.append(part)
        left &= ~part
    parts.sort(key=int.bit_count)
    return sum(parts[:-1])


def _members(ranks: int) -> Iterator[int]:
    return (rank for rank in range(ranks.bit_length()) if ranks >> rank & 1)
