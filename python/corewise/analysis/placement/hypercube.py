"""Mapping a pattern onto a hypercube, and the hypercube onto a machine: paper 000's second idea (section 7).

EvenOdd does well on recursive doubling, so it is a good home for a hypercube: node h goes where EvenOdd puts
rank h. A pattern that embeds into a hypercube with dilation 1 (every pair of partners on neighbouring nodes)
then rides on that: rings and grids by Gray codes, binomial trees and recursive doubling as they are. The
recogniser names the pattern; where its embedding stretches a pair, a search looks for a shorter one. On
machines that are no ring of eight SPEs node h goes on unit h. Deterministic.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corewise import _core
from corewise._core import Machine, Match, Pattern

TEMPLATE = "even_odd"
"""The affinity that gives every node of a hypercube its SPE."""
MOST_SEARCHED = 64
"""Up to so many ranks an embedding is searched where the named ones stretch."""
RESTARTS = 8
_GRIDS = ("halo_1d", "halo_2d", "halo_3d", "wavefront")

Nodes = NDArray[np.int64]
"""Shape (ranks,): hypercube node of rank r at [r], no node twice."""


@dataclass(frozen=True)
class HypercubeMapping:
    """A pattern on a hypercube on a machine.

    Attributes
    ----------
    unit_of_rank : tuple of int
    node_of_rank : tuple of int
        Hypercube node of rank r at [r].
    dimensions : int
        Of the hypercube.
    how : str
        Which embedding it is, e.g. ``Gray code of a bidirectional ring of 8``.
    dilation : int
        Longest way of a pair that exchanges bytes, in edges of the hypercube; 1 is ideal, 0 of a silent
        pattern.
    mean_dilation : float
        The same, weighted by bytes.
    """

    unit_of_rank: tuple[int, ...]
    node_of_rank: tuple[int, ...]
    dimensions: int
    how: str
    dilation: int
    mean_dilation: float


def has_affinities(machine: Machine) -> bool:
    """Whether the paper's affinities mean something here: one ring with SPE0 to SPE7."""
    return machine.kind == "ring" and [unit.name for unit in machine.units] == [f"SPE{i}" for i in range(8)]


def map_by_hypercube(machine: Machine, pattern: Pattern) -> HypercubeMapping | None:
    """The placement by way of a hypercube; None where the machine has too few units for one.

    Parameters
    ----------
    machine : Machine
    pattern : Pattern
        All its phases count together.
    """
    dimensions = max(0, (pattern.ranks - 1).bit_length())
    if len(machine.units) < 1 << dimensions:
        return None
    nodes, how = embed(pattern, dimensions)
    home = dict(_core.affinities())[TEMPLATE] if has_affinities(machine) else list(range(len(machine.units)))
    senders, receivers, sizes, _ = pattern.coordinates()
    lengths = _hamming(nodes[senders], nodes[receivers])[sizes > 0]
    weights = sizes[sizes > 0].astype(float)
    return HypercubeMapping(
        unit_of_rank=tuple(home[node] for node in nodes),
        node_of_rank=tuple(int(node) for node in nodes),
        dimensions=dimensions,
        how=how,
        dilation=int(lengths.max(initial=0)),
        mean_dilation=float(np.average(lengths, weights=weights)) if weights.sum() else 0.0,
    )


def embed(pattern: Pattern, dimensions: int) -> tuple[Nodes, str]:
    """The least stretching embedding found, and what it is.

    Parameters
    ----------
    pattern : Pattern
    dimensions : int
        The hypercube has ``2 ** dimensions`` nodes, at least as many as the pattern has ranks.
    """
    traffic = _traffic(pattern)
    candidates = list(_named(pattern, dimensions))
    best, how = min(candidates, key=lambda each: _stretch(traffic, each[0]))
    if _stretch(traffic, best)[0] <= 1 or pattern.ranks > MOST_SEARCHED:
        return best, how
    found = _search(traffic, [nodes for nodes, _ in candidates], dimensions)
    return (found, "search") if _stretch(traffic, found) < _stretch(traffic, best) else (best, how)


def _traffic(pattern: Pattern) -> NDArray[np.float64]:
    """Symmetric, both directions together, nothing on the diagonal."""
    matrix = pattern.matrix().astype(float)
    both: NDArray[np.float64] = matrix + matrix.T
    np.fill_diagonal(both, 0)
    return both


def _hamming(one: Nodes, other: Nodes) -> Nodes:
    different = one ^ other
    count: Nodes = np.zeros_like(different)
    while different.any():
        count += different & 1
        different = different >> 1
    return count


def _stretch(traffic: NDArray[np.float64], nodes: Nodes) -> tuple[int, float]:
    """Longest way of a pair, and bytes times ways."""
    lengths = _hamming(nodes[:, None], nodes[None, :])
    return int(lengths[traffic > 0].max(initial=0)), float((lengths * traffic).sum())


def gray(number: Nodes | int) -> Nodes:
    """Gray code: neighbours differ in one bit; of a power of two also the last and the first."""
    value = np.asarray(number, np.int64)
    return value ^ (value >> 1)


def _named(pattern: Pattern, dimensions: int) -> Iterator[tuple[Nodes, str]]:
    """Embeddings of what the recogniser says the pattern is, then the plain ones."""
    ranks = np.arange(pattern.ranks)
    for match in _core.recognise(pattern):
        if match.degree < _core.CONVINCING_DEGREE:
            continue
        if match.family in ("recursive_doubling", "hypercube"):
            yield ranks, match.label
        elif match.family == "binomial_tree":
            root = int(match.parameters.get("root", "0"))
            yield (ranks - root) % pattern.ranks, match.label
        elif match.family == "ring":
            yield gray(ranks), f"Gray code of a {match.label}"
        elif match.family in _GRIDS and _bits(match.dims) <= dimensions:
            yield _gray_grid(match), f"Gray codes of a {match.label}"
    yield gray(ranks), "Gray code of the ranks"
    yield ranks, "ranks as they are"


def _bits(dims: Sequence[int]) -> int:
    return sum((extent - 1).bit_length() for extent in dims)


def _gray_grid(match: Match) -> Nodes:
    """Each axis has its own bits and its own Gray code; the last axis runs fastest."""
    places = np.indices(match.dims).reshape(len(match.dims), -1)
    nodes: Nodes = np.zeros(places.shape[1], np.int64)
    for axis, extent in enumerate(match.dims):
        nodes = (nodes << (extent - 1).bit_length()) | gray(places[axis])
    return nodes


def _search(traffic: NDArray[np.float64], starts: Sequence[Nodes], dimensions: int) -> Nodes:
    """Steepest descent by swapping nodes, from the named embeddings and from random ones."""
    ranks = len(traffic)
    rng = np.random.default_rng(ranks)
    randoms = [rng.permutation(1 << dimensions)[:ranks].astype(np.int64) for _ in range(RESTARTS)]
    found = [_descend(traffic, nodes, dimensions) for nodes in (*starts, *randoms)]
    return min(found, key=lambda nodes: _stretch(traffic, nodes))


def _descend(traffic: NDArray[np.float64], start: Nodes, dimensions: int) -> Nodes:
    # Free nodes stand behind the ranks and exchange nothing.
    every = np.arange(1 << dimensions, dtype=np.int64)
    nodes = np.concatenate([start, np.setdiff1d(every, start)])
    padded = np.zeros((len(every), len(every)))
    padded[: len(traffic), : len(traffic)] = traffic
    distance = _hamming(every[:, None], every[None, :]).astype(float)
    while True:
        lengths = distance[np.ix_(nodes, nodes)]
        # cost[a, b]: what rank a would pay on the node of b.
        cost = padded @ lengths
        own = np.diag(cost)
        change = cost + cost.T - own[:, None] - own[None, :] + 2 * padded * lengths
        a, b = np.unravel_index(int(change.argmin()), change.shape)
        if change[a, b] >= -1e-9:
            return nodes[: len(traffic)]
        nodes[[a, b]] = nodes[[b, a]]
