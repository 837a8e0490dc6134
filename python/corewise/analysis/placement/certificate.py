"""Checks a certificate: that no placement of a pattern on a machine costs less than the certificate says.

Shares no code with the search and believes nothing of the document: symmetries, cuts, capacities, traffic,
costs and every leaf of the tree are derived again from machine and patterns. The argument is in
`docs/formats/certificate.md`. It walks the whole closed tree, so its time grows with the tree.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, Pattern
from corewise.base.documents import Fields
from corewise.errors import RunError, bad_field, shown

__all__ = ["check_certificate"]

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""Relative rounding that a comparison of two times allows; the search allows a tenth of it."""

_MOST_CUT_RANKS = 16
"""With cuts every set of ranks has a cost."""

_MOST_PHASE_BYTES = 192 << 20
"""Of tables with the phases' costs; the search has half as many."""

_FIELDS = (
    *("format", "version", "machine_digest", "pattern_digest", "objective", "unit_of_rank", "cost_ns"),
    *("bound_ns", "order", "unit_symmetries", "rank_symmetries", "cuts", "chain", "split", "tree"),
)
_LIMITS = ("fixed", "kept_free", "cores")
"""What versions from 2 on have besides: their proofs are about placements within these."""


def check_certificate(
    machine: Machine,
    patterns: Sequence[Pattern],
    weights: Sequence[float] | None,
    document: Fields,
) -> None:
    """Returns where the certificate holds for these patterns (one placement for all) on this machine.

    Parameters
    ----------
    machine : Machine
    patterns : sequence of Pattern
        As the search was given them, in the same order.
    weights : sequence of float or None
        One per pattern; None: 1 each.
    document : Fields
        The certificate, as it was read; its source begins the messages about its fields.

    Raises
    ------
    InputError
        The document is no certificate of versions 1 to 3, or one of another machine or other patterns.
    RunError
        The certificate does not hold: its message says what is wrong and where.
    """
    document.one_of("format", ("corewise-certificate",))
    version = document.whole("version", 1, 3)
    document.only(_FIELDS if version == 1 else (*_FIELDS, *_LIMITS))
    document.one_of("objective", ("bottleneck",))
    traffic = _Traffic(patterns, weights)
    node = _Node(machine)
    _check_digests(document, machine, traffic)
    read = _read(document, machine, traffic.ranks)
    _check_claim(read, node, traffic)
    limits = _Limits(document if version > 1 else None, machine, traffic.ranks)
    limits.check_placement(read["unit_of_rank"])
    limits.check_order(read["order"])
    for image in read["unit_symmetries"]:
        node.check_symmetry(image)
        limits.check_unit_symmetry(image)
    for image in read["rank_symmetries"]:
        traffic.check_symmetry(image)
        limits.check_rank_symmetry(image)
    _Walk(read, node, traffic, limits).check()


def _digest(text: str) -> str:
    value = 14695981039346656037
    for byte in text.encode():
        value = ((value ^ byte) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def _check_digests(document: Fields, machine: Machine, traffic: _Traffic) -> None:
    parts = [f"u{unit.stop};" for unit in machine.units]
    parts += [f"l{link.source},{link.target},{link.bandwidth_gb_per_s:.17g};" for link in machine.links]
    units = len(machine.units)
    for source in range(units):
        for target in range(units):
            for route in machine.routes(source, target):
                parts.append("r" + "".join(f"{link}," for link in route) + ";")
            parts.append("|")
    for field, text in (("machine_digest", "".join(parts)), ("pattern_digest", traffic.text())):
        if document.text(field) != _digest(text):
            raise document.wrong(field, f"{_digest(text)}: it certifies another one")


def _read(document: Fields, machine: Machine, ranks: int) -> Mapping[str, Any]:
    """The fields of which the proof consists, each within its range."""
    units = len(machine.units)
    placed = document.wholes("unit_of_rank", 0, units - 1)
    if len(placed) != ranks or len(set(placed)) != ranks:
        raise document.wrong("unit_of_rank", f"{ranks} different units below {units}")
    order = document.wholes("order", 0, ranks - 1)
    if len(order) != ranks or len(set(order)) != ranks:
        raise document.wrong("order", f"the ranks 0 to {ranks - 1}, each once")
    symmetries = {"unit_symmetries": units, "rank_symmetries": ranks}
    for field, size in symmetries.items():
        for image in document.lists_of_wholes(field, 0, size - 1):
            if len(image) != size or len(set(image)) != size:
                raise bad_field(document.source, field, shown(image), f"permutations of 0 to {size - 1}")
    cuts = _cuts(document, machine, ranks)
    document.wholes("chain", 0, cuts - 1, may_be_empty=True)
    document.whole("split", -1, cuts - 1)
    document.number("cost_ns", 0)
    document.number("bound_ns", 0)
    document.text("tree", "")
    return document.raw()


def _cuts(document: Fields, machine: Machine, ranks: int) -> int:
    """How many cuts there are, each with some of the units inside and some outside."""
    cuts = document.lists_of_wholes("cuts", 0, len(machine.stops) - 1)
    if cuts and ranks > _MOST_CUT_RANKS:
        raise document.wrong("cuts", f"none for more than {_MOST_CUT_RANKS} ranks")
    stop_of_unit = [unit.stop for unit in machine.units]
    for stops in cuts:
        if {stop in stops for stop in stop_of_unit} != {False, True}:
            raise bad_field(document.source, "cuts", shown(stops), "stops with some of the units, not all")
    return len(cuts)


def _check_claim(read: Mapping[str, Any], node: _Node, traffic: _Traffic) -> None:
    cost = traffic.cost(node, read["unit_of_rank"])
    if not abs(cost - read["cost_ns"]) <= TOLERANCE * cost:
        raise RunError(f"certificate: cost_ns is {read['cost_ns']}, the placement costs {cost}")
    if not 0 < read["bound_ns"] <= cost * (1 + TOLERANCE):
        raise RunError(
            f"certificate: bound_ns is {read['bound_ns']}, which no bound of a placement of {cost} ns is"
        )


class _Limits:
    """Which placements the proof is about: ranks that are fixed, units kept free, ranks spread over cores.

    Spread evenly: no core has two ranks more than another one that has room. The fewest ranks that a core
    has in any such placement come from a level that all cores reach where they can; some have one more.
    """

    def __init__(self, document: Fields | None, machine: Machine, ranks: int) -> None:
        units = len(machine.units)
        self.ranks = ranks
        self.unit_of_fixed: dict[int, int] = {}
        self.kept_free: set[int] = set()
        cores: list[list[int]] = []
        if document is not None:
            self._read_fixed(document, ranks, units)
            self.kept_free = set(document.wholes("kept_free", 0, units - 1, may_be_empty=True))
            cores = [list(core) for core in document.lists_of_wholes("cores", 0, units - 1)]
            if cores not in ([], _cores_of(machine)):
                raise document.wrong("cores", "none, or all cores of the machine that have several units")
        self._spreads = bool(cores)
        self.core_of = list(range(units))
        for core in cores:
            for unit in core:
                self.core_of[unit] = core[0]
        taken = set(self.unit_of_fixed.values())
        self.open = np.array([u not in self.kept_free and u not in taken for u in range(units)])
        self._spread()

    def _read_fixed(self, document: Fields, ranks: int, units: int) -> None:
        pairs = document.lists_of_wholes("fixed", 0, max(ranks, units) - 1)
        for pair in pairs:
            if len(pair) != 2 or pair[0] >= ranks or pair[1] >= units:
                raise bad_field(
                    document.source, "fixed", shown(pair), f"a rank below {ranks}, a unit below {units}"
                )
        self.unit_of_fixed = {pair[0]: pair[1] for pair in pairs}
        if len(self.unit_of_fixed) != len(pairs) or len(set(self.unit_of_fixed.values())) != len(pairs):
            raise document.wrong("fixed", "each rank and each unit once")

    def _spread(self) -> None:
        fixed = np.bincount(
            [self.core_of[u] for u in self.unit_of_fixed.values()], minlength=len(self.core_of)
        )
        room = fixed + np.bincount(
            [core for core, is_open in zip(self.core_of, self.open, strict=True) if is_open],
            minlength=len(self.core_of),
        )
        levels = [np.maximum(fixed, np.minimum(room, level)) for level in range(self.ranks + 2)]
        level = max(at for at in range(self.ranks + 1) if levels[at].sum() <= self.ranks)
        self.least, self.most = levels[level], levels[level + 1]
        self._more = self.ranks - int(self.least.sum())

    def fits(self, units: Sequence[int]) -> bool:
        """Whether ranks on these units, fixed ones among them, can be a part of an allowed placement."""
        if not self._spreads:
            return True
        count = np.bincount([self.core_of[unit] for unit in units], minlength=len(self.core_of))
        more = int(np.maximum(count - self.least, 0).sum())
        return bool((count <= self.most).all()) and more <= self._more

    def domain(self, rank: int) -> NDArray[np.bool_]:
        """Units that the rank may have: bool (units,)."""
        if rank not in self.unit_of_fixed:
            return self.open
        one = np.zeros(len(self.core_of), dtype=bool)
        one[self.unit_of_fixed[rank]] = True
        return one

    def check_placement(self, unit_of_rank: list[int]) -> None:
        misplaced = [rank for rank, unit in enumerate(unit_of_rank) if not self.domain(rank)[unit]]
        if misplaced or not self.fits(unit_of_rank):
            raise RunError(
                "certificate: unit_of_rank: the placement is not within fixed, kept_free and cores"
            )

    def check_order(self, order: list[int]) -> None:
        if set(order[: len(self.unit_of_fixed)]) != set(self.unit_of_fixed):
            raise RunError("certificate: order: does not begin with the fixed ranks")

    def check_rank_symmetry(self, image: list[int]) -> None:
        if any(image[rank] != rank for rank in self.unit_of_fixed):
            raise RunError(f"certificate: rank_symmetries: {image} moves a fixed rank")

    def check_unit_symmetry(self, image: list[int]) -> None:
        moves_fixed = any(image[unit] != unit for unit in self.unit_of_fixed.values())
        core = np.array(self.core_of)
        there = core[image]
        whole = all(len(set(there[core == each].tolist())) == 1 for each in set(self.core_of))
        alike = (self.least[core] == self.least[there]).all() and (self.most[core] == self.most[there]).all()
        if moves_fixed or not whole or not alike or (self.open[image] != self.open).any():
            raise RunError(f"certificate: unit_symmetries: {image} leads out of fixed, kept_free and cores")


def _cores_of(machine: Machine) -> list[list[int]]:
    """Units whose innermost domain is the same core, where it has several."""
    cores: dict[str, list[int]] = {}
    for number, unit in enumerate(machine.units):
        inner = unit.domains[-1] if unit.domains else ""
        if inner.removeprefix("core").isdecimal() and inner.startswith("core"):
            cores.setdefault(inner, []).append(number)
    return sorted(units for units in cores.values() if len(units) > 1)


class _Traffic:
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
        parts = [f"n{self.ranks};"]
        for weight, sums in self._entries:
            parts.append(f"w{weight:.17g};")
            parts += [f"m{a},{b},{sums[a, b]};" for a, b in sorted(sums)]
        return "".join(parts)

    def check_symmetry(self, image: list[int]) -> None:
        if self._by_phase(self.bytes[:, image][:, :, image]) != self._by_phase(self.bytes):
            raise RunError(f"certificate: rank_symmetries: {image} changes what is sent")

    def _by_phase(self, phases: Floats) -> dict[bytes, float]:
        """The weights by what is sent."""
        return {sent.tobytes(): weight for sent, weight in zip(phases, self.weights.tolist(), strict=True)}

    def cost(self, node: _Node, unit_of_rank: list[int]) -> float:
        loads = np.zeros((len(self.weights), node.links))
        for phase, a, b in np.argwhere(self.bytes):
            loads[phase] += self.bytes[phase, a, b] * node.times[unit_of_rank[a], unit_of_rank[b]]
        return float(self.weights @ loads.max(axis=1, initial=0))

    def floors(self, node: _Node) -> Floats:
        """What every phase costs in any placement: its largest message between the best pair of units."""
        apart = ~np.eye(node.units, dtype=bool)
        least = float(node.times.max(axis=2, initial=0)[apart].min()) if node.units > 1 else 0.0
        largest: Floats = self.bytes.max(axis=(1, 2), initial=0)
        return largest * least


class _Node:
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
        moved = np.ascontiguousarray(self._by_link[:, image][:, :, image])
        if self._kinds_of(moved) != self._kinds:
            raise RunError(f"certificate: unit_symmetries: {image} is no symmetry of the machine's links")


class _Cuts:
    """For every cut the least cost of any completion, by the ranks already known to be inside."""

    def __init__(self, read: Mapping[str, Any], node: _Node, traffic: _Traffic) -> None:
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

    def _cross(self, order: list[int], traffic: _Traffic) -> list[tuple[Floats, Floats, Floats, Floats]]:
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


class _Walk:
    """The tree, entry by entry; a position is a place in the order of the ranks."""

    def __init__(self, read: Mapping[str, Any], node: _Node, traffic: _Traffic, limits: _Limits) -> None:
        self._node = node
        self._limits = limits
        self._order = read["order"]
        self._ranks = traffic.ranks
        self._weights = traffic.weights
        self._letters = read["tree"]
        self._bound = float(read["bound_ns"])
        self._limit = self._bound * (1 - TOLERANCE)
        self._cuts = _Cuts(read, node, traffic)
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
