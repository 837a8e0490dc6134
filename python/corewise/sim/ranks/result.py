"""What a run of simulated ranks gave.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corewise._core import Machine, Pattern
from corewise.sim.timeline import Timeline

RANK = np.dtype([("unit", "i4"), ("end_ns", "f8"), ("ended", "?"), ("exit_status", "i4")])
"""One rank: its unit, when its program ended, whether it did, and with what."""
RANK_CACHE = np.dtype([("hits", "u8"), ("misses", "u8"), ("write_backs", "u8"), ("time_ns", "f8")])
"""One rank's software cache: lines found, brought and written back, and the rank's time for all of that."""
RANK_OVERLAYS = np.dtype([("loads", "u8"), ("bytes", "u8"), ("time_ns", "f8")])
"""One rank's overlays: how often code was brought, how much of it, and the rank's time for that."""
RANK_MICROTASKS = np.dtype([("changes", "u8"), ("time_ns", "f8"), ("waiting_ns", "f8")])
"""One rank's turns on a unit that it may share: how often its context was loaded, the time of these changes,
and how long the rank was ready while another one had the unit."""
TRAFFIC = np.dtype(
    [
        ("sender", "i4"),
        ("receiver", "i4"),
        ("messages", "u8"),
        ("bytes", "u8"),
        ("collective_messages", "u8"),
        ("collective_bytes", "u8"),
    ]
)
"""One pair of ranks: messages that the program sent itself, and those inside collectives."""
RANK_LINK = np.dtype([("bytes", "u8"), ("packets", "u8"), ("busy_ns", "f8"), ("largest_queue", "i8")])
"""One link of the machine, in its order."""
PPE = np.dtype(
    [("cell", "U128"), ("left", "u8"), ("came", "u8"), ("busy_ns", "f8"), ("waiting_ns", "f8")],
)
"""One Cell's PPE: messages of its SPEs and for them, its work on them, and what they waited for it."""


@dataclass(frozen=True)
class RankRun:
    """One run of a program on simulated ranks.

    Attributes
    ----------
    machine : Machine
    program : str
    ok : bool
        Whether every rank's program ended.
    message : str
        Why not: an error of MPI, MPI_Abort, a deadlock with who waits for whom.
    exit_status : int
        Of the run, as a launcher reports it: what MPI_Abort was given, or the first rank's that is not 0.
    time_ns : float
        Simulated: the end of the last rank, or of the run where it failed.
    wall_s : float
        What simulating it took on this host.
    events : int
        Simulated events handled.
    settings : mapping of str to float
        What calls, copies and computation cost.
    granularity : str
    ranks : ndarray of `RANK`, shape (ranks,)
    caches : ndarray of `RANK_CACHE`, shape (ranks,), or None
        What every rank's software cache did; None where the settings have none.
    overlays : ndarray of `RANK_OVERLAYS`, shape (ranks,), or None
        What code was brought for every rank; None where the settings have no area for it.
    microtasks : ndarray of `RANK_MICROTASKS`, shape (ranks,), or None
        Every rank's turns; None where no two ranks may share a unit.
    traffic : ndarray of `TRAFFIC`, shape (pairs,)
        Pairs that sent something.
    links : ndarray of `RANK_LINK`, shape (links,)
    ppes : ndarray of `PPE`, shape (Cells,), or None
        None where the settings have no forwarding.
    timeline : Timeline or None
    """

    machine: Machine
    program: str
    ok: bool
    message: str
    exit_status: int
    time_ns: float
    wall_s: float
    events: int
    settings: Mapping[str, float]
    granularity: str
    ranks: NDArray[np.void]
    caches: NDArray[np.void] | None
    overlays: NDArray[np.void] | None
    microtasks: NDArray[np.void] | None
    traffic: NDArray[np.void]
    links: NDArray[np.void]
    ppes: NDArray[np.void] | None
    timeline: Timeline | None

    @property
    def messages(self) -> int:
        """All of them, those inside collectives too."""
        return int(self.traffic["messages"].sum() + self.traffic["collective_messages"].sum())

    def pattern(self, *, collectives: bool = False) -> Pattern:
        """Who sent how much to whom: the program's own messages, and on request those of its collectives."""
        messages, sizes = self.traffic["messages"].copy(), self.traffic["bytes"].copy()
        if collectives:
            messages += self.traffic["collective_messages"]
            sizes += self.traffic["collective_bytes"]
        used = messages > 0
        return Pattern.from_coordinates(
            self.program,
            self.ranks.size,
            np.ascontiguousarray(self.traffic["sender"][used]),
            np.ascontiguousarray(self.traffic["receiver"][used]),
            np.ascontiguousarray(sizes[used]),
            np.ascontiguousarray(messages[used]),
        )
