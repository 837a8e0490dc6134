"""Messages from core to core: the ways of moving one, timed in turns, and which is quickest.

The rival is what a message layer does that only has memory which both cores see: two memcpys through a slot.
The other ways: the same in chunks, so that the receiver copies while the sender does; one copy by the
receiver; one copy of which the sender does the last part. Each is timed until the receiver holds the
message, and again until it has also read every line of it: a line that the sender wrote comes over then.

How far two cores are apart is told with every block, because a hypervisor may move processors from die to die
while we measure: a block before and behind which it is not the same is measured again.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from corewise import _core
from corewise.bench.copy.races import Decision, Plan, Times, kernels_here, octave_sizes, winner
from corewise.bench.noise import Block, Measured, quiet
from corewise.bench.processors import two_cores
from corewise.data.copy_tuning import MessageRow
from corewise.errors import RunError

CHUNKS = (4096, 8192, 16384, 32768)
"""Bytes of a chunk, for the ways that go by chunks."""
SHARES = (16, 8, 6, 5)
"""The sender's part of one copy by both: half, or one of so many parts of a message."""
MOVED = 1.5
"""Cores whose distance changed by more than this factor lie elsewhere than before."""
REPEATS = 5
"""Messages per round, their median counts."""
LINE = 64
_FAMILIES = ("avx512", "avx2", "neon")


@dataclass(frozen=True)
class Way:
    """A way of moving a message: as `_core.time_messages` takes it."""

    way: str
    sender: str
    receiver: str
    chunk: int = 0
    share: int = 0
    """The sender's part of one copy by both: one of so many, 0: half."""

    @property
    def name(self) -> str:
        """E.g. ``pipeline of 8192 bytes, memcpy``."""
        if self.way == "slot" and self.sender == self.receiver == "memcpy":
            return "two memcpys through a slot"
        kernels = self.receiver if self.sender == self.receiver else f"{self.sender}, {self.receiver}"
        what = {
            "slot": "two copies through a slot",
            "pipeline": f"two copies in chunks of {self.chunk} bytes",
            "direct": "one copy by the receiver",
            "halves": "one copy by both" + (f", 1/{self.share} by the sender" if self.share else ""),
        }[self.way]
        return f"{what}, {kernels}"

    def method(self) -> tuple[str, str, str, int]:
        """As the core takes it."""
        return self.way, self.sender, self.receiver, self.chunk


RIVAL = Way("slot", "memcpy", "memcpy")


def ways(size: int) -> tuple[Way, ...]:
    """All that are tried for a size, the rival first."""
    here = kernels_here()
    vector = next((name for name in _FAMILIES if name in here), "memcpy")
    tuned = (vector, f"{vector}_prefetch") if vector != "memcpy" else ()
    made = [RIVAL]
    made += [Way("pipeline", "memcpy", "memcpy", chunk) for chunk in CHUNKS if chunk < size]
    made += [Way("pipeline", vector, vector, chunk) for chunk in CHUNKS[1:2] if chunk < size and tuned]
    made += [Way("slot", f"{vector}_nt", vector)] if tuned else []
    made += [Way("direct", kernel, kernel) for kernel in ("memcpy", *tuned)]
    made += [Way("halves", kernel, kernel) for kernel in ("memcpy", *tuned[:1])]
    parts = {share: size // share // LINE * LINE for share in SHARES}
    made += [Way("halves", vector, vector, part, share) for share, part in parts.items() if part >= LINE]
    return tuple(dict.fromkeys(made))


def two_processors(wanted: Sequence[int] = ()) -> tuple[int, int]:
    """Sender's and receiver's: those wanted, or two that this process may use, of different cores."""
    if wanted:
        return wanted[0], wanted[1]
    if (found := two_cores(_core.usable_processors())) is None:
        raise RunError(
            "messages from core to core: found 1 processor, allowed: two and more, "
            "or one named twice (--processors 0,0)"
        )
    return found


@dataclass(frozen=True)
class MessageTimes:
    """One size, every way.

    Attributes
    ----------
    bytes : int
    read : bool
        Whether the times hold the receiver's reading.
    ways : tuple of Way
        The rival first.
    chosen : Way
        The quickest but the rival, by rounds of its own.
    times : array of float, (rounds, ways)
        Nanoseconds per message, of other rounds than those that chose.
    floor : float
        Nanoseconds of a message of one byte: what the flags take.
    foreign : float
    apart : tuple of float
        Nanoseconds from core to core before and behind the block.
    """

    bytes: int
    read: bool
    ways: tuple[Way, ...]
    chosen: Way
    times: Times
    floor: float
    foreign: float
    apart: tuple[float, float]

    @property
    def moved(self) -> bool:
        """Whether the cores were elsewhere at the end than at the beginning."""
        return moved(self.apart)

    def row(self) -> MessageRow:
        """As a tuning file has it."""
        medians = np.median(self.times, axis=0)
        return MessageRow(
            self.bytes,
            self.chosen.way,
            self.chosen.sender,
            self.chosen.receiver,
            self.chosen.chunk,
            round(float(medians[self.ways.index(self.chosen)]), 1),
            round(float(medians[0]), 1),
            round(max(self.apart), 1),
        )


def moved(apart: tuple[float, float]) -> bool:
    """Whether two distances are those of different places."""
    return max(apart) > MOVED * min(apart)


@dataclass(frozen=True)
class Messenger:
    """Two processors and how much is measured."""

    sender: int
    receiver: int
    plan: Plan

    def times(self, tried: Sequence[Way], size: int, read: bool, rounds: int, seed: int) -> Times:
        """Nanoseconds per message, (rounds, ways)."""
        methods = [way.method() for way in tried]
        return _core.time_messages(methods, size, rounds, REPEATS, seed, read, self.sender, self.receiver)

    def run(self, size: int, read: bool) -> MessageTimes:
        """Chooses by half of the rounds and measures by the others."""
        tried = ways(size)
        one = self.times(tried, size, read, 1, 1)
        fitting = int(self.plan.seconds * 1e9 / max(1.0, float(one.sum()) * (REPEATS + 1) * 2))
        rounds = max(self.plan.rounds, min(fitting, 20 * self.plan.rounds))

        def both() -> tuple[Times, Times]:
            return (
                self.times(tried, size, read, rounds, 2),
                self.times(tried, size, read, rounds, 2 + rounds),
            )

        block, apart = self._settled(lambda: quiet(both, self.plan.tries))
        choosing, counting = block.value
        medians = np.median(choosing[:, 1:], axis=0)
        floor = float(np.median(self.times((Way("direct", "memcpy", "memcpy"),), 1, False, rounds, 1)))
        return MessageTimes(
            size, read, tried, tried[1 + int(medians.argmin())], counting, floor, block.foreign, apart
        )

    def _settled(self, run: Callable[[], Block[Measured]]) -> tuple[Block[Measured], tuple[float, float]]:
        """A block, and how far the cores were apart before and behind it; again where they moved."""
        for attempt in range(self.plan.tries + 1):
            before = _core.core_to_core_ns(self.sender, self.receiver)
            block = run()
            apart = (before, _core.core_to_core_ns(self.sender, self.receiver))
            if not moved(apart) or attempt == self.plan.tries:
                break
        return block, apart

    def audience_other(self, octave: int, names: Sequence[str]) -> Decision:
        """Which kernel is to write what another core copies out next: only two cores can tell.

        The times are those of a message whose sender copies into a slot by the kernel, and whose receiver
        copies out by memcpy.
        """
        tried = tuple(Way("slot", name, "memcpy") for name in names)
        blocks = [self._quiet(tried, size) for size in octave_sizes(octave)]
        times = [block.value for block in blocks]
        kernel = winner(times, names, names)
        medians = [np.median(one, axis=0) for one in times]
        return Decision(
            kernel,
            tuple(round(float(one[names.index(kernel)]), 1) for one in medians),
            tuple(round(float(one[0]), 1) for one in medians),
            max(block.foreign for block in blocks),
        )

    def _quiet(self, tried: Sequence[Way], size: int) -> Block[Times]:
        def run() -> Block[Times]:
            return quiet(lambda: self.times(tried, size, False, self.plan.rounds, size), self.plan.tries)

        return self._settled(run)[0]
