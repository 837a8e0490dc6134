"""How long does a proof take? 8 ranks on a bidirectional 8-unit ring whose half-way transfers split.

Random patterns: each rank to at most three peers, weights 1 to 10. Contestants, in turn on every pattern:
corewise from Python, the ring's symmetry prepared once, outside the time (best placement, and best and
worst); all 40320 placements in plain loops in C, and the 2520 that suffice on this one ring if somebody has
proven its symmetry by hand. The run ends with an error where any two disagree about an optimum. Times are CPU
times of the thread. Two more rows: the same with a certificate as a document, and the check of it.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from corewise import _core
from corewise.analysis.placement.certificate import check_certificate
from corewise.base.documents import parse_json
from corewise.bench.programs import Program
from corewise.bench.rounds import alone, beside
from corewise.bench.rows import Listener, Row
from corewise.errors import RunError

RANKS = 8
_ALL, _REDUCED = "plain C, all 40320 placements", "plain C, 2520 placements, symmetry by hand"


class Flow(ctypes.Structure):
    """As ``plain_enumeration.cpp`` has it."""

    _fields_ = (("sender", ctypes.c_int), ("receiver", ctypes.c_int), ("bytes", ctypes.c_float))


def random_matrix(seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """Each rank to at most three peers."""
    draw = np.random.default_rng(seed)
    matrix = np.zeros((RANKS, RANKS), dtype=np.uint64)
    for rank in range(RANKS):
        for peer in draw.integers(0, RANKS, 3):
            if peer != rank:
                matrix[rank, peer] = draw.integers(1, 11)
    return matrix


class Contest:
    """The contestants, prepared once; each call gives the least load in half bytes."""

    def __init__(self, listener: Listener) -> None:
        self.ring = _core.Machine.from_synthetic(f"ring:{RANKS}")
        self.searcher = _core.Searcher(self.ring)
        self._bandwidth = self.ring.links[0].bandwidth_gb_per_s  # bytes per ns
        library = Program(
            "mapping", "plain_enumeration.so", ("plain_enumeration.cpp",), flags=("-shared", "-fPIC")
        ).build(listener)
        self._plain = ctypes.CDLL(str(library)).least_load

    def ours(self, pattern: _core.Pattern, *, worst: bool) -> int:
        """By the room place."""
        found = self.searcher.search(pattern, find_worst=worst)
        return round(2 * found.evaluation.bottleneck_ns * self._bandwidth)

    def plain(self, flows: ctypes.Array[Flow], *, symmetry: bool) -> int:
        """By enumeration."""
        return int(self._plain(flows, len(flows), int(symmetry)))

    def of(self, seed: int) -> tuple[_core.Pattern, dict[str, Callable[[], int]]]:
        """A pattern, and everybody ready to solve it."""
        matrix = random_matrix(seed)
        pattern = _core.Pattern.from_dense(f"random {seed}", matrix)
        pairs = np.argwhere(matrix)
        flows = (Flow * len(pairs))(*(Flow(int(a), int(b), float(matrix[a, b])) for a, b in pairs))
        return pattern, {
            "best": partial(self.ours, pattern, worst=False),
            "best-and-worst": partial(self.ours, pattern, worst=True),
            "all": partial(self.plain, flows, symmetry=False),
            "reduced": partial(self.plain, flows, symmetry=True),
        }


def timed_us(solve: Callable[[], int]) -> tuple[float, int]:
    """CPU time of this thread: neighbours on a shared host stretch wall time, and the longest run most."""
    begin = time.thread_time()
    least = solve()
    return 1e6 * (time.thread_time() - begin), least


def solved(contest: Contest, seed: int) -> dict[str, float]:
    """Microseconds of every contestant on one pattern, the first one rotating."""
    _, ready = contest.of(seed)
    names = list(ready)
    first = seed % len(names)
    times, loads = {}, set()
    for name in names[first:] + names[:first]:
        times[name], least = timed_us(ready[name])
        loads.add(least)
    if len(loads) != 1:
        raise RunError(f"bench mapping: contestants disagree on pattern {seed} of the ring: {sorted(loads)}")
    return times


def certified(contest: Contest, seed: int) -> dict[str, float]:
    """Microseconds of writing a certificate, and of checking it."""
    pattern, _ = contest.of(seed)
    begin = time.thread_time()
    found = contest.searcher.search(pattern, certify=True)
    written = time.thread_time()
    if found.certificate is None:
        raise RunError(f"bench mapping: no certificate for pattern {seed} of the ring")
    check_certificate(contest.ring, [pattern], None, parse_json(found.certificate, "certificate"))
    return {"document": 1e6 * (written - begin), "check": 1e6 * (time.thread_time() - written)}


def rows_of(times: Sequence[dict[str, float]], proofs: Sequence[dict[str, float]]) -> list[Row]:
    """Ours beside both enumerations; certificates."""

    def column(name: str) -> list[float]:
        return [each[name] for each in times]

    found = []
    for kind, what in (("best", "best placement"), ("best-and-worst", "best and worst placement")):
        for rival, name in (("all", _ALL), ("reduced", _REDUCED)):
            text = f"{what} of 8 ranks on a ring, proven"
            blank = Row(f"mapping-ring8-{kind}-{rival}", text, "us", None, name)
            found.append(beside(blank, column(kind), column(rival)))
    for kind, what in (
        ("document", "best placement with a certificate as a document"),
        ("check", "its check"),
    ):
        found.append(alone(Row(f"mapping-ring8-{kind}", what, "us", None), [each[kind] for each in proofs]))
    return found


def rows(patterns: int, certificates: int, listener: Listener) -> list[Row]:
    """Everything about the ring."""
    contest = Contest(listener)
    contest.searcher.search(contest.of(0)[0])
    times = []
    for seed in range(patterns):
        times.append(solved(contest, seed))
        listener.progress((seed + 1) / patterns)
    return rows_of(times, [certified(contest, seed) for seed in range(certificates)])
