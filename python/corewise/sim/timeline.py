"""What happened when in a simulated run: events on tracks, as arrays.

The file for Perfetto's viewer is written in `perfetto`. Prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corewise._core import Timeline as CoreTimeline

EVENT = np.dtype([("track", "i4"), ("kind", "i4"), ("begin", "i8"), ("end", "i8"), ("a", "i8"), ("b", "i8")])
"""One event: begin and end in ticks (end -1: an instant), and two numbers that its kind explains."""
INSTANT = -1


class Track(NamedTuple):
    """A row of the picture."""

    group: str
    name: str


class Kind(NamedTuple):
    """What an event is called, what its two numbers are ("" for none), and where in a program it happened."""

    name: str
    label_a: str
    label_b: str
    where: str


@dataclass(frozen=True)
class Timeline:
    """The recorded events of one run.

    Attributes
    ----------
    tick_ns : float
        Length of a tick.
    tracks, kinds : tuple
        What the numbers in `events` stand for.
    events : ndarray of `EVENT`, shape (events,)
        In the order in which they were recorded.
    dropped : int
        How many more happened after the recorder was full.
    """

    tick_ns: float
    tracks: tuple[Track, ...]
    kinds: tuple[Kind, ...]
    events: NDArray[np.void]
    dropped: int

    @classmethod
    def from_core(cls, recorded: CoreTimeline) -> Timeline:
        """Copies what the core recorded."""
        columns = recorded.events()
        events = np.empty(columns[0].size, dtype=EVENT)
        for name, column in zip(EVENT.names or (), columns, strict=True):
            events[name] = column
        tracks = tuple(Track(*each) for each in recorded.tracks)
        kinds = tuple(Kind(*each) for each in recorded.kinds)
        return cls(recorded.tick_ns, tracks, kinds, events, recorded.dropped)

    def nanoseconds(self, tick: int) -> int:
        """A tick as whole nanoseconds, rounded down: what ends before another begins still does."""
        return int(tick * self.tick_ns)
