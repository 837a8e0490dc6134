"""Paper 002 again: a ring of tasks under every mapping to the SPEs of a PS3 and of a blade's chip.

Runs the figures' curves and the experiments that ask where a dependence on the mapping could come from, and
hands back rows, tables and figures. Nothing here prints or draws.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from corewise import _lab
from corewise.analysis.result import PaperResult, Progress
from corewise.data.quantities import size_text
from corewise.papers.mapping.data import (
    FULL,
    QUICK,
    RUNS,
    Curve,
    Effort,
    Machines,
    Point,
    Study,
    experiment_on,
    sample,
    time_all,
    time_curve,
)
from corewise.papers.mapping.rows import rows_of
from corewise.papers.mapping.views import figures_of, tables_of
from corewise.papers.runner import Paper, Work, unseen

PAPER = Paper("mapping", rows_of, tables_of, figures_of)
MACHINE = "simulated PS3 and one PowerXCell 8i of a QS22"
TASKS = 8
"""Of the chip's rings."""
SIZES = (2048, 1024, 512)
"""Packets of figures 4 and 5, bytes."""
BACK_OFFS = (50, 100, 150, 200, 220, 230, 240, 250, 260, 300, 400, 600, 620, 640, 660, 700)
"""Delays before a refused command is sent again, core cycles: experiment 1."""
PAUSES = (0, 400, 4000)
"""Cycles between two polls: experiment 1."""
RHYTHMS = (0, 1000, 2000, 4000, 8000, 16000)
"""Cycles between two polls where the rhythm of polling is looked at, both ways round and one way."""
RHYTHM = 4000
"""The pause of the jittered runs that ask whether a rhythm belongs to its mapping."""
HOPS = (0, 2, 4)
"""Core cycles that a command takes per stop between its unit and the address concentrator: experiment 1. Data
take 2, a bus cycle."""
LENGTHS = ((100, 0), (100, 2), (240, 0), (240, 2), (620, 2))
"""Back-off and cycles per stop of the runs whose length is varied: as it is, and where most shows."""
LENGTHENED = (1, 4, 16)
"""Lengths of those runs, in multiples of the effort's rounds."""
LAYOUTS: dict[str, dict[str, object]] = {
    "one line per row": {},
    "two rows per line": {"entry_bytes": 8, "row_bytes": 64},
    "four rows per line": {"entry_bytes": 4, "row_bytes": 32},
    "padded rows": {"entry_bytes": 32, "row_bytes": 256},
    "separate acknowledges": {"separate_acknowledgements": True},
    "local store": {"notify_local_store": True},
    "one packet per poll": {"one_packet_per_poll": True},
    "no line conflicts": {"line_conflicts": 0},
}
"""Experiments 2 and 3, and a machine without conflicts as their reference."""
SHARED = ("two rows per line", "four rows per line")
"""Layouts in which rows of several receivers lie in one line: their polls and writes meet on it."""
STANDING_STILL = {"four rows per line": 10}
"""Layouts under which every mapping stands still, and the rounds that say so; more only raise their limit."""
STILL_WITHOUT_JITTER = {"two rows per line": 20, **STANDING_STILL}
"""Layouts under which some do, where nothing jitters."""


def run_paper(
    quick: bool = False,
    seed: int = 1,
    progress: Progress = unseen,
    machines: Machines | None = None,
    machine_text: str = MACHINE,
) -> PaperResult:
    """Runs paper 002's experiments.

    Parameters
    ----------
    quick : bool
        Samples of mappings and fewer rounds.
    seed : int
        Of jitter, samples and default mappings.
    progress : callable, optional
        Told the share that is done.
    machines : Machines, optional
        What the rings run on, instead of the bundled machines.
    machine_text : str
        What the result calls them.
    """
    effort = replace(QUICK if quick else FULL, machines=machines or Machines())
    return PAPER.result(machine_text, run_study(effort, seed, progress))


def run_study(effort: Effort, seed: int, progress: Progress = unseen) -> Study:
    """Times everything that the rows, tables and figures need."""
    advance = Work(_rounds(effort), progress)
    return Study(
        fig2=_ps3(effort, seed, False, advance),
        fig3=_ps3(effort, seed, True, advance),
        ps3_sizes={size: _ps3_still(effort, size, advance) for size in SIZES},
        fig4={size: _chip(effort, size, advance) for size in SIZES},
        fig4_runs={size: _chip_runs(effort, size, seed, advance) for size in SIZES},
        fig5={size: _one_way(effort, size, seed, advance) for size in SIZES},
        rhythm_runs=_chip_runs(effort, 1024, seed, advance, RHYTHM),
        shared={layout: _chip(effort, 1024, advance, layout) for layout in SHARED},
        shared_runs={layout: _chip_runs(effort, 1024, seed, advance, layout=layout) for layout in SHARED},
        back_off=tuple(_back_off_points(effort, seed, advance)),
        lengths=tuple(_length_points(effort, seed, advance)),
        layouts=tuple(_layout_points(effort, seed, advance)),
        rhythms=tuple(_rhythm_points(effort, seed, advance)),
    )


def _rounds(effort: Effort) -> float:
    """About how many rounds the study simulates."""
    points = len(BACK_OFFS) * (len(PAUSES) + len(HOPS) - 1) + 2 * len(LAYOUTS) * len(SIZES)
    points += len(LENGTHS) * sum(LENGTHENED) + 2 * len(RHYTHMS) * LENGTHENED[1]
    exact = 2520 / effort.every
    chip = exact + effort.one_way + RUNS * effort.jittered
    return (
        sum(exact * _rounds_of(effort, layout) for layout in SHARED)
        + sum(RUNS * effort.jittered * _rounds_of(effort, layout, jitter=True) for layout in SHARED)
        + 2 * RUNS * 120 * effort.ps3_rounds
        + len(SIZES) * (66 + chip) * effort.rounds
        + (points * effort.sweep + RUNS * effort.jittered) * effort.rounds
    )


def _applied(experiment: _lab.RingExperiment, settings: dict[str, object]) -> _lab.RingExperiment:
    """An experiment with attributes or simulation parameters set by name."""
    for name, value in settings.items():
        if hasattr(experiment, name):
            setattr(experiment, name, value)
        else:
            experiment.set(name, float(value))  # type: ignore[arg-type]
    return experiment


def _on_ps3(effort: Effort, size: int, jitter: bool) -> _lab.RingExperiment:
    return experiment_on(effort.machines.ps3, size, jitter, effort.machines.parameters)


def _on_chip(effort: Effort, size: int, jitter: bool) -> _lab.RingExperiment:
    return experiment_on(effort.machines.chip, size, jitter, effort.machines.parameters)


def _rounds_of(effort: Effort, layout: str, jitter: bool = False) -> int:
    """How many rounds a layout's runs have."""
    rounds = effort.shared_rounds if layout in SHARED else effort.rounds
    still = STANDING_STILL if jitter else STILL_WITHOUT_JITTER
    return min(rounds, still.get(layout, rounds))


def _ps3(effort: Effort, seed: int, pinned: bool, advance: Callable[[float], None]) -> Curve:
    """Three jittered runs; unpinned, each on its own placement of the threads."""
    experiments = []
    for run in range(RUNS):
        experiment = _on_ps3(effort, 1024, jitter=True)
        experiment.most_rounds = effort.ps3_rounds
        experiment.seed = seed * RUNS + run
        if not pinned:
            order = np.random.default_rng([seed, run]).permutation(np.array(experiment.spe_of_thread))
            experiment.spe_of_thread = [int(spe) for spe in order]
        experiments.append(experiment)
    label = "pinned mapping" if pinned else "default mapping"
    return time_curve(label, experiments, np.arange(120, dtype=np.int64), advance)


def _ps3_still(effort: Effort, size: int, advance: Callable[[float], None]) -> Curve:
    experiment = _on_ps3(effort, size, jitter=False)
    experiment.most_rounds = effort.rounds
    return time_all(size_text(size), experiment, 1, advance)


def _chip(
    effort: Effort, size: int, advance: Callable[[float], None], layout: str = "one line per row"
) -> Curve:
    experiment = _applied(_on_chip(effort, size, jitter=False), LAYOUTS[layout])
    experiment.most_rounds = _rounds_of(effort, layout)
    label = size_text(size) if layout not in SHARED else f"{size_text(size)}, {layout}"
    return time_all(label, experiment, effort.every, advance)


def _chip_runs(
    effort: Effort,
    size: int,
    seed: int,
    advance: Callable[[float], None],
    pause: int = 0,
    layout: str = "one line per row",
) -> Curve:
    experiments = []
    for run in range(RUNS):
        experiment = _applied(_on_chip(effort, size, jitter=True), LAYOUTS[layout])
        experiment.most_rounds = _rounds_of(effort, layout, jitter=True)
        experiment.pause_cycles = pause
        experiment.seed = seed * RUNS + run
        experiments.append(experiment)
    return time_curve(size_text(size), experiments, sample(8, effort.jittered, seed), advance)


def _one_way(effort: Effort, size: int, seed: int, advance: Callable[[float], None]) -> Curve:
    experiment = _on_chip(effort, size, jitter=False)
    experiment.bidirectional = False
    experiment.most_rounds = effort.rounds
    return time_curve(size_text(size), [experiment], sample(8, effort.one_way, seed), advance)


@dataclass(frozen=True)
class _Sweep:
    """What the points of all sweeps share."""

    effort: Effort
    seed: int
    advance: Callable[[float], None]

    def point(
        self,
        layout: str = "one line per row",
        back_off: int = 100,
        pause: int = 0,
        hop: int = 0,
        size: int = 1024,
        longer: int = 1,
        bidirectional: bool = True,
    ) -> Point:
        """Times a sample of mappings under one setting."""
        experiment = _on_chip(self.effort, size, jitter=False)
        experiment.bidirectional = bidirectional
        experiment.most_rounds = longer * _rounds_of(self.effort, layout)
        settings: dict[str, object] = {
            "retry_cycles": back_off,
            "pause_cycles": pause,
            "command_hop_cycles": hop,
        }
        _applied(experiment, {**settings, **LAYOUTS[layout]})
        indices = sample(8, self.effort.sweep, self.seed)
        curve = time_curve(layout, [experiment], indices, self.advance)
        return Point(layout, back_off, pause, hop, size, experiment.most_rounds, curve, bidirectional)


def _back_off_points(effort: Effort, seed: int, advance: Callable[[float], None]) -> Iterator[Point]:
    sweep = _Sweep(effort, seed, advance)
    for back_off in BACK_OFFS:
        for pause in PAUSES:
            yield sweep.point(back_off=back_off, pause=pause)
        for hop in HOPS[1:]:
            yield sweep.point(back_off=back_off, hop=hop)


def _length_points(effort: Effort, seed: int, advance: Callable[[float], None]) -> Iterator[Point]:
    sweep = _Sweep(effort, seed, advance)
    for back_off, hop in LENGTHS:
        for longer in LENGTHENED:
            yield sweep.point(back_off=back_off, hop=hop, longer=longer)


def _rhythm_points(effort: Effort, seed: int, advance: Callable[[float], None]) -> Iterator[Point]:
    sweep = _Sweep(effort, seed, advance)
    for pause in RHYTHMS:
        for bidirectional in (True, False):
            yield sweep.point(pause=pause, bidirectional=bidirectional, longer=LENGTHENED[1])


def _layout_points(effort: Effort, seed: int, advance: Callable[[float], None]) -> Iterator[Point]:
    sweep = _Sweep(effort, seed, advance)
    for layout in LAYOUTS:
        for size in SIZES:
            yield sweep.point(layout=layout, size=size)
            yield sweep.point(layout=layout, back_off=240, hop=2, size=size)
