"""How near the best known does the default search come in its five seconds? Beyond the sizes of proofs.

The problems are of the kinds that users have: halos on open and scrambled grids, geometric and sparse random
patterns, all-to-all in columns and transposes, 16 to 256 ranks, on trees, meshes, tori, rings of chiplets and
processors whose latencies were measured. Ours is the default search of `corewise place` by contended time
(flow) in its default time. Best known is the least of what long searches find, none of which is the one that
is judged: the same portfolio with other seeds, descents on contended time itself from the best so far, and
the least found by every other objective, each on one core. Times are CPU times of the thread, so that
neighbours on a shared host take nothing away; ours has further threads on the other cores for as long.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from corewise import _core
from corewise.analysis.placement.limits import LimitRules
from corewise.analysis.placement.search import Costs, Settings, search_placements
from corewise.analysis.placement.starts import named_starts
from corewise.bench.rounds import rounded
from corewise.bench.rows import Listener, Row
from corewise.data.machines import load_machine
from corewise.errors import InputError

__all__ = ["FULL", "PROBLEMS", "QUICK", "Extent", "Problem", "remark", "rows"]

OTHERS = ("bottleneck", "hop-bytes", "distance")


@dataclass(frozen=True)
class Problem:
    """A pattern on a machine."""

    name: str
    machine: str
    pattern: Callable[[], _core.Pattern]


@dataclass(frozen=True)
class Extent:
    """How long is searched, in CPU seconds, and for how many of the problems.

    Attributes
    ----------
    ours_s : float
        The search that is judged.
    reference_s : float
        All long searches of a problem together.
    seeds : int
        Of the long portfolios.
    most_ranks : int
        Problems of more ranks are left out.
    problems : sequence of str
        Names of `PROBLEMS`; empty: all of them.
    """

    ours_s: float
    reference_s: float
    seeds: int
    most_ranks: int
    problems: Sequence[str] = ()


QUICK = Extent(0.3, 0.6, 1, 64)
FULL = Extent(5.0, 45.0, 3, 256)


def halo(
    family: str, dims: str, parameters: Mapping[str, str], scramble: int = 0
) -> Callable[[], _core.Pattern]:
    """A halo of the generators; `scramble` is the seed of an order of the ranks."""
    ranks = math.prod(int(side) for side in dims.split("x"))
    words = {"ranks": str(ranks), "dims": dims, **parameters}
    return lambda: scrambled(_core.generate(family, words), scramble)


def scrambled(pattern: _core.Pattern, seed: int) -> _core.Pattern:
    """The same messages between renumbered ranks; seed 0 renumbers nobody."""
    if seed == 0:
        return pattern
    order = np.random.default_rng(seed).permutation(pattern.ranks)
    phases = []
    for phase in pattern.phases:
        senders, receivers, sizes, counts = phase.coordinates()
        phases.append(
            (phase.name, order[senders].astype(np.int32), order[receivers].astype(np.int32), sizes, counts)
        )
    return _core.Pattern.from_phases(f"{pattern.name} scrambled", pattern.ranks, phases)


def geometric(ranks: int, seed: int, peers: float = 8) -> Callable[[], _core.Pattern]:
    """Points in a square; the nearer two are, the more they exchange."""

    def make() -> _core.Pattern:
        points = np.random.default_rng(seed).random((ranks, 2))
        reach = math.sqrt(peers / (math.pi * ranks))
        matrix = np.zeros((ranks, ranks), np.uint64)
        for low, high in combinations(range(ranks), 2):
            away = math.dist(points[low], points[high])
            if away < reach:
                matrix[low, high] = matrix[high, low] = 1024 + int(65536 * (1 - away / reach))
        return _core.Pattern.from_dense(f"geometric {ranks}", matrix)

    return make


def columns(rows: int, width: int, scramble: int = 0) -> Callable[[], _core.Pattern]:
    """All-to-all within every column of a grid of ranks, numbered row by row."""

    def make() -> _core.Pattern:
        column = np.arange(rows * width) % width
        matrix = np.where(column[:, None] == column, 16384, 0).astype(np.uint64)
        np.fill_diagonal(matrix, 0)
        return scrambled(_core.Pattern.from_dense(f"columns {rows}x{width}", matrix), scramble)

    return make


def generated(family: str, **parameters: str) -> Callable[[], _core.Pattern]:
    """A generator's pattern."""
    return lambda: _core.generate(family, parameters)


_OPEN = {"periodic": "no", "face_bytes": "64 KiB"}
_CORNERS = {**_OPEN, "stencil": "faces+edges+corners", "edge_bytes": "4 KiB", "corner_bytes": "512"}
PROBLEMS = (
    Problem("halo27-16-scrambled-xeon", "dual-xeon-gold-6242", halo("halo_3d", "4x2x2", _CORNERS, 3)),
    Problem("halo5-32-threads", "pack:2 l3:2 core:6 pu:2", halo("halo_2d", "8x4", _OPEN, 2)),
    Problem("columns-48-mesh", "mesh-6x4", columns(6, 8)),
    Problem(
        "halo5-48-anisotropic-mesh",
        "mesh-6x4",
        halo("halo_2d", "8x6", {"periodic": "no", "face_bytes": "64 KiB,8 KiB"}),
    ),
    Problem("halo27-64-chiplets", "chiplet-2s", halo("halo_3d", "4x4x4", _CORNERS)),
    Problem("halo7-60-holes-chiplets", "chiplet-2s", halo("halo_3d", "5x4x3", _OPEN, 4)),
    Problem("geometric-64-chiplets", "chiplet-2s", geometric(64, 2)),
    Problem(
        "random-64-ring-of-chiplets", "ring:8 core:8", generated("random", ranks="64", degree="4", seed="2")
    ),
    Problem("halo5-64-ring-of-chiplets", "ring:8 core:8", halo("halo_2d", "8x8", _OPEN, 5)),
    Problem("transpose-64-epyc", "epyc-7773x", generated("transpose", ranks="64")),
    Problem("geometric-96-epyc", "dual-epyc-7r13", geometric(96, 3)),
    Problem("halo7-96-mesh", "mesh:8x6 core:2", halo("halo_3d", "6x4x4", _OPEN, 6)),
    Problem("geometric-128-tree", "pack:2 l3:8 core:8", geometric(128, 4)),
    Problem("halo27-128-tree", "pack:2 l3:8 core:8", halo("halo_3d", "8x4x4", _CORNERS)),
    Problem("random-128-torus", "torus:8x8 core:2", generated("random", ranks="128", degree="3", seed="5")),
    Problem("random-150-mesh", "mesh:13x12", generated("random", ranks="150", degree="3", seed="39")),
    Problem("geometric-224-ring-of-chiplets", "ring:14 core:16", geometric(224, 25)),
    Problem("transpose-256-torus", "torus:16x16", generated("transpose", ranks="256")),
    Problem("geometric-256-torus", "torus:16x16", geometric(256, 5)),
    Problem("halo7-256-tree", "pack:4 l3:8 core:8", halo("halo_3d", "8x8x4", _OPEN, 7)),
    Problem("columns-256-tree", "pack:4 l3:8 core:8", columns(16, 16, 8)),
)


def cpu_clock(seconds: float) -> Callable[[], bool]:
    """True when this thread has used so many seconds from now on."""
    end = time.thread_time() + seconds
    return lambda: time.thread_time() >= end


class Contest:
    """One problem, its costs by flow, and the least placement known so far."""

    def __init__(self, problem: Problem) -> None:
        self.machine = load_machine(problem.machine)
        self.pattern = problem.pattern()
        self.limits = LimitRules().on(self.machine, self.pattern.ranks)
        self.starts = named_starts(self.machine, [self.pattern])
        self.costs = Costs(self.machine, [self.pattern], [1.0], Settings("flow", limits=self.limits))
        self.least_ns, self.origin = math.inf, ""
        self.best: list[int] = []

    def search(
        self, seconds: float, starts: Sequence[tuple[str, list[int]]] = (), **changes: object
    ) -> list[int]:
        """A search of `corewise place`, under a CPU clock."""
        settings = Settings("flow", should_stop=cpu_clock(seconds), limits=self.limits, workers=1)
        settings = settings.with_(**changes)
        costs = Costs(self.machine, [self.pattern], [1.0], settings)
        return search_placements(costs, {**self.starts, **dict(starts)}).unit_of_rank

    def offer(self, units: list[int], origin: str) -> None:
        """A placement that somebody found."""
        time_ns = self.costs.of(units)
        if time_ns < self.least_ns * (1 - 1e-9):
            self.least_ns, self.origin, self.best = time_ns, origin, units

    def reference(self, extent: Extent) -> None:
        """The long searches; half of the time goes to seeds of the portfolio."""
        share = extent.reference_s / 2
        for seed in range(extent.seeds):
            found = self.search(share / extent.seeds, seed=1000 + seed)
            self.offer(found, f"portfolio, seed {1000 + seed}")
        for objective in OTHERS:
            self.offer(self.search(share / 6, objective=objective, seed=1000), objective)
        for seed in range(2):
            known = [("known", self.best)]
            self.offer(self.search(share / 4, known, method="local", seed=seed), "descent on flow")


def row(problem: Problem, extent: Extent) -> Row:
    """The default search beside the best known."""
    contest = Contest(problem)
    ours = contest.search(extent.ours_s, workers=None)
    ours_ns = contest.costs.of(ours)
    contest.reference(extent)
    contest.offer(ours, "the default search itself")
    least_ns = contest.least_ns
    order_ns = contest.costs.of(contest.costs.in_order())
    return replace(
        Row(
            f"mapping-reference-{problem.name}",
            f"{problem.name}: contended time of the default placement; theirs: best known",
            "ns",
            rounded(ours_ns),
            "best known",
        ),
        theirs=rounded(least_ns),
        ratio=round(least_ns / ours_ns, 4),
        more={
            "over_best": round(ours_ns / least_ns, 4),
            "found_by": contest.origin,
            "rank_order": rounded(order_ns),
        },
    )


def rows(extent: Extent, listener: Listener) -> list[Row]:
    """The problems of the extent.

    Raises
    ------
    InputError
        If there is no problem of a name.
    """
    names = [each.name for each in PROBLEMS]
    for name in extent.problems:
        if name not in names:
            raise InputError(f"--problem: found '{name}', allowed: {', '.join(names)}")
    wanted = [each for each in PROBLEMS if each.name in (extent.problems or names)]
    chosen = [each for each in wanted if extent.problems or each.pattern().ranks <= extent.most_ranks]
    found = []
    for index, problem in enumerate(chosen):
        found.append(row(problem, extent))
        listener.progress((index + 1) / len(chosen))
    return found


def remark(found: Sequence[Row]) -> str:
    """How near the best known."""
    over = sorted(
        (float(str(each.more["over_best"])), each.id.removeprefix("mapping-reference-")) for each in found
    )
    worst, where = over[-1]
    within = sum(value <= 1.02 for value, _ in over)
    middle = statistics.median(value for value, _ in over)
    return (
        f"{within} of {len(over)} within 1.02 of the best known, {middle:.3f} in the middle, "
        f"{worst:.3f} at worst ({where})"
    )
