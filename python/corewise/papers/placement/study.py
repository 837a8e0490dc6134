"""Papers 000 and 002 asked for it: the best affinity found automatically, on the simulated Cell.

Paper 000, section 7: evaluate a model for every affinity, or map the pattern onto a hypercube and that onto
EvenOdd. Both are done here, and a search by simulation that says how far either is from the best there is;
EvenOdd's claim to be good at everything is held against that best. Paper 002 found no rule by which to
choose: its ring on the PS3 is placed with proof, and the proven placements are looked up among the simulated
120. Same plan and seed, same result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise import _lab
from corewise.analysis.result import PaperResult, Progress
from corewise.papers.placement.data import (
    QUICK,
    Effort,
    Operation,
    Step,
    Study,
    Timer,
    find_compromise,
    ps3_ring,
    search_operation,
    search_step,
)
from corewise.papers.placement.rows import rows_of
from corewise.papers.placement.views import tables_of
from corewise.papers.runner import Paper, Work, unseen

PAPER = Paper("placement", rows_of, tables_of, lambda study: ())
MACHINE = "one Cell of a QS20 and a PS3 (simulated)"


def run_paper(
    quick: bool = False, seed: int = 1, progress: Progress = unseen, effort: Effort | None = None
) -> PaperResult:
    """Everything `corewise paper placement` shows.

    Parameters
    ----------
    quick : bool
        Samples instead of every set of transfers.
    seed : int
    progress : callable
        Told the share of the work done.
    effort : Effort, optional
        Instead of the two plans.
    """
    study = run_study(effort or (QUICK if quick else Effort()), seed, progress)
    return PAPER.result(MACHINE, study)


def run_study(effort: Effort, seed: int = 1, progress: Progress = unseen) -> Study:
    """Searches and times everything."""
    patterns, collectives = _lab.paper000_table2(), _lab.paper000_collectives()
    work = Work(len(patterns) + len(collectives) + 2, progress)
    steps: list[Step] = []
    tables: dict[int, float] = {}
    for pattern in patterns:
        steps.append(search_step(pattern, effort, seed, tables))
        work()
    starts = list(dict.fromkeys([step.best for step in steps] + [step.by_hypercube[0] for step in steps]))
    operations: list[Operation] = []
    timers = [Timer(operation.name, seed, effort.final_trials) for operation in collectives]
    for operation, timer in zip(collectives, timers, strict=True):
        operations.append(search_operation(timer, operation.title, starts, effort.collective_searches))
        work()
    compromise = find_compromise(steps, operations, timers, effort, seed)
    work()
    ring = ps3_ring(effort.ring_rounds, work.within)
    work()
    return Study(tuple(steps), tuple(operations), compromise, ring)
