"""How much of the processors others took during a measurement, and measuring again where it was too much.

Foreign share: what the processors did over a while, less what this process did, over what they could have
done; time that a hypervisor took away counts as foreign. The kernel counts in ticks of 10 ms, so a block of
measurements lasts long enough for the limit to be a few ticks.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

FOREIGN_LIMIT = 0.03
"""Above it a block is measured again, and marked where it stays so."""
_STAT = Path("/proc/stat")
_IDLE_FIELDS = (3, 4)
"""Idle and waiting for a disk, in /proc/stat."""
_GUEST_FIELDS = 8
"""From here on what the fields before already hold."""

Measured = TypeVar("Measured")


@dataclass(frozen=True)
class Block(Generic[Measured]):
    """Something measured.

    Attributes
    ----------
    value : what was measured.
    foreign : float
        Share of all processors that others took meanwhile, 0 to 1.
    """

    value: Measured
    foreign: float

    @property
    def loud(self) -> bool:
        """Whether others took too much."""
        return self.foreign > FOREIGN_LIMIT


def busy_seconds() -> float:
    """Processor seconds that were spent on this host since it started, by anyone."""
    ticks = [int(word) for word in _STAT.read_text(encoding="ascii").split("\n", 1)[0].split()[1:]]
    busy = sum(ticks[:_GUEST_FIELDS]) - sum(ticks[field] for field in _IDLE_FIELDS)
    return busy / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """Processor seconds of this process, all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measured(run: Callable[[], Measured], clock: Callable[[], float] = time.monotonic) -> Block[Measured]:
    """Runs something and says how much others took meanwhile."""
    began, busy, own = clock(), busy_seconds(), own_seconds()
    value = run()
    possible = (clock() - began) * (os.cpu_count() or 1)
    foreign = (busy_seconds() - busy) - (own_seconds() - own)
    return Block(value, min(1.0, max(0.0, foreign / possible)) if possible > 0 else 0.0)


def quiet(run: Callable[[], Measured], tries: int) -> Block[Measured]:
    """Measures up to so many times until it was quiet; else the quietest, which is then marked."""
    return best_of(lambda: measured(run), tries - 1, lambda block: block.foreign, FOREIGN_LIMIT)


def best_of(
    run: Callable[[], Measured], repeats: int, badness: Callable[[Measured], float], limit: float
) -> Measured:
    """Runs something, and again, at most so many times, while it is worse than a limit; the least bad."""
    best = run()
    for _ in range(repeats):
        if badness(best) <= limit:
            break
        best = min(best, run(), key=badness)
    return best
