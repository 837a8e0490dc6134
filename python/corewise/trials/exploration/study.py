"""A whole exploration: chooses placements, has them timed, asks the models, fits the statistical one.

Two ways to time the same study: by simulation on any machine, by real launches on this host. Prints nothing.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corewise._core import Machine, Pattern
from corewise.errors import InputError
from corewise.sim.placements import named_placement, placement_names
from corewise.trials.exploration import findings as explore
from corewise.trials.exploration.findings import Exploration, Standing
from corewise.trials.exploration.host import count_migrations, time_program
from corewise.trials.exploration.pick import Pick
from corewise.trials.exploration.runs import Progress, SimulatedRuns, texts_of

PICK = "pick"


@dataclass(frozen=True)
class Wanted:
    """What is looked at, however it is timed.

    Attributes
    ----------
    runs : int
        Of every placement.
    samples : int
        Placements, where they are not all looked at.
    everything : bool
        All placements.
    seed : int
    picked : Pick or None
        A placement that a model has chosen, to be held against the others.
    """

    runs: int
    samples: int
    everything: bool
    seed: int
    picked: Pick | None = None


def explore_simulated(
    how: SimulatedRuns, title: str, wanted: Wanted, progress: Progress | None = None
) -> Exploration:
    """A pattern, or several that share a placement, by simulation.

    Parameters
    ----------
    how : SimulatedRuns
    title : str
        What it is called.
    wanted : Wanted
    progress : callable, optional
        Told the share that is done.
    """
    machine, patterns = how.machine, how.patterns
    _check_patterns(patterns)
    ranks = patterns[0].ranks
    named = _named(machine, patterns, ranks, wanted) if ranks <= len(machine.units) else {}
    plan = explore.plan_placements(machine, ranks, wanted.samples, wanted.everything, named, wanted.seed)
    times = how.times_ns(plan.placements, wanted.runs, progress)
    models = explore.model_times(machine, patterns, plan.placements, how.repetitions)
    fitted, why = explore.fitted_model(machine, patterns, plan, times, models, how.model, wanted.seed)
    return Exploration(
        machine=machine,
        title=title,
        ranks=ranks,
        source=how.model,
        plan=plan,
        times_ns=times,
        unpinned_ns=how.unpinned_ns(ranks, wanted.runs),
        models=models,
        fitted=fitted,
        not_fitted=why,
        notes=tuple(texts_of(how)),
    )


def best_pick(found: Exploration) -> Standing:
    """The fastest of the placements that the model likes best, once checked."""
    standings = [found.standing(name, row) for name, row in found.plan.named.items() if name.startswith(PICK)]
    return min(standings, key=lambda each: each.time_ns)


@dataclass(frozen=True)
class Program:
    """What is launched on this host.

    Attributes
    ----------
    words : tuple of str
        The program and its arguments.
    ranks : int
    mpi : str
        As `corewise.mpi.find.find` takes it.
    """

    words: tuple[str, ...]
    ranks: int
    mpi: str


def explore_host(
    machine: Machine, program: Program, patterns: Sequence[Pattern], title: str, wanted: Wanted
) -> Exploration:
    """A program under real placements on this host.

    Parameters
    ----------
    machine : Machine
        This host.
    program : Program
    patterns : sequence of Pattern
        What the program is known to send, for the models; may be empty.
    title : str
    wanted : Wanted
    """
    ranks = program.ranks
    named: dict[str, Sequence[int]] = {}
    if ranks <= len(machine.units):
        named = {explore.IDENTITY: machine.identity_placement(ranks)}
        named |= _named(machine, patterns, ranks, wanted) if patterns else {}
    plan = explore.plan_placements(machine, ranks, wanted.samples, wanted.everything, named, wanted.seed)
    times, unpinned = time_program(machine, program.words, ranks, program.mpi, plan.placements, wanted.runs)
    models, fitted = {}, None
    why = "no pattern is known; record the program with corewise run and explore the profile"
    if patterns:
        models = explore.model_times(machine, patterns, plan.placements, 1)
        fitted, why = explore.fitted_model(machine, patterns, plan, times, models, "host", wanted.seed)
    migrations = count_migrations(program.words, ranks, program.mpi)
    seen = "cannot be counted here" if migrations is None else f"{migrations} or more"
    return Exploration(
        machine=machine,
        title=title,
        ranks=ranks,
        source="host",
        plan=plan,
        times_ns=times,
        unpinned_ns=unpinned,
        models=models,
        fitted=fitted,
        not_fitted=why,
        notes=(
            "measured on this host: wall time of the whole launch, all placements interleaved",
            f"migrations in a further, untimed unpinned run: {seen}",
        ),
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


def _named(
    machine: Machine, patterns: Sequence[Pattern], ranks: int, wanted: Wanted
) -> dict[str, Sequence[int]]:
    """Identity, the paper's affinities where the machine has them, what models like best, and the pick."""
    found: dict[str, Sequence[int]] = {explore.IDENTITY: machine.identity_placement(ranks)}
    for name in placement_names(machine):
        try:
            found[name] = named_placement(name, machine, ranks)
        except InputError:  # more ranks than the affinity has SPEs, or SPEs that this machine lacks
            continue
    found |= explore.named_by_models(machine, patterns, wanted.seed)
    if wanted.picked is not None:
        found[PICK] = wanted.picked.unit_of_rank
        for place, units in enumerate(wanted.picked.next_best, start=2):
            found[f"{PICK} {place}"] = units
    return found
