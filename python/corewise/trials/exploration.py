"""A whole exploration: chooses placements, has them timed, asks the models, fits the statistical one.

The same study on two backends: by simulation on any machine, by launches on this host.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corewise._core import Machine, Pattern
from corewise.analysis.placement import exploration
from corewise.analysis.placement.exploration import IDENTITY, Exploration, Plan
from corewise.analysis.placement.search import REPLAY
from corewise.data.machines import MachineText
from corewise.errors import InputError
from corewise.sim.placements import named_placement, placement_names
from corewise.sim.sweeps import Workers
from corewise.trials.launches import Launches
from corewise.trials.replaying import PARTS, Replays, ReplayTimes
from corewise.trials.simulation import Simulation, times
from corewise.trials.timing import UNPINNED, Array, Candidate, Progress, time


@dataclass(frozen=True)
class Effort:
    """How much is timed.

    Attributes
    ----------
    runs : int
        Of every placement.
    samples : int
        Placements, where they are not all looked at.
    everything : bool
        All placements.
    seed : int
        Of the sample, and of the searches of the models.
    """

    runs: int
    samples: int
    everything: bool
    seed: int


def plan(machine: Machine, ranks: int, patterns: Sequence[Pattern], effort: Effort) -> Plan:
    """The placements to look at.

    Parameters
    ----------
    machine : Machine
    ranks : int
    patterns : sequence of Pattern
        They share one placement; none where a program's pattern is not known.
    effort : Effort
    """
    if patterns:
        _check_patterns(patterns)
    named = _named(machine, patterns, ranks, effort.seed) if ranks <= len(machine.units) else {}
    return exploration.plan_placements(machine, ranks, effort.samples, effort.everything, named, effort.seed)


def explore_simulated(
    how: Simulation,
    machine: MachineText,
    chosen: Plan,
    title: str,
    effort: Effort,
    progress: Progress,
    workers: Workers | None = None,
    resume: Path | None = None,
) -> Exploration:
    """A pattern, or several that share a placement, by simulation.

    Parameters
    ----------
    how : Simulation
    machine : MachineText
        What its machine was made from.
    chosen : Plan
    title : str
        What it is called.
    effort : Effort
    progress : callable
        Told the share that is done.
    workers : Workers, optional
        Who simulates; threads on all cores of this host without them.
    resume : Path, optional
        Keeps what is done until all is.
    """
    found = times(how, machine, _candidates(chosen), effort.runs, progress, workers, resume)
    explored = _explored(how.machine, how.patterns, chosen, found, effort, how.repetitions, how.model)
    return explored.with_words(title, how.texts())


def explore_host(
    how: Launches,
    patterns: Sequence[Pattern],
    chosen: Plan,
    title: str,
    effort: Effort,
    progress: Progress | None = None,
) -> Exploration:
    """A program under real placements on this host.

    Parameters
    ----------
    how : Launches
    patterns : sequence of Pattern
        What the program is known to send, for the models; may be empty.
    chosen : Plan
    title : str
    effort : Effort
    progress : callable, optional
        Told the share that is done.
    """
    found = time(_candidates(chosen), how, effort.runs, progress)
    migrations = how.migrations()
    seen = "cannot be counted here" if migrations is None else f"{migrations} or more"
    return _explored(how.machine, patterns, chosen, found, effort, 1, "host").with_words(
        title,
        (
            "measured on this host: wall time of the whole launch, all placements interleaved",
            f"migrations in a further, untimed unpinned run: {seen}",
        ),
    )


def explore_replayed(
    replays: Replays, chosen: Plan, title: str, effort: Effort, progress: Progress | None = None
) -> Exploration:
    """A recorded run by replay, once under every placement.

    Parameters
    ----------
    replays : Replays
        Of the run, on a machine.
    chosen : Plan
    title : str
    effort : Effort
    progress : callable, optional
        Told the share that is done.
    """
    found = time(_candidates(chosen), ReplayTimes(replays, effort.seed), 1, progress)
    explored = _explored(replays.machine, [replays.pattern()], chosen, found, effort, 1, REPLAY)
    return explored.with_words(
        title,
        (
            "the recorded run replayed, its computation as recorded: all replays of a placement are alike",
            f"the unpinned run is the mean of {PARTS} placements drawn at random",
        ),
    )


def _candidates(chosen: Plan) -> list[Candidate]:
    """Every placement, and behind them the run that nobody pins."""
    placed = [Candidate(str(at), (tuple(map(int, row)),)) for at, row in enumerate(chosen.placements)]
    return [*placed, Candidate(UNPINNED, pinned=False)]


def _explored(
    machine: Machine,
    patterns: Sequence[Pattern],
    chosen: Plan,
    found: Array,
    effort: Effort,
    repetitions: int,
    source: str,
) -> Exploration:
    """The study of the candidates' times."""
    placed, unpinned = found[:, :-1], found[:, -1]
    return exploration.explored(
        machine, patterns, chosen, placed, unpinned, repetitions=repetitions, source=source, seed=effort.seed
    )


def _check_patterns(patterns: Sequence[Pattern]) -> None:
    senders, receivers = zip(*(pattern.coordinates()[:2] for pattern in patterns), strict=True)
    if not any((sender != receiver).any() for sender, receiver in zip(senders, receivers, strict=True)):
        raise InputError(
            f"pattern '{patterns[0].name}': found no message between two ranks, allowed: one or more"
        )
    for pattern in patterns[1:]:
        if pattern.ranks != patterns[0].ranks:
            raise InputError(
                f"pattern '{pattern.name}': found {pattern.ranks} ranks, allowed: {patterns[0].ranks}, as "
                f"'{patterns[0].name}' has: they share one placement"
            )


def _named(machine: Machine, patterns: Sequence[Pattern], ranks: int, seed: int) -> dict[str, Sequence[int]]:
    """Identity; where the pattern is known also the affinities of a Cell, and what the models like best."""
    found: dict[str, Sequence[int]] = {IDENTITY: machine.identity_placement(ranks)}
    if not patterns:
        return found
    for name in placement_names(machine):
        try:
            found[name] = named_placement(name, machine, ranks)
        except InputError:  # more ranks than the affinity has SPEs, or SPEs that this machine lacks
            continue
    return found | exploration.named_by_models(machine, patterns, seed)
