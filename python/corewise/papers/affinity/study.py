"""Paper 000, assignment of threads to SPEs: runs its experiments on the simulated Cell and judges its claims.

`measure` runs the programs (C++ does the work), `rows_of` holds the results against the paper, and
`tables_of` and `figures_of` lay them out. Invariant: the same plan and seed give the same result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from corewise import _core, _lab
from corewise.analysis.result import PaperResult, Progress
from corewise.papers.affinity import PERMUTATIONS, QUICK_PERMUTATIONS
from corewise.papers.affinity.data import (
    AFFINITIES,
    DEFAULT,
    LARGE_BYTES,
    SHORT_BYTES,
    SIZES,
    SPES,
    STEP_OF_FIGURE_2,
    Measurements,
)
from corewise.papers.affinity.rows import rows_of
from corewise.papers.affinity.views import figures_of, tables_of
from corewise.papers.runner import Paper, Work, unseen

PAPER = Paper("affinity", rows_of, tables_of, figures_of)
MACHINE = "Cell BE, one chip of a QS20 at 3.2 GHz (simulated)"
_CHUNK = 20
_DEFAULT_TRIALS = 8
SMALL_BYTES = 8192
ALONE_REPETITIONS = 100
"""Fewer would show the decrementer's 70 ns in a get of 80 ns; they cost little."""


@dataclass(frozen=True)
class Plan:
    """How much is run.

    Attributes
    ----------
    table1_repetitions, step_repetitions, size_repetitions, collective_repetitions : int
        Messages (or operations) that one timing covers. The paper's is 100 everywhere.
    permutation_repetitions : int
        The same for a permutation of sources.
    trials : int or None
        Trials of every experiment, None for the paper's own 3 or 8.
    permutations : int
    seed : int
        Trial t runs on the machine whose jitter has the seed ``seed + t``.
    machine : Machine or None
        A Cell; None: one chip of a 3.2 GHz blade.
    """

    table1_repetitions: int = 100
    step_repetitions: int = 100
    size_repetitions: int = 100
    collective_repetitions: int = 100
    permutation_repetitions: int = 2
    trials: int | None = None
    permutations: int = PERMUTATIONS
    seed: int = 1
    machine: _core.Machine | None = None


QUICK = Plan(
    table1_repetitions=20,
    step_repetitions=8,
    size_repetitions=8,
    collective_repetitions=4,
    permutation_repetitions=1,
    permutations=QUICK_PERMUTATIONS,
)


def on_machine(plan: Plan, machine: _core.Machine) -> Plan:
    """The same on another Cell."""
    return replace(plan, machine=machine)


def run_paper(
    quick: bool = False,
    permutations: int | None = None,
    seed: int = 1,
    progress: Progress = unseen,
    machine: _core.Machine | None = None,
    machine_text: str = MACHINE,
) -> PaperResult:
    """Everything `corewise paper affinity` shows.

    Parameters
    ----------
    quick : bool
        Fewer repetitions and permutations.
    permutations : int, optional
        Random permutations of sources.
    seed : int
        Of trials, default affinities and permutations.
    progress : callable
        Told the share of the work done.
    machine : Machine, optional
        A Cell; one chip of a 3.2 GHz blade without it.
    machine_text : str
        What the result calls it.
    """
    plan = replace(QUICK if quick else Plan(), seed=seed, machine=machine)
    if permutations is not None:
        plan = replace(plan, permutations=permutations)
    return PAPER.result(machine_text, measure(plan, progress))


# ---- running ---------------------------------------------------------------------------------------------


class _Steps(list[tuple[float, Callable[[], None]]]):
    """Steps to do, each with the packets it will simulate."""

    def add(self, packets: float, step: Callable[[], None]) -> None:
        self.append((packets, step))


def measure(plan: Plan, progress: Progress = unseen) -> Measurements:
    """Runs everything of a plan."""
    found = Measurements(defaults=_lab.default_affinities(_DEFAULT_TRIALS, plan.seed))
    steps = _Steps()
    _add_table1(steps, plan, found)
    _add_alone(steps, plan, found)
    _add_steps(steps, plan, found)
    _add_sizes(steps, plan, found)
    _add_collectives(steps, plan, found)
    _add_permutations(steps, plan, found)
    work = Work(sum(packets for packets, _ in steps), progress)
    for packets, step in steps:
        step()
        work(packets)
    return found


def _packets(flows: int, size_bytes: int, repetitions: int) -> float:
    return flows * repetitions * (size_bytes / 128 + 2)


def _add_table1(steps: _Steps, plan: Plan, found: Measurements) -> None:
    for experiment in _lab.paper000_table1():
        trials = plan.trials or experiment.trials

        def step(experiment: _lab.Experiment000 = experiment, trials: int = trials) -> None:
            found.table1[experiment.id] = np.array(
                [
                    _lab.time_gets(
                        experiment.flows,
                        LARGE_BYTES,
                        plan.table1_repetitions,
                        seed=plan.seed + trial,
                        machine=plan.machine,
                    )
                    for trial in range(trials)
                ]
            )

        steps.add(trials * _packets(len(experiment.flows), LARGE_BYTES, plan.table1_repetitions), step)


def _add_alone(steps: _Steps, plan: Plan, found: Measurements) -> None:
    """One reader at a time: figure 1 (right), the short latency of every pair, the barrier."""
    repetitions = ALONE_REPETITIONS

    def readers() -> None:
        found.alone = np.array(
            [
                [
                    _lab.time_gets([(reader, 0)], size, repetitions, plan.seed, machine=plan.machine)[0]
                    for size in SIZES
                ]
                for reader in range(1, SPES)
            ]
        )

    def latencies() -> None:
        for to in range(SPES):
            for source in range(SPES):
                if to != source:
                    flow = [(to, source)]
                    speed = _lab.time_gets(flow, SHORT_BYTES, repetitions, plan.seed, machine=plan.machine)[0]
                    found.latency_ns[to, source] = SHORT_BYTES / speed

    def barrier() -> None:
        found.barrier_us = _lab.time_barrier(list(range(SPES)), repetitions, plan.seed, plan.machine)

    steps.add(_packets(SPES - 1, sum(SIZES), repetitions), readers)
    steps.add(_packets(SPES * (SPES - 1), SHORT_BYTES, repetitions), latencies)
    steps.add(_packets(SPES * 3, SHORT_BYTES, repetitions), barrier)


def _trials(
    plan: Plan, found: Measurements, affinity: str, named_trials: int
) -> Iterator[tuple[int, list[int]]]:
    """(seed, SPE of every rank) of an affinity's trials; the default one differs from trial to trial."""
    if affinity == DEFAULT:
        trials = plan.trials or _DEFAULT_TRIALS
        for trial in range(trials):
            yield plan.seed + trial, [int(spe) for spe in found.defaults[trial]]
    else:
        for trial in range(plan.trials or named_trials):
            yield plan.seed + trial, AFFINITIES[affinity]


def _placed(flows: list[tuple[int, int]], spe_of_rank: list[int]) -> list[tuple[int, int]]:
    return [(spe_of_rank[to], spe_of_rank[source]) for to, source in flows]


def _add_steps(steps: _Steps, plan: Plan, found: Measurements) -> None:
    """Every pattern of Table 2 under every affinity, 64 KB."""
    for pattern in _lab.paper000_table2():
        for affinity in (*AFFINITIES, DEFAULT):
            # Figure 4 shows eight trials of the identity.
            eight = pattern.name == STEP_OF_FIGURE_2 and affinity == "identity"
            trials = list(_trials(plan, found, affinity, 8 if eight else 3))

            def step(
                pattern: _lab.Pattern000 = pattern,
                affinity: str = affinity,
                trials: list[tuple[int, list[int]]] = trials,
            ) -> None:
                found.steps[pattern.name, affinity] = np.array(
                    [
                        _lab.time_gets(
                            _placed(pattern.flows, spes),
                            LARGE_BYTES,
                            plan.step_repetitions,
                            seed=seed,
                            machine=plan.machine,
                        )
                        for seed, spes in trials
                    ]
                )

            packets = _packets(len(pattern.flows), LARGE_BYTES, plan.step_repetitions)
            steps.add(len(trials) * packets, step)


def _repetitions(plan: Plan, size_bytes: int) -> int:
    """More for small messages, which would else take a few ticks of the decrementer."""
    return plan.size_repetitions if size_bytes > SMALL_BYTES else max(100, plan.size_repetitions)


def _add_sizes(steps: _Steps, plan: Plan, found: Measurements) -> None:
    """The same by message size: the least bandwidth among the ranks, one trial."""
    for pattern in _lab.paper000_table2():
        for affinity in (*AFFINITIES, DEFAULT):
            seed, spes = next(_trials(plan, found, affinity, 1))

            def step(
                pattern: _lab.Pattern000 = pattern,
                affinity: str = affinity,
                seed: int = seed,
                spes: list[int] = spes,
            ) -> None:
                flows = _placed(pattern.flows, spes)
                found.sizes[pattern.name, affinity] = np.array(
                    [
                        _lab.time_gets(
                            flows, size, _repetitions(plan, size), seed=seed, machine=plan.machine
                        ).min()
                        for size in SIZES
                    ]
                )

            steps.add(_packets(len(pattern.flows), sum(SIZES), plan.size_repetitions), step)


def _add_collectives(steps: _Steps, plan: Plan, found: Measurements) -> None:
    for operation in _lab.paper000_collectives():
        for affinity in (*AFFINITIES, DEFAULT):
            trials = list(_trials(plan, found, affinity, 3))

            def step(
                name: str = operation.name,
                affinity: str = affinity,
                trials: list[tuple[int, list[int]]] = trials,
            ) -> None:
                found.collectives[name, affinity] = np.array(
                    [
                        _lab.time_collective(
                            name, spes, plan.collective_repetitions, seed=seed, machine=plan.machine
                        )
                        for seed, spes in trials
                    ]
                )

            packets = plan.collective_repetitions * operation.total_bytes / 128
            steps.add(len(trials) * packets, step)


def _add_permutations(steps: _Steps, plan: Plan, found: Measurements) -> None:
    found.permutations = np.empty((plan.permutations, len(AFFINITIES) + 1))
    repetitions = plan.permutation_repetitions
    for first in range(0, plan.permutations, _CHUNK):
        count = min(_CHUNK, plan.permutations - first)

        def step(first: int = first, count: int = count) -> None:
            found.permutations[first : first + count] = _lab.permutation_minima(
                plan.seed, first, count, LARGE_BYTES, repetitions, plan.machine
            )

        steps.add(count * (len(AFFINITIES) + 1) * _packets(SPES, LARGE_BYTES, repetitions), step)
