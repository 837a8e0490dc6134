"""What a certificate is about: traffic between ranks, and time per byte on the links of a machine.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, Pattern
from corewise.errors import RunError

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""Relative rounding that a comparison of two times allows; the search allows a tenth of it."""


class Traffic:
    """Bytes of every phase: float64 (phases, ranks, ranks), and their weights. Equal phases are one."""

    def __init__(self, patterns: Sequence[Pattern], weights: Sequence[float] | None) -> None:
        self.ranks = patterns[0].ranks
        self._entries: list[tuple[float, dict[tuple[int, int], int]]] = []
        for pattern, weight in zip(patterns, weights or [1.0] * len(patterns), strict=True):
            for phase in pattern.phases:
                senders, receivers, sizes, _ = phase.coordinates()
                sums: dict[tuple[int, int], int] = {}
                for a, b, size in zip(senders.tolist(), receivers.tolist(), sizes.tolist(), strict=True):
                    if a != b and size:
                        sums[a, b] = sums.get((a, b), 0) + size
                self._entries.append((float(weight), sums))
        busy: dict[tuple[tuple[tuple[int, int], int], ...], float] = {}
        for weight, sums in self._entries:
            if sums:
                sent = tuple(sorted(sums.items()))
                busy[sent] = busy.get(sent, 0.0) + weight
        self.weights = np.array(list(busy.values()))
        self.divisors = [math.gcd(*(size for _, size in sent)) for sent in busy]
        self.bytes: Floats = np.zeros((len(busy), self.ranks, self.ranks))
        for phase_index, sent in enumerate(busy):
            for (a, b), size in sent:
                self.bytes[phase_index, a, b] = size

    def text(self) -> str:
        """As the digest of the patterns is made of it."""
        parts = [f"n{self.ranks};"]
        for weight, sums in self._entries:
            parts.append(f"w{weight:.17g};")
            parts += [f"m{a},{b},{sums[a, b]};" for a, b in sorted(sums)]
        return "".join(parts)

    def check_symmetry(self, image: list[int]) -> None:
        """That ranks may be renamed so."""
        if self._by_phase(self.bytes[:, image][:, :, image]) != self._by_phase(self.bytes):
            raise RunError(f"certificate: rank_symmetries: {image} changes what is sent")

    def _by_phase(self, phases: Floats) -> dict[bytes, float]:
        """The weights by what is sent."""
        return {sent.tobytes(): weight for sent, weight in zip(phases, self.weights.tolist(), strict=True)}

    def cost(self, node: Node, unit_of_rank: list[int]) -> float:
        """What a placement costs: the loads of the busiest links, summed over the phases."""
        loads = np.zeros((len(self.weights), node.links))
        for phase, a, b in np.argwhere(self.bytes):
            loads[phase] += self.bytes[phase, a, b] * node.times[unit_of_rank[a], unit_of_rank[b]]
        return float(self.weights @ loads.max(axis=1, initial=0))

    def floors(self, node: Node) -> Floats:
        """What every phase costs in any placement: its largest message between the best pair of units."""
        apart = ~np.eye(node.units, dtype=bool)
        least = float(node.times.max(axis=2, initial=0)[apart].min()) if node.units > 1 else 0.0
        largest: Floats = self.bytes.max(axis=(1, 2), initial=0)
        return largest * least


class Node:
    """Time per byte that a pair of units puts on every link: float64 (units, units, links)."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.units = len(machine.units)
        self.links = len(machine.links)
        self.bandwidths = np.array([link.bandwidth_gb_per_s for link in machine.links])
        self.shares: Floats = np.zeros((self.units, self.units, self.links))
        for source in range(self.units):
            for target in range(self.units):
                routes = machine.routes(source, target)
                for route in routes:
                    for link in route:
                        self.shares[source, target, link] += 1
                self.shares[source, target] /= len(routes)
        self.times: Floats = self.shares / self.bandwidths
        counts = [len(machine.routes(a, b)) for a in range(self.units) for b in range(self.units)]
        parts = math.lcm(*counts)
        self.quantum = (
            math.gcd(*(round(share * parts) for share in self.shares[self.shares > 0].tolist())) / parts
        )
        self._by_link = np.ascontiguousarray(np.moveaxis(self.shares, 2, 0))
        self._kinds = self._kinds_of(self._by_link)

    def _kinds_of(self, by_link: Floats) -> dict[bytes, float]:
        """Of links that carry the same shares of the same pairs only the slowest counts."""
        kinds: dict[bytes, float] = {}
        for link in range(self.links):
            if by_link[link].any():
                key = by_link[link].tobytes()
                kinds[key] = min(kinds.get(key, np.inf), float(self.bandwidths[link]))
        return kinds

    def check_symmetry(self, image: list[int]) -> None:
        """That units may be renamed so."""
        moved = np.ascontiguousarray(self._by_link[:, image][:, :, image])
        if self._kinds_of(moved) != self._kinds:
            raise RunError(f"certificate: unit_symmetries: {image} is no symmetry of the machine's links")
