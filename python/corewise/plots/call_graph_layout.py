"""Where the boxes of a directed graph go: layers from left to right, few crossings, straight edges.

The classical steps (Sugiyama, Tagawa, Toda 1981): edges against the flow are turned round, nodes are layered
by their longest path, edges over several layers get a bend in each, layers are ordered by the middle of their
neighbours, and every node is moved as near to its neighbours as the others of its layer allow. Knows boxes
and edges only. Invariant: the same graph gives the same picture, and no two boxes overlap.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Point = tuple[float, float]

_ROUNDS = 12
_BEND_HEIGHT = 10.0


@dataclass(frozen=True)
class Placed:
    """A finished layout.

    Attributes
    ----------
    places : list of (float, float)
        Left edge and middle of every box.
    bends : list of list of (float, float, float)
        Of every edge: left, right and height of the gaps that it passes between boxes of the layers it
        crosses, in the order from its start to its end.
    turned : list of bool
        The edge runs against the flow.
    width, height : float
        Of everything.
    """

    places: list[Point]
    bends: list[list[tuple[float, float, float]]]
    turned: list[bool]
    width: float
    height: float


@dataclass
class _Layers:
    """Nodes and bends in layers. Bends are numbered after the nodes."""

    layer_of: list[int]
    height_of: list[float]
    chains: list[list[int]]  # of every edge, from its left to its right end
    rows: list[list[int]] = field(default_factory=list)
    left: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    right: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))


def layered(sizes: Sequence[Point], edges: Sequence[tuple[int, int]], gap_x: float, gap_y: float) -> Placed:
    """Places boxes.

    Parameters
    ----------
    sizes : sequence of (float, float)
        Width and height of every box.
    edges : sequence of (int, int)
        Caller and callee. An edge from a box to itself is allowed and has no influence.
    gap_x, gap_y : float
        Between layers, and between boxes of one layer.
    """
    turned = _turned(len(sizes), edges)
    forward = [(b, a) if back else (a, b) for (a, b), back in zip(edges, turned, strict=True)]
    layers = _with_bends(sizes, forward, _layer(len(sizes), forward))
    _order(layers)
    middles = _heights(layers, gap_y)
    return _finished(sizes, layers, middles, turned, gap_x)


def _turned(nodes: int, edges: Sequence[tuple[int, int]]) -> list[bool]:
    """Which edges lead back to a node that is still open in a walk from the first node."""
    after: list[list[int]] = [[] for _ in range(nodes)]
    for index, (start, _) in enumerate(edges):
        after[start].append(index)
    back = [False] * len(edges)
    state = [0] * nodes  # 1 open, 2 done
    for root in range(nodes):
        if state[root]:
            continue
        state[root] = 1
        walk = [(root, iter(after[root]))]
        while walk:
            node, rest = walk[-1]
            index = next(rest, -1)
            if index < 0:
                state[node] = 2
                walk.pop()
                continue
            end = edges[index][1]
            back[index] = state[end] == 1 and end != node
            if state[end] == 0:
                state[end] = 1
                walk.append((end, iter(after[end])))
    return back


def _layer(nodes: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path to every node."""
    after: list[list[int]] = [[] for _ in range(nodes)]
    waiting = [0] * nodes
    for start, end in edges:
        if start != end:
            after[start].append(end)
            waiting[end] += 1
    layer = [0] * nodes
    ready = [node for node in range(nodes) if waiting[node] == 0]
    while ready:
        node = ready.pop()
        for end in after[node]:
            layer[end] = max(layer[end], layer[node] + 1)
            waiting[end] -= 1
            if waiting[end] == 0:
                ready.append(end)
    return layer


def _with_bends(sizes: Sequence[Point], edges: Sequence[tuple[int, int]], layer: list[int]) -> _Layers:
    layers = _Layers(layer_of=list(layer), height_of=[height for _, height in sizes], chains=[])
    for start, end in edges:
        chain = [start]
        for between in range(layer[start] + 1, layer[end]):
            chain.append(len(layers.layer_of))
            layers.layer_of.append(between)
            layers.height_of.append(_BEND_HEIGHT)
        if start != end:
            chain.append(end)
        layers.chains.append(chain)
        for one, other in pairwise(chain):
            layers.right[one].append(other)
            layers.left[other].append(one)
    layers.rows = [[] for _ in range(max(layers.layer_of, default=0) + 1)]
    for item in _depth_first(layers):
        layers.rows[layers.layer_of[item]].append(item)
    return layers


def _depth_first(layers: _Layers) -> list[int]:
    """All items as a walk from the left meets them: a tree drawn in this order has no crossing."""
    seen: set[int] = set()
    found = []
    for root in range(len(layers.layer_of)):
        if layers.left[root]:
            continue
        stack = [root]
        while stack:
            item = stack.pop()
            if item not in seen:
                seen.add(item)
                found.append(item)
                stack += reversed(layers.right[item])
    return found


# ---- order -----------------------------------------------------------------------------------------------


def _order(layers: _Layers) -> None:
    best, least = [list(row) for row in layers.rows], _crossings(layers)
    for turn in range(_ROUNDS):
        if least == 0:
            break
        rightwards = turn % 2 == 0
        for row in layers.rows if rightwards else reversed(layers.rows):
            _sort(layers, row, layers.left if rightwards else layers.right)
        found = _crossings(layers)
        if found < least:
            best, least = [list(row) for row in layers.rows], found
    layers.rows = best


def _sort(layers: _Layers, row: list[int], neighbours: dict[int, list[int]]) -> None:
    """By the mean place of the neighbours; who has none stays."""
    place = {item: at for each in layers.rows for at, item in enumerate(each)}
    middle = {item: _mean([place[other] for other in neighbours[item]], place[item]) for item in row}
    row.sort(key=lambda item: (middle[item], place[item]))


def _mean(values: Sequence[float], fallback: float) -> float:
    return sum(values) / len(values) if values else fallback


def _crossings(layers: _Layers) -> int:
    total = 0
    for row, following in pairwise(layers.rows):
        place = {item: at for at, item in enumerate(following)}
        ends = [end for item in row for end in sorted(place[other] for other in layers.right[item])]
        total += _inversions(ends)
    return total


def _inversions(values: Sequence[int]) -> int:
    """Pairs in the wrong order."""
    total = 0
    before: list[int] = []
    for value in values:
        at = bisect_right(before, value)
        total += len(before) - at
        before.insert(at, value)
    return total


# ---- heights ---------------------------------------------------------------------------------------------


def _heights(layers: _Layers, gap: float) -> dict[int, float]:
    """The middle of every item: as near to its neighbours' as the others of its layer allow."""
    middle: dict[int, float] = {}
    for row in layers.rows:
        y = 0.0
        for item in row:
            middle[item] = y + layers.height_of[item] / 2
            y += layers.height_of[item] + gap
    for turn in range(_ROUNDS):
        towards = layers.right if turn % 2 == 0 else layers.left
        for row in reversed(layers.rows) if turn % 2 == 0 else layers.rows:
            _settle(
                layers, row, [_mean([middle[o] for o in towards[i]], middle[i]) for i in row], middle, gap
            )
    # What calls stands beside the middle of what it calls.
    for row in reversed(layers.rows):
        _settle(
            layers, row, [_mean([middle[o] for o in layers.right[i]], middle[i]) for i in row], middle, gap
        )
    return middle


def _settle(
    layers: _Layers, row: Sequence[int], wanted: Sequence[float], middle: dict[int, float], gap: float
) -> None:
    """The nearest heights, by least squares, that keep the order and the gaps (pooling of neighbours)."""
    shift = [0.0]
    for one, other in pairwise(row):
        shift.append(shift[-1] + (layers.height_of[one] + layers.height_of[other]) / 2 + gap)
    pools: list[tuple[float, int]] = []  # sum of wanted heights, members
    for want, moved in zip(wanted, shift, strict=True):
        total, members = want - moved, 1
        while pools and pools[-1][0] / pools[-1][1] > total / members:
            total, members = total + pools[-1][0], members + pools[-1][1]
            pools.pop()
        pools.append((total, members))
    at = 0
    for total, members in pools:
        for _ in range(members):
            middle[row[at]] = total / members + shift[at]
            at += 1


# ---- the result ------------------------------------------------------------------------------------------


def _finished(
    sizes: Sequence[Point], layers: _Layers, middle: dict[int, float], turned: list[bool], gap_x: float
) -> Placed:
    nodes = len(sizes)
    widths = [max((sizes[item][0] for item in row if item < nodes), default=0.0) for row in layers.rows]
    lefts = [0.0]
    for width in widths:
        lefts.append(lefts[-1] + width + gap_x)
    top = min((middle[item] - layers.height_of[item] / 2 for item in middle), default=0.0)
    bottom = max((middle[item] + layers.height_of[item] / 2 for item in middle), default=0.0)
    places = [(lefts[layers.layer_of[node]], middle[node] - top) for node in range(nodes)]
    bends = [
        [
            (
                lefts[layers.layer_of[item]],
                lefts[layers.layer_of[item]] + widths[layers.layer_of[item]],
                middle[item] - top,
            )
            for item in chain
            if item >= nodes
        ]
        for chain in layers.chains
    ]
    return Placed(places, bends, turned, lefts[-1] - gap_x if widths else 0.0, bottom - top)
