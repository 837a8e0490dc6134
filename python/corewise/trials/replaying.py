"""Placements of a recorded run, decided by its replay.

The messages that the run sends on a machine, those inside its collectives too, are the pattern for which
placements are searched. What the search finds, rank order and the named placements are replayed each, and the
quickest replay decides: unlike a search's cost it knows who waits for whom. Deterministic.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from corewise import _lab
from corewise._core import Machine, Pattern
from corewise.analysis.placement.comparison import Settings, study_placements
from corewise.analysis.placement.limits import LimitRules
from corewise.analysis.placement.search import MOST_TIMED, REPLAY
from corewise.sim.replay import Replay, ReplayOptions, replay
from corewise.trials.timing import Array, Candidate, Progress

RANDOM = ("random", "worst")
"""Rows of a study that nobody would choose."""
MOST_EVENTS = 20_000_000
"""Of all replays of a search together: about ten seconds."""
LEAST_REPLAYS = 20
PARTS = 4
"""Placements of which an unpinned run is the mean."""


@dataclass(frozen=True)
class Replayed:
    """A placement and its replay.

    Attributes
    ----------
    which : str
        ``identity``, ``best`` (of the search) or the name of a named placement.
    unit_of_rank : tuple of int
    run : Replay
    """

    which: str
    unit_of_rank: tuple[int, ...]
    run: Replay


@dataclass
class Replays:
    """A recording on a machine, as a cost of placements: each is replayed once and remembered.

    Attributes
    ----------
    recording : _lab.Recording
    machine : Machine
    name : str
        Of the run, in errors.
    options : ReplayOptions
    runs : dict
        What was replayed, by placement.
    """

    recording: _lab.Recording
    machine: Machine
    name: str
    options: ReplayOptions = field(default_factory=ReplayOptions)
    runs: dict[tuple[int, ...], Replay] = field(default_factory=dict)

    def run(self, units: Sequence[int]) -> Replay:
        """The replay of a placement."""
        key = tuple(int(unit) for unit in units)
        if key not in self.runs:
            self.runs[key] = replay(self.recording, self.machine, key, self.options)
        return self.runs[key]

    def __call__(self, units: Sequence[int]) -> float:
        """Predicted time of a placement in ns."""
        return self.run(units).time_ns

    @property
    def in_order(self) -> Replay:
        """The replay of rank order."""
        return self.run(self.machine.identity_placement(self.recording.size))

    def pattern(self) -> Pattern:
        """All messages of the run, those inside collectives too."""
        traffic = self.in_order.traffic
        return Pattern.from_coordinates(
            self.name,
            self.recording.size,
            np.ascontiguousarray(traffic["sender"]),
            np.ascontiguousarray(traffic["receiver"]),
            np.ascontiguousarray(traffic["bytes"] + traffic["collective_bytes"]),
            np.ascontiguousarray(traffic["messages"] + traffic["collective_messages"]),
        )

    def settings(self, settings: Settings) -> Settings:
        """The same settings by replay; how many replays depends on how long the run is, not on a clock."""
        affordable = MOST_EVENTS // max(1, self.in_order.events)
        most = max(LEAST_REPLAYS, min(MOST_TIMED[REPLAY], affordable))
        return settings.with_(
            objective=REPLAY, replay=self, evaluations=settings.evaluations or most, leaders=0
        )


@dataclass(frozen=True)
class ReplayTimes:
    """The backend of `corewise.trials.timing.time` whose times are those of replays.

    Attributes
    ----------
    replays : Replays
    seed : int
        Of the placements between which an unpinned run migrates.
    """

    replays: Replays
    seed: int = 1

    def time_ns(self, candidates: Sequence[Candidate], number: int, progress: Progress) -> Array:
        """See `corewise.trials.timing.Backend`."""
        found = np.zeros(len(candidates))
        for at, candidate in enumerate(candidates):
            units = candidate.in_round(number)
            parts = self._drawn(number) if units is None else [units]
            found[at] = np.mean([self.replays(each) for each in parts])
            progress((at + 1) / len(candidates))
        return found

    def _drawn(self, number: int) -> list[tuple[int, ...]]:
        rng = np.random.default_rng([self.seed, number, PARTS])
        ranks, units = self.replays.recording.size, len(self.replays.machine.units)
        return [tuple(map(int, rng.permutation(units)[:ranks])) for _ in range(PARTS)]


def placements_by_replay(
    recording: _lab.Recording, machine: Machine, name: str, options: ReplayOptions | None = None
) -> list[Replayed]:
    """Placements worth a replay, the quickest first; of equals rank order, then what the search found.

    Parameters
    ----------
    recording : _lab.Recording
    machine : Machine
    name : str
        Of the run, in errors.
    options : ReplayOptions, optional
    """
    replays = Replays(recording, machine, name, options or ReplayOptions())
    order = tuple(machine.identity_placement(recording.size))
    tried = [Replayed("identity", order, replays.in_order)]
    pattern = replays.pattern()
    if not pattern.coordinates()[2].any():
        return tried
    settings = replays.settings(Settings(limits=LimitRules().on(machine, recording.size)))
    study = study_placements(pattern, machine, REPLAY, source=name, settings=settings, named=True)
    for row in study.rows:
        if row.which not in RANDOM and row.unit_of_rank not in {each.unit_of_rank for each in tried}:
            tried.append(Replayed(row.which, row.unit_of_rank, replays.run(row.unit_of_rank)))
    return sorted(tried, key=lambda each: each.run.time_ns)
