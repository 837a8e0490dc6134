"""Where a machine's stops lie in a picture: rings as circles, tiles as a grid, everything else as a tree.

Layouts come from links and stop names, not from the machine's name. Numbers only: the drawers of the report
and of `corewise.plots` share them. Lengths are pixels, y points down.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import re
from collections import defaultdict

from corewise._core import Machine

Point = tuple[float, float]
UNIT_WIDTH, UNIT_HEIGHT = 62, 34
"""Of the box that a unit is drawn as."""
_TILE = re.compile(r"\(([\d,]+)\)$")


def is_mesh(drawn: Machine) -> bool:
    """Whether the stops are tiles with coordinates."""
    return all(_TILE.search(name) for name in drawn.stops)


def machine_layout(drawn: Machine) -> tuple[list[Point], float, float]:
    """Where every stop lies, and the picture's size."""
    rings = ring_cycles(drawn)
    if rings:
        return _ring_layout(drawn, rings)
    tiles = [_TILE.search(name) for name in drawn.stops]
    if all(tiles):
        return _mesh_layout(drawn, [[int(part) for part in tile[1].split(",")] for tile in tiles if tile])
    return _tree_layout(drawn)


def ring_cycles(drawn: Machine) -> list[list[int]]:
    """Cycles of clockwise links, empty unless they hold all stops."""
    after = {
        link.source: link.target
        for link in drawn.links
        if link.name.startswith(("cw:", "cw0:")) or ".cw" in link.name.split(":", maxsplit=1)[0]
    }
    rings: list[list[int]] = []
    seen: set[int] = set()
    for start in range(len(drawn.stops)):
        ring: list[int] = []
        stop = start
        while stop in after and stop not in seen:
            seen.add(stop)
            ring.append(stop)
            stop = after[stop]
        if ring and stop == start:
            rings.append(ring)
    return rings if sum(map(len, rings)) == len(drawn.stops) else []


def _ring_layout(drawn: Machine, rings: list[list[int]]) -> tuple[list[Point], float, float]:
    places: list[Point] = [(0.0, 0.0)] * len(drawn.stops)
    left, height = 0.0, 0.0
    for ring in rings:
        radius = max(120.0, len(ring) * (UNIT_WIDTH + 22) / (2 * math.pi))
        centre = left + radius + 60
        for index, stop in enumerate(ring):
            angle = 2 * math.pi * index / len(ring) - math.pi / 2
            places[stop] = (centre + radius * math.cos(angle), radius + 44 + radius * math.sin(angle))
        left = centre + radius + 60
        height = max(height, 2 * radius + 88)
    return places, left, height


def _mesh_layout(drawn: Machine, tiles: list[list[int]]) -> tuple[list[Point], float, float]:
    most = max(units_at(drawn).values(), default=1)
    step_x, step_y = UNIT_WIDTH + 52.0, most * (UNIT_HEIGHT + 4) + 50.0
    depth = 1 + max(tile[2] if len(tile) > 2 else 0 for tile in tiles)
    columns = 1 + max(tile[0] for tile in tiles)
    rows = 1 + max(tile[1] if len(tile) > 1 else 0 for tile in tiles)
    places = []
    for tile in tiles:
        x, y, z = ([*tile, 0, 0])[:3]
        places.append((60 + (x + z * (columns + 0.6)) * step_x, 20 + step_y / 2 + y * step_y))
    return places, 60 + step_x * (columns + 0.6) * depth, 40 + step_y * rows


def _tree_layout(drawn: Machine) -> tuple[list[Point], float, float]:
    """Levels from the first stop; leaves side by side, parents above the middle of their children."""
    children = stop_children(drawn)
    places: list[Point] = [(0.0, 0.0)] * len(drawn.stops)
    next_x = 50.0
    deepest = 0.0

    def put(stop: int, depth: int) -> float:
        nonlocal next_x, deepest
        y = 40.0 + 92.0 * depth
        deepest = max(deepest, y)
        if children[stop]:
            below = [put(child, depth + 1) for child in children[stop]]
            x = (below[0] + below[-1]) / 2
        else:
            x = next_x
            next_x += UNIT_WIDTH + 12.0
        places[stop] = (x, y)
        return x

    for root in stop_roots(children, len(drawn.stops)):
        put(root, 0)
    most = max(units_at(drawn).values(), default=1)
    return places, next_x, deepest + 24 + most * (UNIT_HEIGHT + 4)


def stop_children(drawn: Machine) -> dict[int, list[int]]:
    """The machine as a tree (its links' breadth-first one): the stops below each."""
    near: dict[int, list[int]] = defaultdict(list)
    for link in drawn.links:
        near[link.source].append(link.target)
        near[link.target].append(link.source)
    children: dict[int, list[int]] = defaultdict(list)
    seen: set[int] = set()
    for start in range(len(drawn.stops)):
        level = [start] if start not in seen else []
        seen.update(level)
        while level:
            below = []
            for stop in level:
                for other in near[stop]:
                    if other not in seen:
                        seen.add(other)
                        children[stop].append(other)
                        below.append(other)
            level = below
    return children


def stop_roots(children: dict[int, list[int]], stops: int) -> list[int]:
    """The stops that hang below none."""
    owned = {child for below in list(children.values()) for child in below}
    return [stop for stop in range(stops) if stop not in owned]


def units_at(drawn: Machine) -> dict[int, int]:
    """How many units every stop has."""
    count: dict[int, int] = defaultdict(int)
    for unit in drawn.units:
        count[unit.stop] += 1
    return count
