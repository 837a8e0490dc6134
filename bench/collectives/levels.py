#!/usr/bin/env python3
"""Collectives with levels inside a node and without, as messages on described machines, in simulation.

Each algorithm is its messages, step by step: those of the accelerate library for so many bytes. A rank goes
on to its next step when its messages of this one are through. What a rank computes takes no time, and a copy
out of a cache that a peer has already filled costs what the first one did. With levels every step of a level
ends before the next level begins, as in the library.

    bench/collectives/levels.py [MACHINE ...]

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest

from corewise._core import Pattern
from corewise.sim.run import simulate

Message = list[int]
Steps = list[list[Message]]
"""Messages from, to and bytes; a list for each step."""

MACHINES = {
    "ryzen-9-5950x": (8, 8),
    "threadripper-1950x": (4, 4, 4, 4),
    "dual-xeon-gold-6242": (16, 16),
    "epyc-7773x": (8,) * 8,
    "dual-epyc-7r13": (8,) * 12,
}
"""The cores of each cache of level 3, or of each socket."""
THREADS = 2
"""Of a core in all of them: a rank has the first."""
INSIDE_FLAG = 136
"""Messages of up to so many bytes travel in the flag."""
SIZES = (64, 65_536, 1_048_576)


def dissemination(ranks: Sequence[int], _: int) -> Steps:
    """A barrier: flags to the rank 2^k further on."""
    n = len(ranks)
    distances = [2**k for k in range((n - 1).bit_length())]
    return [[[ranks[i], ranks[(i + k) % n], 64] for i in range(n)] for k in distances]


def tree(ranks: Sequence[int], size: int) -> Steps:
    """Down a binomial tree, the farthest first."""
    n = len(ranks)
    halves = [2**k for k in reversed(range((n - 1).bit_length()))]
    return [[[ranks[i], ranks[i + k], size] for i in range(0, n - k, 2 * k)] for k in halves]


def star(ranks: Sequence[int], size: int) -> Steps:
    """Everybody copies from the first rank's stage."""
    return [[[ranks[0], rank, size] for rank in ranks[1:]]]


def turned(steps: Steps) -> Steps:
    """From the last step to the first, each message the other way."""
    return [[[receiver, sender, size] for sender, receiver, size in step] for step in reversed(steps)]


def broadcast(ranks: Sequence[int], size: int) -> Steps:
    """Down a tree inside the flags, or out of the root's stage."""
    return tree(ranks, size) if size <= INSIDE_FLAG else star(ranks, size)


def reduce(ranks: Sequence[int], size: int) -> Steps:
    """To the first rank."""
    return turned(broadcast(ranks, size))


def doubling(ranks: Sequence[int], size: int) -> Steps:
    """Exchanges with the rank whose number differs in one bit, after and before the usual fold."""
    cube = 1 << (len(ranks).bit_length() - 1)
    beside = len(ranks) - cube
    number = [ranks[2 * i + 1] if i < beside else ranks[i + beside] for i in range(cube)]
    fold = [[ranks[2 * i], ranks[2 * i + 1], size] for i in range(beside)]
    middle = [
        [[number[i], number[i ^ (1 << k)], size] for i in range(cube)] for k in range(cube.bit_length() - 1)
    ]
    return [fold, *middle, *turned([fold])]


def allreduce(ranks: Sequence[int], size: int) -> Steps:
    """By doubling inside the flags; else each rank combines its part and all copy the parts."""
    if size <= INSIDE_FLAG:
        return doubling(ranks, size)
    part = max(1, size // len(ranks))
    return [[[a, b, part] for a in ranks for b in ranks if a != b]] * 2


FLAT = {"barrier": dissemination, "bcast": broadcast, "allreduce": allreduce}


def by_levels(kind: str, groups: Sequence[Sequence[int]], size: int) -> Steps:
    """In the groups, and among their first ranks."""
    leaders = [group[0] for group in groups]

    def inside(how: Callable[[Sequence[int], int], Steps]) -> Steps:
        steps = zip_longest(*(how(group, size) for group in groups), fillvalue=[])
        return [list(chain.from_iterable(step)) for step in steps]

    among = FLAT[kind](leaders, size)
    if kind == "barrier":
        return [*inside(dissemination), *among, *inside(dissemination)]
    if kind == "bcast":
        return [*among, *inside(broadcast)]
    return [*inside(reduce), *among, *inside(broadcast)]


def microseconds(machine: str, ranks: int, steps: Steps) -> float:
    """Of one call, a rank on each core."""
    phases = [{"name": str(i), "messages": step} for i, step in enumerate(steps) if step]
    document = {"format": "corewise-pattern", "version": 1, "name": "", "ranks": ranks, "phases": phases}
    pattern = Pattern.from_text(json.dumps(document), "levels")
    units = [THREADS * rank for rank in range(ranks)]
    return simulate(machine, pattern, units, granularity="flow").total_ns / 1000


def main() -> None:
    """A row for each machine, collective and size."""
    print("machine,ranks,collective,bytes,off_us,on_us,off_over_on")
    for machine in sys.argv[1:] or MACHINES:
        sizes = MACHINES[machine]
        ranks = sum(sizes)
        begins = [sum(sizes[:i]) for i in range(len(sizes))]
        groups = [range(begin, begin + size) for begin, size in zip(begins, sizes, strict=True)]
        for kind, flat in FLAT.items():
            for size in SIZES if kind != "barrier" else (0,):
                off = microseconds(machine, ranks, flat(range(ranks), size))
                on = microseconds(machine, ranks, by_levels(kind, groups, size))
                print(f"{machine},{ranks},{kind},{size},{off:.2f},{on:.2f},{off / on:.2f}")


if __name__ == "__main__":
    main()
