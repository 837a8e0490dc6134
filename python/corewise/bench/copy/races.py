"""Copies of one core: races of the kernels, and which kernel the races say is to be used.

A kernel replaces memcpy for the sizes [2^k, 2^(k+1)) where it was quicker at both 2^k and 1.5 * 2^k: in the
median of the ratios taken round by round by `CLEARLY`, and in three rounds of four at all. So what is noise
stays memcpy. The best of many is partly the luckiest, and choosing costs: so a winner has to win once more,
as `copy` itself, against memcpy alone (`confirmed`). For ``self`` a kernel that writes past the caches must
also be quicker with reading the target included; for ``other`` only two cores can tell
(`bench_copy_messages`).

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from corewise import _core
from corewise.bench.noise import Block, quiet
from corewise.data.copy_tuning import ALIGNMENTS, AUDIENCES, CopyRow

CLEARLY = 1.03
"""By how much the median must be quicker than memcpy."""
PAPERS = ("naive", "read_allocate", "four_stream")
"""Paper 004's kernels: measured, never chosen without having won like any other."""
SMALLEST = 128
"""Bytes: smaller copies are inline, whatever a tuning says (``kernels/copy/copy.hpp``)."""
BOUNDS = ("bound.read", "bound.write", "bound.write_past")
"""The parts of every copy, each alone: loads, stores through the caches, stores past them."""
_QUARTER = 25.0

Times = NDArray[np.float64]
Choice = tuple[str, str, int]
"""Audience, alignment, the smaller end of the octave in bytes."""


def kernels_here() -> tuple[str, ...]:
    """Kernels that this processor has, memcpy first."""
    return tuple(name for name, _, _, _, available in _core.copy_kernels() if available)


def streaming_kernels() -> frozenset[str]:
    """Kernels that write past the caches."""
    return frozenset(name for name, _, _, streams, _ in _core.copy_kernels() if streams)


def bounds_here() -> tuple[str, ...]:
    """Parts of a copy that this processor can be timed with."""
    return BOUNDS if _core.copy_has_bounds() else ()


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes
    ----------
    seconds : float
        Of one block: as many rounds as fit, but at least `rounds`.
    rounds : int
    tries : int
        How often a block that was not quiet is measured.
    """

    seconds: float
    rounds: int
    tries: int


QUICK = Plan(seconds=0.05, rounds=5, tries=1)
FULL = Plan(seconds=0.5, rounds=15, tries=3)


@dataclass
class Racer:
    """Races over memory that is kept, each with rounds of its own.

    Attributes
    ----------
    largest : int
        Bytes of the largest copy.
    plan : Plan
    huge_pages : bool
        Whether huge pages are asked for.
    """

    largest: int
    plan: Plan
    huge_pages: bool = False
    _race: _core.CopyRace = field(init=False)
    _next_round: int = 0

    def __post_init__(self) -> None:
        self._race = _core.CopyRace(self.largest, self.huge_pages)

    def run(
        self, names: Sequence[str], size: int, alignment: str = "same", read_back: bool = False
    ) -> Block[Times]:
        """Nanoseconds per copy, (rounds, contestants)."""
        one = self._rounds(names, size, alignment, read_back, 1)
        fitting = int(self.plan.seconds * 1e9 / self._cost(one[0], size))
        count = max(self.plan.rounds, min(fitting, 40 * self.plan.rounds))
        return quiet(lambda: self._rounds(names, size, alignment, read_back, count), self.plan.tries)

    def _rounds(self, names: Sequence[str], size: int, alignment: str, read_back: bool, count: int) -> Times:
        first = self._next_round
        self._next_round += count
        return self._race.rounds(list(names), size, alignment, read_back, first, count)

    @staticmethod
    def _cost(times: Times, size: int) -> float:
        """Nanoseconds of a round: batches of short copies, one copy before each."""
        repeats = min(4096, max(1, (1 << 20) // size))
        return max(1.0, float(times.sum()) * (repeats + 1))


def ratios(times: Times, rival: int, ours: int) -> Times:
    """The rival's time over ours, round by round."""
    result: Times = times[:, rival] / times[:, ours]
    return result


def clearly_quicker(times: Sequence[Times], rival: int, ours: int) -> float:
    """The smallest median ratio over several sizes, or 0 where the contestant does not win clearly."""
    each = [ratios(one, rival, ours) for one in times]
    medians = [float(np.median(one)) for one in each]
    steady = all(float(np.percentile(one, _QUARTER)) > 1 for one in each)
    return min(medians) if steady and min(medians) >= CLEARLY else 0.0


def winner(times: Sequence[Times], names: Sequence[str], allowed: Iterable[str]) -> str:
    """Who beats the first contestant clearly at every size, and by most; else the first."""
    gains = {name: clearly_quicker(times, 0, names.index(name)) for name in allowed if name != names[0]}
    best = max(gains, key=lambda name: gains[name], default=names[0])
    return best if gains.get(best, 0.0) > 0 else names[0]


def octave_sizes(smaller_end: int) -> tuple[int, int]:
    """The two sizes that speak for an octave."""
    return smaller_end, smaller_end * 3 // 2


def octaves_of(sizes: Iterable[int]) -> tuple[int, ...]:
    """The smaller ends of the octaves in which sizes lie, rising."""
    return tuple(sorted({1 << (size.bit_length() - 1) for size in sizes if size >= SMALLEST}))


@dataclass(frozen=True)
class Decision:
    """A kernel for one octave, and what both took there.

    Attributes
    ----------
    kernel : str
    ours_ns, memcpy_ns : tuple of float
        At `octave_sizes`.
    foreign : float
        The larger share of the two blocks.
    """

    kernel: str
    ours_ns: tuple[float, ...]
    memcpy_ns: tuple[float, ...]
    foreign: float


def decide(racer: Racer, octave: int, alignment: str, names: Sequence[str]) -> dict[str, Decision]:
    """Which kernel each audience is to get in an octave, as one core sees it."""
    blocks = [racer.run(names, size, alignment) for size in octave_sizes(octave)]
    times = [block.value for block in blocks]
    foreign = max(block.foreign for block in blocks)
    streams = streaming_kernels()
    through = winner(times, names, [name for name in names if name not in streams])
    any_kernel = winner(times, names, names)
    own = through
    if any_kernel in streams:
        pair = (through, any_kernel)
        read = [racer.run(pair, size, alignment, read_back=True).value for size in octave_sizes(octave)]
        own = winner(read, pair, pair)
    chosen = {"self": own, "other": through, "nobody": any_kernel}
    medians = [np.median(one, axis=0) for one in times]
    return {
        audience: Decision(
            kernel,
            tuple(round(float(one[names.index(kernel)]), 1) for one in medians),
            tuple(round(float(one[0]), 1) for one in medians),
            foreign,
        )
        for audience, kernel in chosen.items()
    }


def confirmed(racer: Racer, decisions: Mapping[Choice, Decision]) -> dict[Choice, Decision]:
    """The decisions without those that do not hold in rounds of their own.

    Each is put into use and must win again as `copy`, with what the choosing costs, against memcpy alone, at
    both sizes.
    """
    kept = dict(decisions)
    streams = streaming_kernels()
    held: dict[tuple[str, int, str, bool], bool] = {}
    for (audience, alignment, octave), decision in decisions.items():
        if decision.kernel == "memcpy":
            continue
        read_back = audience == "self" and decision.kernel in streams
        key = (alignment, octave, decision.kernel, read_back)
        if key not in held:
            held[key] = _holds(racer, *key)
        if not held[key]:
            kept[audience, alignment, octave] = replace(decision, kernel="memcpy", ours_ns=decision.memcpy_ns)
    _core.set_copy_tuning("")
    return kept


def _holds(racer: Racer, alignment: str, octave: int, kernel: str, read_back: bool) -> bool:
    _core.set_copy_tuning(f"self.{alignment}=memcpy,{kernel}@{octave}")
    pair = ("memcpy", "copy.self")
    times = [racer.run(pair, size, alignment, read_back).value for size in octave_sizes(octave)]
    return winner(times, pair, pair) != "memcpy"


def rows_of(decisions: Mapping[Choice, Decision]) -> tuple[CopyRow, ...]:
    """The rows of a tuning file: neighbouring octaves with one kernel are one row, those with memcpy none."""
    rows: list[CopyRow] = []
    order = sorted(decisions, key=lambda key: (AUDIENCES.index(key[0]), ALIGNMENTS.index(key[1]), key[2]))
    for audience, alignment, octave in order:
        decision = decisions[audience, alignment, octave]
        if decision.kernel == "memcpy":
            continue
        row = CopyRow(
            audience,
            alignment,
            octave,
            2 * octave,
            decision.kernel,
            octave_sizes(octave),
            decision.ours_ns,
            decision.memcpy_ns,
        )
        last = rows[-1] if rows else None
        place = (audience, alignment, octave, decision.kernel)
        if last and (last.audience, last.alignment, last.bytes_to, last.kernel) == place:
            rows[-1] = CopyRow(
                audience,
                alignment,
                last.bytes_from,
                row.bytes_to,
                last.kernel,
                last.measured_bytes + row.measured_bytes,
                last.ours_ns + row.ours_ns,
                last.memcpy_ns + row.memcpy_ns,
            )
        else:
            rows.append(row)
    return tuple(rows)
