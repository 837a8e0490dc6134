"""Bounds of a certificate by cuts: what must cross the links around some stops costs at least so much.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corewise.analysis.placement.certificate.facts import TOLERANCE, Floats, Node, Traffic
from corewise.errors import RunError

_MOST_PHASE_BYTES = 192 << 20
"""Of tables with the phases' costs; the search has half as many."""


class Cuts:
    """For every cut the least cost of any completion, by the ranks already known to be inside."""

    def __init__(self, read: Mapping[str, Any], node: Node, traffic: Traffic) -> None:
        self._node = node
        self._ranks = traffic.ranks
        self._crossings = self._cross(read["order"], traffic) if read["cuts"] else []
        self._weights = traffic.weights
        self._floors = traffic.floors(node)
        self._steps = [divisor * node.quantum for divisor in traffic.divisors]
        self.sizes: list[int] = []
        inside: list[list[bool]] = []
        tables: dict[tuple[float, ...], int] = {}
        made: list[Floats] = []
        of_cut: list[int] = []
        for stops in read["cuts"]:
            units_inside, kind = self._measure(stops)
            if kind not in tables:
                tables[kind] = len(made)
                made.append(self._table(kind))
            of_cut.append(tables[kind])
            inside.append(units_inside)
            self.sizes.append(sum(units_inside))
        self.kinds = list(tables)
        self._of_phases: dict[int, Floats] = {}
        self.inside = np.array(inside, dtype=np.int64).reshape(len(inside), node.units)
        self.of_cut = np.array(of_cut, dtype=np.int64)
        self.tables = np.array(made)

    def _cross(self, order: list[int], traffic: Traffic) -> list[tuple[Floats, Floats, Floats, Floats]]:
        """Per phase and set of ranks: bytes out and in, the largest message out and in."""
        sets = np.arange(1 << self._ranks)
        member = [(sets >> position) & 1 == 1 for position in range(self._ranks)]
        crossings = []
        for phase in traffic.bytes:
            out, into, most_out, most_in = (np.zeros(len(sets)) for _ in range(4))
            ordered = phase[order][:, order]
            for a, b in np.argwhere(ordered):
                leaves = member[a] & ~member[b]
                enters = member[b] & ~member[a]
                size = ordered[a, b]
                out[leaves] += size
                into[enters] += size
                most_out[leaves] = np.maximum(most_out[leaves], size)
                most_in[enters] = np.maximum(most_in[enters], size)
            crossings.append((out, into, most_out, most_in))
        return crossings

    def _measure(self, stops: list[int]) -> tuple[list[bool], tuple[float, ...]]:
        machine = self._node.machine
        chosen = set(stops)
        inside = [unit.stop in chosen for unit in machine.units]
        used = self._node.shares.any(axis=(0, 1))
        leaving = np.array([link.source in chosen and link.target not in chosen for link in machine.links])
        entering = np.array([link.target in chosen and link.source not in chosen for link in machine.links])
        within = np.array(inside)
        kind = [float(within.sum())]
        for crossing in (leaving, entering):
            speeds = self._node.bandwidths[crossing & used]
            kind.append(float(speeds.sum()))
            kind.append(float(len(speeds)) if len(set(speeds.tolist())) == 1 else 0.0)
        for crossing, pairs in (
            (leaving, self._node.shares[within][:, ~within]),
            (entering, self._node.shares[~within][:, within]),
        ):
            over = pairs[:, :, crossing]
            if (over.sum(axis=2) < 1 - TOLERANCE).any():
                raise RunError(
                    f"certificate: cuts: traffic leaves the stops {stops} without crossing their links"
                )
            kind.append(float((over / self._node.bandwidths[crossing]).max(axis=2).min()))
        return inside, tuple(kind)

    def _table(self, kind: tuple[float, ...]) -> Floats:
        sets = 1 << self._ranks
        cost = self._weights @ self._phase_costs(kind) if len(self._weights) else np.zeros(sets)
        return self._folded(kind, cost)

    def _folded(self, kind: tuple[float, ...], cost: Floats) -> Floats:
        """Minima over all sets with the same first ranks, of costs (..., sets): float64 (..., 2 * sets)."""
        units_inside, sets = kind[0], 1 << self._ranks
        counts = np.array([bin(s).count("1") for s in range(sets)])
        outside = self._node.units - units_inside
        table = np.full((*cost.shape[:-1], 2 * sets), np.inf)
        table[..., sets:] = np.where((counts > units_inside) | (self._ranks - counts > outside), np.inf, cost)
        for placed in range(self._ranks - 1, -1, -1):
            here = 1 << placed
            table[..., here : 2 * here] = np.minimum(
                table[..., 2 * here : 3 * here], table[..., 3 * here : 4 * here]
            )
        return table

    def phases(self, placed: int, inside: NDArray[np.int64]) -> Iterator[Floats]:
        """What every phase alone costs at least in any completion: by one kind of cuts each, in order."""
        table_bytes = 2 * (1 << self._ranks) * max(1, len(self._weights)) * 8
        for kind in range(min(len(self.kinds), _MOST_PHASE_BYTES // table_bytes)):
            if kind not in self._of_phases:
                costs = self._phase_costs(self.kinds[kind])
                self._of_phases[kind] = self._folded(self.kinds[kind], costs)
            at = (1 << placed) + np.unique(inside[self.of_cut == kind])
            yield self._of_phases[kind][:, at].max(axis=1)

    def _phase_costs(self, kind: tuple[float, ...]) -> Floats:
        """What every phase costs at least with every set of ranks inside: float64 (phases, sets)."""
        _, capacity_out, links_out, capacity_in, links_in, sigma_out, sigma_in = kind
        costs = []
        phases = zip(self._floors, self._steps, self._crossings, strict=True)
        for floor, step, (out, into, most_out, most_in) in phases:
            total = np.maximum(
                _in_steps(out, links_out, step) / capacity_out, _in_steps(into, links_in, step) / capacity_in
            )
            single = np.maximum(most_out * sigma_out, most_in * sigma_in)
            costs.append(np.maximum(np.maximum(total, single), floor))
        return np.array(costs)

    def open_sets(self, cut: int, limit: float) -> list[tuple[int, Floats]]:
        """The sets of ranks inside that the cut's bound leaves open, ascending, with the phases' costs."""
        sets = 1 << self._ranks
        table = self.tables[self.of_cut[cut], sets:]
        costs = self._phase_costs(self.kinds[self.of_cut[cut]])
        return [(int(inside), costs[:, inside]) for inside in np.flatnonzero(table < limit)]

    def root(self, chain: list[int]) -> float:
        """Before any rank is placed: the best single cut, the fullest of disjoint ones, or the chain."""
        if not len(self.of_cut):
            return 0.0
        best = float(self.tables[:, 1].max())
        sets = 1 << self._ranks
        counts = np.array([bin(s).count("1") for s in range(sets)])
        for size in sorted(set(self.sizes)):
            covered = np.zeros(self._node.units, dtype=np.int64)
            chosen = set()
            for cut, cut_size in enumerate(self.sizes):
                if cut_size == size and not (covered & self.inside[cut]).any():
                    covered |= self.inside[cut]
                    chosen.add(int(self.of_cut[cut]))
            if covered.all():
                enough = counts >= -(-self._ranks * size // self._node.units)
                best = max(best, min(float(self.tables[table, sets:][enough].min()) for table in chosen))
        return max(best, self._chain(chain, counts)) if chain else best

    def _chain(self, chain: list[int], counts: NDArray[np.int64]) -> float:
        """Nested cuts: ranks inside grow from each to the next by no more than the units that it has more."""
        least = np.full(self._ranks + 1, np.inf)
        least[0] = 0
        covered = np.zeros(self._node.units, dtype=np.int64)
        for cut in chain:
            within = self.inside[cut]
            if (covered & ~within & 1).any():
                raise RunError(f"certificate: chain: cut {cut} does not hold the units of the one before")
            more = int(within.sum() - covered.sum())
            costs = self.tables[self.of_cut[cut], 1 << self._ranks :]
            least = np.array(
                [
                    max(least[max(0, k - more) : k + 1].min(), costs[counts == k].min())
                    for k in range(self._ranks + 1)
                ]
            )
            covered = within
        outside = self._node.units - int(covered.sum())
        return float(least[max(0, self._ranks - outside) :].min())


def _in_steps(sent: Floats, links: float, step: float) -> Floats:
    """Bytes over equal links whose loads are whole steps: rounded up to a step on every link.

    Not rounded up: what is a whole number of steps but for the rounding of the quotient.
    """
    if not links:
        return sent
    steps = sent / (step * links)
    return np.maximum(sent, np.ceil(steps - np.maximum(TOLERANCE, 1e-13 * steps)) * step * links)
