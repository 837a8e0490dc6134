"""Reads the problems of `corewise bench mapping` (corewise/bench/mapping/problems.py writes them).

Plain Python: it runs in the peers' own environment, without corewise.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Problem:
    """Traffic between ranks, and the tree of units that they are mapped onto, leaf first."""

    ranks: int
    hierarchy: list[int]
    distances: list[int]
    pairs: dict[tuple[int, int], int]

    @classmethod
    def read(cls, path: str) -> Problem:
        """A line `ranks hierarchy distances pairs`, then a line `a b bytes` per unordered pair."""
        head, *lines = Path(path).read_text().splitlines()
        ranks, hierarchy, distances, _ = head.split()
        pairs = {}
        for line in lines:
            low, high, weight = (int(item) for item in line.split())
            pairs[low, high] = weight
        return cls(
            int(ranks), *([int(item) for item in text.split(":")] for text in (hierarchy, distances)), pairs
        )

    def lists(self) -> tuple[list[int], list[int], list[int]]:
        """First entries, neighbours and weights; every pair stands with both ranks."""
        peers: list[list[tuple[int, int]]] = [[] for _ in range(self.ranks)]
        for (low, high), weight in self.pairs.items():
            peers[low].append((high, weight))
            peers[high].append((low, weight))
        first = [0, *itertools.accumulate(len(entries) for entries in peers)]
        flat = [entry for entries in peers for entry in sorted(entries)]
        return first, [peer for peer, _ in flat], [weight for _, weight in flat]
