"""The closed tree of a certificate, walked entry by entry: every branch ends in a leaf that is derived again.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corewise.analysis.placement.certificate.cuts import Cuts
from corewise.analysis.placement.certificate.facts import TOLERANCE, Floats, Node, Traffic
from corewise.analysis.placement.certificate.limits import Limits
from corewise.errors import RunError


class Walk:
    """The tree, entry by entry; a position is a place in the order of the ranks."""

    def __init__(self, read: Mapping[str, Any], node: Node, traffic: Traffic, limits: Limits) -> None:
        self._node = node
        self._limits = limits
        self._order = read["order"]
        self._ranks = traffic.ranks
        self._weights = traffic.weights
        self._letters = read["tree"]
        self._bound = float(read["bound_ns"])
        self._limit = self._bound * (1 - TOLERANCE)
        self._cuts = Cuts(read, node, traffic)
        self._chain = read["chain"]
        self._split = read["split"]
        self._floors = traffic.floors(node)
        self._sides = [np.ones(node.units, dtype=bool)] * self._ranks
        self._symmetries = [np.array(image) for image in read["unit_symmetries"]]
        self._moved = [
            frozenset(np.flatnonzero(image != np.arange(node.units)).tolist()) for image in self._symmetries
        ]
        order = self._order
        self._lower = self._constraints(order, read["rank_symmetries"])
        ordered = traffic.bytes[:, order][:, :, order]
        self._messages: list[list[tuple[int, int, bool, float]]] = [[] for _ in range(self._ranks)]
        for phase, a, b in np.argwhere(ordered):
            self._messages[max(a, b)].append(
                (int(phase), int(min(a, b)), bool(a > b), float(ordered[phase, a, b]))
            )
        self._at: list[int] = []
        self._next = 0

    def _constraints(self, order: list[int], images: list[list[int]]) -> list[list[int]]:
        """Per position the earlier ones whose unit must be lower."""
        lower: list[list[int]] = [[] for _ in order]
        position = {rank: place for place, rank in enumerate(order)}
        for place, rank in enumerate(order):
            fixing = [image for image in images if all(image[other] == other for other in order[:place])]
            orbit, fresh = {rank}, [rank]
            while fresh:
                some = fresh.pop()
                for image in fixing:
                    for other in (image[some], image.index(some)):
                        if other not in orbit:
                            orbit.add(other)
                            fresh.append(other)
            for other in orbit - {rank}:
                lower[position[other]].append(place)
        return lower

    def check(self) -> None:
        """That the tree is closed, or that the cuts suffice at its root."""
        if self._letters == "R":
            proven = self._cuts.root(self._chain)
            if proven < self._limit:
                raise RunError(
                    f"certificate: tree: the cuts prove {proven} ns at the root, less than bound_ns"
                )
            return
        if self._split < 0:
            self._start()
        else:
            within = self._cuts.inside[self._split].astype(bool)
            for inside, costs in self._cuts.open_sets(self._split, self._bound * (1 - TOLERANCE / 10)):
                self._floors = costs
                self._sides = [within if inside >> place & 1 else ~within for place in range(self._ranks)]
                self._start()
        if self._next != len(self._letters):
            raise RunError(f"certificate: tree: {len(self._letters) - self._next} entries are left over")

    def _start(self) -> None:
        loads = np.zeros((len(self._weights), self._node.links))
        self._descend(loads, np.zeros(len(self._cuts.of_cut), dtype=np.int64))

    def _candidates(self) -> list[int]:
        taken = set(self._at)
        parent = list(range(self._node.units))

        def root(unit: int) -> int:
            while parent[unit] != unit:
                unit = parent[unit]
            return unit

        for image, moved in zip(self._symmetries, self._moved, strict=True):
            if moved & taken:
                continue
            for unit in moved:
                low, high = sorted((root(unit), root(int(image[unit]))))
                parent[high] = low
        floor = max((self._at[earlier] for earlier in self._lower[len(self._at)]), default=-1)
        side = self._sides[len(self._at)] & self._limits.domain(self._order[len(self._at)])
        return [
            u
            for u in range(floor + 1, self._node.units)
            if u not in taken and parent[u] == u and side[u] and self._limits.fits([*self._at, u])
        ]

    def _descend(self, loads: Floats, inside: NDArray[np.int64]) -> None:
        for unit in self._candidates():
            if self._next == len(self._letters):
                raise RunError(f"certificate: tree: ends after {self._next} entries, before it is closed")
            letter = self._letters[self._next]
            self._next += 1
            self._at.append(unit)
            after = self._put(loads, len(self._at) - 1, unit)
            within = inside | (self._cuts.inside[:, unit] << (len(self._at) - 1))
            if letter == "(":
                if len(self._at) == self._ranks:
                    raise RunError(f"certificate: tree: entry {self._next} goes on below a whole placement")
                self._descend(after, within)
            elif not self._closes(letter, after, within):
                raise RunError(
                    f"certificate: tree: entry {self._next} ('{letter}') does not close the branch with "
                    f"units {self._at} for the first ranks of the order"
                )
            self._at.pop()

    def _closes(self, letter: str, loads: Floats, inside: NDArray[np.int64]) -> bool:
        if letter == "L":
            return bool(self._weights @ self._busiest(loads) >= self._limit)
        if letter == "C" and len(inside):
            return bool(
                self._cuts.tables[self._cuts.of_cut, (1 << len(self._at)) + inside].max() >= self._limit
            )
        least = self._busiest(loads)
        if letter == "A" and self._has_no_assignment(loads, least):
            return True  # mostly, and without tables of the phases
        for raised in self._phases(least, inside) if letter in "PA" else ():
            least = raised
            if letter == "P" and self._weights @ least >= self._limit:
                return True
        return letter == "A" and self._has_no_assignment(loads, least)

    def _phases(self, least: Floats, inside: NDArray[np.int64]) -> Iterator[Floats]:
        """What every phase costs at least, raised by one kind of cuts more each time."""
        for more in self._cuts.phases(len(self._at), inside) if len(inside) else ():
            least = np.maximum(least, more)
            yield least

    def _put(self, loads: Floats, position: int, unit: int) -> Floats:
        after = loads.copy()
        for phase, peer, outgoing, size in self._messages[position]:
            other = self._at[peer]
            after[phase] += size * (
                self._node.times[unit, other] if outgoing else self._node.times[other, unit]
            )
        return after

    def _busiest(self, loads: Floats) -> Floats:
        """Per phase (last axis) the load of its busiest link, at least its floor."""
        busiest: Floats = np.maximum(loads.max(axis=-1, initial=0), self._floors)
        return busiest

    def _has_no_assignment(self, loads: Floats, least: Floats) -> bool:
        """Whether none is left where the phases cost `least` at least.

        Narrows the units of the ranks left and raises what each phase costs, as long as it helps.
        """
        placed = len(self._at)
        left = range(placed, self._ranks)
        trials = {position: self._trials(loads, position) for position in left}
        free = np.ones(self._node.units, dtype=bool)
        free[self._at] = False
        allowed = {position: free.copy() for position in left}
        for position in left:
            floor = max((self._at[p] for p in self._lower[position] if p < placed), default=-1)
            allowed[position][: floor + 1] = False
            allowed[position] &= self._sides[position] & self._limits.domain(self._order[position])
        changed = True
        while changed:
            changed = False
            for position in left:
                costs = np.maximum(trials[position], least) @ self._weights
                kept = allowed[position] & (costs < self._limit)
                if not kept.any():
                    return True
                raised = np.maximum(least, trials[position][kept].min(axis=0))
                changed |= bool((kept != allowed[position]).any() or (raised > least).any())
                allowed[position], least = kept, raised
            if float(self._weights @ least) >= self._limit:
                return True
        return not _has_matching([set(np.flatnonzero(allowed[position]).tolist()) for position in left])

    def _trials(self, loads: Floats, position: int) -> Floats:
        """Per unit for this rank and per phase the busiest link: float64 (units, phases)."""
        extra = np.zeros((self._node.units, *loads.shape))
        for phase, peer, outgoing, size in self._messages[position]:
            if peer < len(self._at):
                other = self._at[peer]
                times = self._node.times[:, other] if outgoing else self._node.times[other, :]
                extra[:, phase] += size * times
        return self._busiest(loads + extra)


def _has_matching(allowed: list[set[int]]) -> bool:
    holder: dict[int, int] = {}

    def augment(row: int, seen: set[int]) -> bool:
        for unit in allowed[row] - seen:
            seen.add(unit)
            if unit not in holder or augment(holder[unit], seen):
                holder[unit] = row
                return True
        return False

    return all(augment(row, set()) for row in range(len(allowed)))
