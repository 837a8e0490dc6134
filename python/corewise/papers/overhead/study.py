"""Paper 003 again: what its profiler costs inside a simulated Cell, figures 2 to 5.

Every point is two simulations: the program with the profiler in its local stores, and without. Nothing here
prints or draws. The same effort gives the same result.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from corewise import _lab
from corewise.analysis.result import PaperResult, Progress
from corewise.papers.overhead.data import (
    FULL,
    HALF,
    LONG_MESSAGE,
    MESSAGE,
    PS3,
    QS22,
    QUICK,
    Effort,
    Host,
    Point,
    Study,
    dynamics_run,
    point,
    run_of,
)
from corewise.papers.overhead.rows import rows_of
from corewise.papers.overhead.views import figures_of, tables_of
from corewise.papers.runner import Paper, Work, unseen

PAPER = Paper("overhead", rows_of, tables_of, figures_of)
MACHINE = "a PS3 and one Cell of a QS22 (simulated)"


def run_paper(quick: bool = False, progress: Progress = unseen, effort: Effort | None = None) -> PaperResult:
    """Everything `corewise paper overhead` shows.

    Parameters
    ----------
    quick : bool
        Fewer events and points.
    progress : callable
        Told the share of the work done.
    effort : Effort, optional
        Instead of the two plans.
    """
    return PAPER.result(MACHINE, run_study(effort or (QUICK if quick else FULL), progress))


def run_study(effort: Effort, progress: Progress = unseen) -> Study:
    """Runs everything."""
    kernels = (len(effort.sizes) + len(effort.halves) + 3) * effort.saturated
    work = Work(sum(effort.events) + sum(effort.linear) + kernels, progress)
    console, blade = _Kernel(PS3, work), _Kernel(QS22, work)
    figure2 = tuple(console.point(events, events, MESSAGE) for events in effort.events)
    figure5 = tuple(blade.point(events, events, MESSAGE) for events in effort.linear)
    saturated = effort.saturated
    figure3 = tuple(console.point(size, saturated, size) for size in effort.sizes)
    kernel4 = tuple(console.point(half, saturated, LONG_MESSAGE, half) for half in effort.halves)
    ours = tuple(each.point(saturated, saturated, MESSAGE, layout="specific") for each in (console, blade))
    no_faults = _Kernel(Host("ps3", 3, 2, {}, PS3.memory_limit), work).point(saturated, saturated, MESSAGE)
    dynamics4 = tuple(_both(dynamics_run(PS3, effort.steps, half), half, PS3.spes) for half in effort.halves)
    return Study(
        effort,
        figure2,
        figure3,
        kernel4,
        dynamics4,
        figure5,
        (ours[0], ours[1]),
        no_faults,
        tuple(_lab.profiler_event_types()),
        _lab.profiler_local_store_bytes(HALF),
    )


class _Kernel:
    """The communication of Sweep3D on one machine; runs without the profiler are made once."""

    def __init__(self, host: Host, work: Work) -> None:
        self._host, self._machine, self._work = host, host.machine(), work

    def point(self, at: float, events: int, message: int, half: int = HALF, layout: str = "paper") -> Point:
        run = run_of(self._host, self._machine, message, half)
        run.layout = layout
        run.rounds = max(1, round(events / run.calls_per_round))
        found = _both(run, at, self._host.spes)
        self._work(events)
        return found


def _both(run: _lab.ProfiledRun, at: float, spes: int) -> Point:
    run.recorded = False
    plain = run.run()
    run.recorded = True
    return point(at, spes, plain, run.run())
