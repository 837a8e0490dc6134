"""A recorded run once more, on the ranks of a simulated machine (docs/simulating/replay.md).

A `Recording` of the core is opened once and run as often as asked: on other machines, with other placements,
with other algorithms of collectives. Prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corewise import _lab
from corewise._core import Machine
from corewise._core import Timeline as Recorder
from corewise.data.message_costs import MessageCosts
from corewise.data.profile import profile_folder
from corewise.errors import InputError, RunError, bad_field
from corewise.sim.ranks.result import TRAFFIC
from corewise.sim.timeline import Timeline

MOST_EVENTS = 4_000_000
"""Of a timeline; what happens later is only counted."""
TOUCHED_BYTES_PER_NS = 4.0
"""Memory that a rank is taken to use while it computes: what drives buffers of messages out of caches."""
_TICK_NS = 0.001
REPLAYED_RANK = np.dtype(
    [
        ("end_ns", "f8"),
        ("computation_ns", "f8"),
        ("waiting_ns", "f8"),
        ("recorded_ns", "f8"),
        ("calls", "u8"),
    ]
)
"""One rank: when it ended, its computation, its waits for requests, what it took in the recording."""


@dataclass(frozen=True)
class ReplayOptions:
    """How a recording is replayed.

    Attributes
    ----------
    computation : float
        What the time between calls is multiplied by.
    algorithms : mapping of str to str
        Collective -> algorithm, of `algorithms`.
    settings : mapping of str to float
        What calls and copies cost (``corewise.sim.ranks.SETTINGS``).
    granularity : str
        ``flow`` (whole messages that share links) or ``packet``.
    timeline : bool
    cuts_ns : sequence of float
        Where parts begin, on the recording's time line.
    messages : MessageCosts or None
        What messages cost, where it was measured; settings of messages then hold only where they are given.
    """

    computation: float = 1.0
    algorithms: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, float] = field(default_factory=dict)
    granularity: str = "flow"
    timeline: bool = False
    cuts_ns: Sequence[float] = ()
    messages: MessageCosts | None = None


@dataclass(frozen=True)
class CriticalPath:
    """The chain of causes that ends with the last rank's end.

    Attributes
    ----------
    rank : int
        Where it ends.
    computation_ns, transfer_ns, software_ns : float
        Together they are the predicted time.
    messages : int
        That it waited for.
    """

    rank: int
    computation_ns: float
    transfer_ns: float
    software_ns: float
    messages: int


@dataclass(frozen=True)
class ReplayedPart:
    """What lies between two cuts.

    A rank passes a cut with its first call that began there or later; a part begins when the last rank has.

    Attributes
    ----------
    recorded_ns, time_ns : float
        Its length in the recording, and here.
    range_ns : tuple of (float, float) or None
        As of `Replay`.
    """

    recorded_ns: float
    time_ns: float
    range_ns: tuple[float, float] | None = None

    @property
    def error(self) -> float | None:
        """Predicted over recorded time, less 1; None where nothing was recorded."""
        return self.time_ns / self.recorded_ns - 1 if self.recorded_ns > 0 else None


@dataclass(frozen=True)
class Replay:
    """What a recording became.

    Attributes
    ----------
    time_ns : float
        From the first rank's MPI_Init to the last one's MPI_Finalize.
    recorded_ns : float
        The same in the recording.
    ranks : ndarray of `REPLAYED_RANK`, shape (ranks,)
    path : CriticalPath
    traffic : ndarray of `TRAFFIC`, shape (pairs,)
        Pairs that sent something.
    collectives : int
        Calls, counted on each of their ranks.
    unreplayed : int
        Calls that took their recorded time: one-sided, files, and all that have no model.
    unreplayed_ns : float
        Of these, summed over ranks.
    relaxed : bool
        Sends returned before they were received, since the run would never have ended otherwise.
    events : int
        Simulated events handled.
    wall_s : float
        What replaying it took on this host.
    busiest : tuple of (str, float)
        The link that was busy longest, and for how many ns; empty name where no link was used.
    timeline : Timeline or None
    parts : tuple of ReplayedPart
        What lies between cuts: one more than there are cuts.
    range_ns : tuple of (float, float) or None
        The least and the most time that one of several tables of messages gives alone; None without them.
    """

    time_ns: float
    recorded_ns: float
    ranks: NDArray[np.void]
    path: CriticalPath
    traffic: NDArray[np.void]
    collectives: int
    unreplayed: int
    unreplayed_ns: float
    relaxed: bool
    events: int
    wall_s: float
    busiest: tuple[str, float]
    timeline: Timeline | None
    parts: tuple[ReplayedPart, ...] = ()
    range_ns: tuple[float, float] | None = None

    @property
    def messages(self) -> int:
        """All of them, those inside collectives too."""
        return int(self.traffic["messages"].sum() + self.traffic["collective_messages"].sum())

    @property
    def bytes(self) -> int:
        """Of all messages."""
        return int(self.traffic["bytes"].sum() + self.traffic["collective_bytes"].sum())

    @property
    def error(self) -> float | None:
        """Predicted over recorded time, less 1; None where nothing was recorded."""
        return self.time_ns / self.recorded_ns - 1 if self.recorded_ns > 0 else None

    @property
    def waiting_share(self) -> float:
        """Of the ranks' time together."""
        whole = float(self.ranks["end_ns"].sum())
        return float(self.ranks["waiting_ns"].sum()) / whole if whole > 0 else 0.0


@cache
def algorithms() -> Mapping[str, tuple[str, ...]]:
    """Those of each collective; the first is taken where none is chosen."""
    rows = _lab.replay_algorithms()
    return {
        collective: tuple(name for each, name, _ in rows if each == collective) for collective, _, _ in rows
    }


def open_recording(profile: str | Path) -> _lab.Recording:
    """The main world of a profile.

    Raises
    ------
    InputError
        It is no profile or a newer corewise's, a rank's file is missing or damaged, or several threads of a
        rank called MPI.
    """
    return _lab.Recording.open(str(profile_folder(profile)))


def replay(
    recording: _lab.Recording, machine: Machine, units: Sequence[int], options: ReplayOptions | None = None
) -> Replay:
    """Runs a recording on a machine.

    Parameters
    ----------
    recording : _lab.Recording
    machine : Machine
    units : sequence of int
        Unit of every rank.
    options : ReplayOptions, optional

    Raises
    ------
    InputError
        Placement, settings or algorithms do not fit.
    RunError
        The run cannot end: who waits for whom, in which of its calls.
    """
    options = options or ReplayOptions()
    if recording.size > len(machine.units):
        raise bad_field(
            "", "ranks", recording.size, f"1 to {len(machine.units)}, the units of '{machine.name}'"
        )
    recorder = Recorder(MOST_EVENTS) if options.timeline else None
    found = recording.run(
        machine,
        list(map(int, units)),
        _settings(options),
        dict(options.algorithms),
        options.computation,
        options.granularity,
        recorder,
        sorted(options.cuts_ns),
        _costs(options.messages),
    )
    links = [(machine.links[link].name, row[2]) for link, row in enumerate(found.links())]
    return _replay_of(found, max(links, key=lambda each: each[1], default=("", 0.0)), recorder)


def with_range(
    found: Replay,
    recording: _lab.Recording,
    machine: Machine,
    units: Sequence[int],
    options: ReplayOptions,
    tables: Sequence[MessageCosts],
) -> Replay:
    """A replay with what each table of messages gives alone: how far the prediction hangs on the moment.

    Parameters
    ----------
    found : Replay
        What the same options gave with the median of the tables.
    recording, machine, units, options
        As of `replay`.
    tables : sequence of MessageCosts
        Where there are fewer than two, nothing is added.
    """
    if len(tables) < 2:
        return found
    each = [
        replay(recording, machine, units, replace(options, messages=table, timeline=False))
        for table in tables
    ]
    parts = tuple(
        replace(part, range_ns=_extremes([run.parts[index].time_ns for run in each]))
        for index, part in enumerate(found.parts)
    )
    return replace(found, parts=parts, range_ns=_extremes([run.time_ns for run in each]))


def _extremes(times_ns: Sequence[float]) -> tuple[float, float]:
    return min(times_ns), max(times_ns)


def _settings(options: ReplayOptions) -> dict[str, float]:
    measured = {} if options.messages is None else {"eager_bytes": float(options.messages.eager_bytes)}
    return {**measured, **options.settings}


def _costs(
    costs: MessageCosts | None,
) -> tuple[list[float], list[tuple[float, float, list[tuple[float, float]]]], float]:
    """As the core takes them."""
    if costs is None:
        return [], [], 0.0
    rows = [
        (float(row.bytes), row.send_ns, list(zip(row.one_way_ns, row.both_ns, strict=True)))
        for row in costs.rows
    ]
    return list(map(float, costs.moved_bytes)), rows, TOUCHED_BYTES_PER_NS


def ideal_ns(profile: str | Path) -> float | None:
    """What a recorded run would take if messages and calls took no time at all.

    Returns
    -------
    float or None
        None where the recording cannot be replayed to its end.
    """
    try:
        recording = open_recording(profile)
        return None if recording.unfinished else float(recording.run_ideally().time_ns)
    except (InputError, RunError):
        return None


def _timeline(recorder: Recorder, calls: int) -> Timeline:
    """In picoseconds; of a run that was done twice the events of the second time, one for each call."""
    found = Timeline.from_core(recorder)
    return replace(found, tick_ns=_TICK_NS, events=found.events[-calls:] if calls else found.events[:0])


def _replay_of(found: _lab.ReplayResult, busiest: tuple[str, float], recorder: Recorder | None) -> Replay:
    ranks = np.empty(found.ranks()[0].size, dtype=REPLAYED_RANK)
    for name, column in zip(REPLAYED_RANK.names or (), found.ranks(), strict=True):
        ranks[name] = column
    path = found.path
    return Replay(
        time_ns=found.time_ns,
        recorded_ns=found.recorded_ns,
        ranks=ranks,
        path=CriticalPath(path.rank, path.computation_ns, path.transfer_ns, path.software_ns, path.messages),
        traffic=np.array(found.pairs(), dtype=TRAFFIC),
        collectives=found.collectives,
        unreplayed=found.unreplayed,
        unreplayed_ns=found.unreplayed_ns,
        relaxed=found.relaxed,
        events=found.events,
        wall_s=found.wall_s,
        busiest=busiest if busiest[1] > 0 else ("", 0.0),
        parts=tuple(ReplayedPart(*part) for part in found.parts()),
        timeline=None if recorder is None else _timeline(recorder, int(ranks["calls"].sum())),
    )
