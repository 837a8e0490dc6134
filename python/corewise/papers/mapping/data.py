"""The runs of paper 002 on simulated SPEs: which mappings are timed, how often, and what comes out.

Times are microseconds per round of the ring (every task sends one packet to each neighbour it sends to). The
jitter-free machine has neither refresh of the memory nor the sources' rest; a jittered one has both, and the
programs' turns and starts vary by a seed. Nothing here prints or draws.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from corewise import _lab
from corewise.data.machines import load_cell
from corewise.papers.runner import CORES, on_all_cores

RUNS = 3
"""Runs that the paper averages."""
JITTER_CYCLES = 64
"""A jittered poll turn is 0 to so many core cycles longer: some dozens of instructions."""
START_SKEW_CYCLES = 20_000
"""Threads start within so many core cycles of each other: the PPE starts them one after the other."""
CHUNK = 20
"""Mappings between two reports of progress."""

Advance = Callable[[float], None]
"""Told how many rounds have been simulated."""
Times = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Machines:
    """On what is simulated.

    Attributes
    ----------
    chip, ps3 : str
        References of a Cell with eight SPEs and of one with six.
    parameters : mapping of str to float
        Of the simulation, in place of the files' own.
    """

    chip: str = "qs22"
    ps3: str = "ps3"
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Effort:
    """How much is simulated.

    Attributes
    ----------
    rounds : int
        Rounds per mapping; the time is that of the second half of them, or exact where the state repeats.
    ps3_rounds : int
        Rounds per mapping of the jittered PS3 runs.
    one_way : int
        Mappings of the unidirectional ring, of 5040.
    jittered : int
        Mappings of the jittered runs on the blade's chip, of 5040.
    sweep : int
        Mappings per point of the sweeps.
    every : int
        One mapping in so many of the blade's exact runs is timed.
    shared_rounds : int
        Rounds per mapping where rows of several receivers lie in one line; such rounds have more events.
    machines : Machines
    """

    rounds: int
    ps3_rounds: int
    one_way: int
    jittered: int
    sweep: int
    every: int
    shared_rounds: int
    machines: Machines = field(default_factory=Machines)


FULL = Effort(rounds=60, ps3_rounds=100, one_way=840, jittered=168, sweep=16, every=1, shared_rounds=60)
QUICK = Effort(rounds=24, ps3_rounds=40, one_way=60, jittered=24, sweep=4, every=42, shared_rounds=10)


@dataclass(frozen=True)
class Curve:
    """Times of mappings, over one or more runs.

    Attributes
    ----------
    label : str
    tasks : int
    indices : ndarray of int64, shape (mappings,)
        Which mappings, numbered as ``_lab.mapping_at`` does.
    times_us : ndarray of float64, shape (runs, mappings)
        Per round.
    repeating : float
        Share of the mappings whose complete state came again, so that their time is exact for any number of
        rounds.
    retries : float
        Commands per round that were answered with RETRY, mean.
    transmissions : int
        Per task and round.
    """

    label: str
    tasks: int
    indices: Indices
    times_us: Times
    repeating: float
    retries: float
    transmissions: int = 2

    @property
    def average_us(self) -> Times:
        """Mean over the runs, per mapping."""
        mean: Times = self.times_us.mean(axis=0)
        return mean

    @property
    def order(self) -> Indices:
        """Positions of the mappings, fastest average first."""
        return np.argsort(self.average_us, kind="stable").astype(np.int64)

    @property
    def spread(self) -> float:
        """Worst over best average."""
        average = self.average_us
        return float(average.max() / average.min())

    @property
    def run_spread(self) -> float:
        """Worst over best within a run, the largest of the runs."""
        return float((self.times_us.max(axis=1) / self.times_us.min(axis=1)).max())

    @property
    def middle(self) -> float:
        """Median over best average."""
        average = self.average_us
        return float(np.median(average) / average.min())

    def share_within(self, factor: float) -> float:
        """Share of the mappings that take at most `factor` times the best."""
        average = self.average_us
        return float(np.mean(average <= factor * average.min()))

    def place_of(self, mapping: Sequence[int]) -> tuple[int, float]:
        """Rank among all mappings of the ring (scaled up from a sample) and time over the best's.

        Raises KeyError where the mapping was not timed.
        """
        wanted = _lab.mapping_index(list(mapping))
        found = np.flatnonzero(self.indices == wanted)
        if not found.size:
            raise KeyError(wanted)
        average = self.average_us
        own = average[found[0]]
        faster = np.count_nonzero(average < own) / average.size
        return 1 + round(faster * _lab.mapping_count(self.tasks)), float(own / average.min())

    def rank_correlation(self) -> float:
        """Spearman's coefficient between pairs of runs, mean; NaN of one run."""
        ranks = np.argsort(np.argsort(self.times_us, axis=1, kind="stable"), axis=1, kind="stable")
        pairs = [
            float(np.corrcoef(ranks[first], ranks[second])[0, 1])
            for first in range(len(ranks))
            for second in range(first)
        ]
        return float(np.mean(pairs)) if pairs else float("nan")

    def runtime_s(self, transmissions: float = 1e7) -> Times:
        """Average run times for so many transmissions per task, in seconds, as the paper plots."""
        runtimes: Times = self.average_us * (transmissions / self.transmissions) * 1e-6
        return runtimes


@dataclass(frozen=True)
class Point:
    """One point of a sweep.

    Attributes
    ----------
    layout : str
        Key of `study.LAYOUTS`.
    back_off, pause, hop : int
        Core cycles.
    size : int
        Bytes of a packet.
    rounds : int
        Of the ring, simulated.
    curve : Curve
    """

    layout: str
    back_off: int
    pause: int
    hop: int
    size: int
    rounds: int
    curve: Curve
    bidirectional: bool = True


@dataclass(frozen=True)
class Study:
    """Everything that was timed.

    Attributes
    ----------
    fig2, fig3 : Curve
        PS3 with the default and the pinned mapping, three jittered runs each.
    ps3_sizes : dict of int to Curve
        PS3, jitter-free, by packet size.
    fig4, fig4_runs : dict of int to Curve
        The chip's bidirectional ring: jitter-free over the mappings, and three jittered runs over a sample.
    fig5 : dict of int to Curve
        The chip's unidirectional ring, jitter-free.
    rhythm_runs : Curve
        As fig4_runs at 1 KB, with a pause between polls.
    shared, shared_runs : dict of str to Curve
        As fig4 and fig4_runs at 1 KB, by layout: several rows in one line.
    back_off, lengths, layouts, rhythms : tuple of Point
        The sweeps: over back-off, pause and position; over the length of a run; over layouts; over the pause
        between polls.
    """

    fig2: Curve
    fig3: Curve
    ps3_sizes: dict[int, Curve]
    fig4: dict[int, Curve]
    fig4_runs: dict[int, Curve]
    fig5: dict[int, Curve]
    rhythm_runs: Curve
    shared: dict[str, Curve]
    shared_runs: dict[str, Curve]
    back_off: tuple[Point, ...]
    lengths: tuple[Point, ...]
    layouts: tuple[Point, ...]
    rhythms: tuple[Point, ...]


def experiment_on(
    machine: str, bytes_per_packet: int, jitter: bool, parameters: Mapping[str, float] | None = None
) -> _lab.RingExperiment:
    """The ring on a machine, one thread per usable SPE."""
    experiment = _lab.RingExperiment(load_cell(machine, parameters))
    experiment.packet_bytes = bytes_per_packet
    if jitter:
        experiment.find_repeat = False
        experiment.jitter_cycles = JITTER_CYCLES
        experiment.start_skew_cycles = START_SKEW_CYCLES
    else:
        still(experiment)
    return experiment


def still(experiment: _lab.RingExperiment) -> None:
    """Makes the machine jitter-free: what does not depend on the programs stands still."""
    experiment.set("memory_refresh_interval_cycles", 0)
    experiment.set("rest_after_packets", 0)


def time_curve(
    label: str, experiments: Sequence[_lab.RingExperiment], indices: Indices, advance: Advance
) -> Curve:
    """Times mappings under each experiment, a run each; on all cores."""
    tasks = len(experiments[0].spe_of_thread)
    most = min(CHUNK, -(-indices.size * len(experiments) // CORES))
    chunks = [
        (run, slice(start, start + most))
        for run in range(len(experiments))
        for start in range(0, indices.size, most)
    ]

    def time(chunk: tuple[int, slice]) -> _lab.RingTimings:
        return experiments[chunk[0]].time_mappings(np.ascontiguousarray(indices[chunk[1]]))

    timed = on_all_cores(time, chunks, lambda timings: advance(float(timings.rounds.sum())))
    # Sums do not depend on how the mappings are cut.
    times, repeating, retries = np.empty((3, len(experiments), indices.size))
    for (run, part), timings in zip(chunks, timed, strict=True):
        times[run, part] = timings.cycles_per_round * (1e-3 / experiments[run].core_clock_ghz)
        repeating[run, part] = timings.period_rounds > 0
        retries[run, part] = timings.retries / np.maximum(timings.rounds, 1)
    transmissions = 2 if experiments[0].bidirectional else 1
    return Curve(label, tasks, indices, times, float(repeating.mean()), float(retries.mean()), transmissions)


def time_all(label: str, experiment: _lab.RingExperiment, every: int, advance: Advance) -> Curve:
    """All mappings of a bidirectional ring, or one in `every`; a ring and its reflection are one program."""
    tasks = len(experiment.spe_of_thread)
    other = [
        _lab.mapping_index(_lab.reflected_mapping(_lab.mapping_at(tasks, index)))
        for index in range(_lab.mapping_count(tasks))
    ]
    chosen = [index for index, twin in enumerate(other) if index <= twin][::every]
    named = {min(index, other[index]) for index in map(_lab.mapping_index, named_mappings(tasks))}
    timed = np.array(sorted({*chosen, *named}), dtype=np.int64)
    half = time_curve(label, [experiment], timed, advance)
    twins = np.array([other[index] for index in timed], dtype=np.int64)
    mirrored = twins != timed
    return Curve(
        label,
        tasks,
        np.concatenate([timed, twins[mirrored]]),
        np.concatenate([half.times_us, half.times_us[:, mirrored]], axis=1),
        half.repeating,
        half.retries,
    )


def sample(tasks: int, count: int, seed: int) -> Indices:
    """Different mappings drawn at random, and the ones that the paper names."""
    total = _lab.mapping_count(tasks)
    named = [_lab.mapping_index(list(mapping)) for mapping in named_mappings(tasks)]
    if count >= total:
        return np.arange(total, dtype=np.int64)
    drawn = np.random.default_rng(seed).choice(total, size=count, replace=False)
    return np.unique(np.concatenate([drawn, np.array(named, dtype=np.int64)]))


NAMED = {
    6: ((0, 1, 2, 3, 4, 5), (0, 2, 4, 5, 3, 1), (0, 1, 3, 5, 4, 2)),
    8: (
        (0, 1, 2, 3, 4, 5, 6, 7),
        (0, 2, 4, 6, 7, 5, 3, 1),
        (0, 1, 3, 5, 7, 6, 4, 2),
        (0, 7, 1, 6, 2, 5, 3, 4),
    ),
}
"""Identity, and the mappings that the paper calls intuitive; on 8 also the ring of the chip in the paper's
own notation. Lists as the paper prints them."""


def inverse(mapping: Sequence[int]) -> tuple[int, ...]:
    """The permutation read the other way: position and value change places."""
    return tuple(int(position) for position in np.argsort(np.array(mapping)))


def named_mappings(tasks: int) -> list[list[int]]:
    """The named mappings in both readings, without doubles."""
    both = [*NAMED[tasks], *(inverse(mapping) for mapping in NAMED[tasks])]
    return [list(mapping) for mapping in dict.fromkeys(both)]


def mapping_text(mapping: Sequence[int]) -> str:
    """As the paper writes it: ``[024531]``."""
    return "[" + "".join(str(task) for task in mapping) + "]"
