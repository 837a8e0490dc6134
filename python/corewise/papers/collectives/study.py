"""Paper 001, collectives inside a Cell: runs its experiments on the simulated Cell and judges its claims.

`measure` runs the programs (C++ does the work), `rows_of` holds the results against the paper, and
`tables_of` and `figures_of` lay them out. What stands beside the paper's best as future work is the bundled
tuning's choice, run here. Invariant: the same plan gives the same result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from corewise import _core, _lab
from corewise.analysis.result import PaperResult, Progress
from corewise.analysis.selection import Configuration
from corewise.data.machines import load_machine
from corewise.data.tuning import SELECTIONS, Tuning, tuning_for
from corewise.papers.collectives import beyond
from corewise.papers.collectives.cases import MACHINE as BLADE
from corewise.papers.collectives.cases import Case, run_cases
from corewise.papers.collectives.data import (
    BARRIER_RANKS,
    COMPARED,
    COMPARED_RANKS,
    COPY_BUFFERS,
    KB,
    MB,
    QUICK_BARRIER_RANKS,
    QUICK_SIZES,
    SIZES,
    SMALLEST_SIZES,
    STRIDED_BLOCKS,
    STRIDED_BYTES,
    DmaCase,
    DmaTiming,
    Measurements,
    figure_cases,
    memory_cases,
)
from corewise.papers.collectives.rows import rows_of
from corewise.papers.collectives.views import figures_of, tables_of
from corewise.papers.runner import Paper, unseen
from corewise.sim import simulate

PAPER = Paper("collectives", rows_of, tables_of, figures_of)
MACHINE = "Cell blade, two chips of a QS20 at 3.2 GHz (simulated)"
SPES = 16
"""Of a blade."""
STREAMED_COMMANDS = 1024
"""Of 16 KB, to see what a controller streams."""
_STUDY_SHARE = 0.04
"""Of the work: everything but the collectives."""


@dataclass(frozen=True)
class Plan:
    """How much is run.

    Attributes
    ----------
    sizes : tuple of int
        Of the curves, rising; 128 B, 1, 8 and 32 KB and 1 MB are among them.
    barrier_ranks : tuple of int
        2, 4, 8, 10, 16 and some above 8 that are no power of two are among them.
    dma_repetitions : int
        Transfers of every SPE in the DMA study.
    machine : Machine or None
        A Cell blade; None: the bundled one.
    papers_own : bool
        Only what the paper measured itself: no future work, no other places of data, no calls back to back.
    """

    sizes: tuple[int, ...] = SIZES
    barrier_ranks: tuple[int, ...] = BARRIER_RANKS
    dma_repetitions: int = 40
    machine: _core.Machine | None = None
    papers_own: bool = False


QUICK = Plan(sizes=QUICK_SIZES, barrier_ranks=QUICK_BARRIER_RANKS, dma_repetitions=10)


def run_paper(
    quick: bool = False,
    progress: Progress = unseen,
    machine: _core.Machine | None = None,
    machine_text: str = MACHINE,
) -> PaperResult:
    """Everything `corewise paper collectives` shows."""
    plan = replace(QUICK if quick else Plan(), machine=machine)
    return PAPER.result(machine_text, measure(plan, progress))


def measure(plan: Plan, progress: Progress = unseen) -> Measurements:
    """Runs everything of a plan."""
    found = Measurements(sizes=plan.sizes, barrier_ranks=plan.barrier_ranks)
    machine = plan.machine or load_machine(BLADE)
    _measure_dma(found, machine, plan.dma_repetitions)
    _measure_copies(found, machine)
    _measure_strided(found, machine)
    found.partners_ns = _partners()
    progress(_STUDY_SHARE)
    cases = [*figure_cases(plan.sizes, plan.barrier_ranks)]
    if not plan.papers_own:
        cases += [*memory_cases(), *selected_cases(plan.sizes)]
        found.beyond = beyond.measure(machine)
    found.times = run_cases(
        cases,
        lambda share: progress(_STUDY_SHARE + (1 - _STUDY_SHARE) * share),
        machine=machine,
        back_to_back=not plan.papers_own,
    )
    return found


def selected_cases(sizes: tuple[int, ...]) -> Iterator[Case]:
    """For each call of the comparison what the tuning selects: of the paper's algorithms, and of all."""
    tuning = tuning_for(BLADE)
    for collective in COMPARED:
        for ranks in COMPARED_RANKS:
            for size in (*SMALLEST_SIZES, *sizes):
                for selection in SELECTIONS:
                    chosen = _chosen(tuning, collective, ranks, size, selection == "paper")
                    yield Case(collective, ranks, size, chosen, eager=selection == "all")


def _chosen(tuning: Tuning, collective: str, ranks: int, size: int, paper: bool) -> Configuration:
    won = tuning.find(collective, ranks, size, "paper" if paper else "all").won
    return Configuration(won.algorithm, won.parameters)


# ---- figure 2 and section 2 ------------------------------------------------------------------------------


def dma_cases() -> Iterator[DmaCase]:
    """Figure 2, left, and what section 2 says of congestion and of small commands."""
    for target in ("local_store", "other_local_store", "memory", "other_memory"):
        for size in (128 << step for step in range(10)):
            yield DmaCase(target, size)
    for target in ("local_store", "memory"):
        for size in (128 << step for step in range(10)):
            yield DmaCase(target, size, spes=8)
    yield DmaCase("local_store", 16 * KB, command_bytes=128)


def _measure_dma(found: Measurements, machine: _core.Machine, repetitions: int) -> None:
    for case in dma_cases():
        mean, deviation, _, _ = _lab.time_dma(
            machine, case.way, case.target, case.bytes, case.command_bytes, case.spes, repetitions
        )
        found.dma[case] = DmaTiming(mean, deviation)
    for ranks in COMPARED_RANKS:
        found.streaming_gb_per_s[ranks] = streaming_gb_per_s(machine, ranks)


def streaming_gb_per_s(machine: _core.Machine, ranks: int) -> float:
    """What the first chip's controller moves at best for so many SPEs, reads and writes as in a broadcast."""
    reads = STREAMED_COMMANDS // ranks
    return _lab.stream_memory(machine, list(range(ranks)), reads=reads, writes=reads * (ranks - 1))


def _measure_copies(found: Measurements, machine: _core.Machine) -> None:
    for size in (4 * KB, 16 * KB, 64 * KB, 256 * KB, MB):
        for buffer, buffers in COPY_BUFFERS:
            found.copies_ns[size, buffer, buffers] = _lab.time_copy(machine, size, buffer, buffers)
        found.ppe_copies_ns[size] = _lab.time_ppe_copy(machine, size)


def _measure_strided(found: Measurements, machine: _core.Machine) -> None:
    for block in STRIDED_BLOCKS:
        by_list, contiguous = _lab.time_strided(machine, "get", STRIDED_BYTES, block, 2 * block)
        by_command, _ = _lab.time_strided(machine, "get", STRIDED_BYTES, block, 2 * block, list=False)
        found.strided_ns[block] = (by_list, by_command, contiguous)


def _partners() -> tuple[float, float]:
    """16 bytes between SPEs of one chip: pairs that exchange; everybody to the next one."""
    ranks = np.arange(8)
    mean = []
    for partner in (ranks ^ 1, (ranks + 1) % 8):
        sent = np.zeros((8, 8), dtype=np.uint64)
        sent[ranks, partner] = 16
        mean.append(float(simulate("cell-be", sent).durations_ns.mean()))
    return mean[0], mean[1]
