"""The problems of the mappers: traffic between ranks, a tree of units, files, J and validity.

A file has one line `ranks hierarchy distances pairs` (both texts leaf first), then a line `a b bytes` per
unordered pair. J is the sum over unordered pairs of bytes times distance. ``bench/mapping`` reads the files.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from pathlib import Path

FACE, EDGE, CORNER = 1024, 32, 1


@dataclass(frozen=True)
class Problem:
    """Traffic of `ranks` ranks on the units of a tree, as many units as ranks."""

    ranks: int
    hierarchy: str
    distances: str
    pairs: dict[tuple[int, int], int]

    def write(self, path: Path) -> None:
        """As the module says."""
        lines = [f"{self.ranks} {self.hierarchy} {self.distances} {len(self.pairs)}"]
        lines += [f"{low} {high} {weight}" for (low, high), weight in self.pairs.items()]
        path.write_text("\n".join(lines) + "\n")

    def units(self) -> int:
        """Of the tree."""
        return math.prod(int(size) for size in self.hierarchy.split(":"))

    def is_valid(self, unit_of_rank: list[int]) -> bool:
        """Every rank on a unit of its own."""
        right_range = all(0 <= unit < self.units() for unit in unit_of_rank)
        return right_range and len(unit_of_rank) == self.ranks == len(set(unit_of_rank))

    def distance(self, a: int, b: int) -> int:
        """Of two units."""
        level_distances = [0, *(int(item) for item in self.distances.split(":"))]
        for level, size in enumerate([*(int(item) for item in self.hierarchy.split(":")), 1]):
            if a == b:
                return level_distances[level]
            a, b = a // size, b // size
        raise AssertionError("units of one tree meet at its root")

    def cost(self, unit_of_rank: list[int]) -> int:
        """J."""
        places = unit_of_rank
        return sum(
            weight * self.distance(places[low], places[high]) for (low, high), weight in self.pairs.items()
        )


def halo(nx: int, ny: int, nz: int, hierarchy: str, distances: str, scramble: int = 0) -> Problem:
    """27-point halo on an open grid, numbered row by row, or in an order drawn with the seed `scramble`."""
    names = list(range(nx * ny * nz))
    if scramble:
        random.Random(scramble).shuffle(names)
    pairs = {}
    steps = [step for step in itertools.product((-1, 0, 1), repeat=3) if step > (0, 0, 0)]
    for x, y, z in itertools.product(range(nx), range(ny), range(nz)):
        for dx, dy, dz in steps:
            to = x + dx, y + dy, z + dz
            if not (0 <= to[0] < nx and 0 <= to[1] < ny and 0 <= to[2] < nz):
                continue
            a, b = names[(x * ny + y) * nz + z], names[(to[0] * ny + to[1]) * nz + to[2]]
            pairs[min(a, b), max(a, b)] = (0, FACE, EDGE, CORNER)[abs(dx) + abs(dy) + abs(dz)]
    return Problem(nx * ny * nz, hierarchy, distances, pairs)


def random_geometric(ranks: int, hierarchy: str, distances: str, seed: int = 1) -> Problem:
    """Points in a square; the nearer two are, the more they exchange; about ten peers each."""
    draw = random.Random(seed)
    points = [(draw.random(), draw.random()) for _ in range(ranks)]
    reach = math.sqrt(10 / (math.pi * ranks))
    pairs = {}
    for low, high in itertools.combinations(range(ranks), 2):
        away = math.dist(points[low], points[high])
        if away < reach:
            pairs[low, high] = 1 + int(1000 * (1 - away / reach))
    return Problem(ranks, hierarchy, distances, pairs)


def cases(tiny: bool = False) -> dict[str, Problem]:
    """The table of the comparison by name; `tiny` ones for tests."""
    tree = "1:10:100"
    if tiny:
        return {"halo-4x2x2": halo(4, 2, 2, "4:4", "1:10"), "halo-4x4x2": halo(4, 4, 2, "4:8", "1:10")}
    return {
        "halo-4x4x4": halo(4, 4, 4, "4:8:2", tree),
        "halo-8x8x4": halo(8, 8, 4, "4:8:8", tree),
        "halo-8x8x8": halo(8, 8, 8, "4:8:16", tree),
        "halo-16x8x8": halo(16, 8, 8, "4:8:32", tree),
        "halo-16x8x8-scrambled": halo(16, 8, 8, "4:8:32", tree, scramble=5),
        "halo-6x6x6": halo(6, 6, 6, "4:6:9", tree),
        "halo-12x8x5": halo(12, 8, 5, "4:6:20", tree),
        "halo-10x10x10": halo(10, 10, 10, "5:8:25", tree),
        "geometric-64": random_geometric(64, "4:8:2", tree),
        "geometric-512": random_geometric(512, "4:8:16", tree),
        "geometric-1024": random_geometric(1024, "4:8:32", tree),
    }
