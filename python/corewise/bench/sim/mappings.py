"""How long it takes to time all 5040 mappings of paper 002's ring on a jitter-free chip, on one core.

Two layouts of the message library. A mapping whose complete state comes again is exact for any number of
rounds. That is common with notification into the local store. With the paper's matrix in main memory eight
polling loops drift against each other, and states hardly come again: those times are exact for the rounds
simulated, averages beyond; ``repeating`` is the share that did come again. A ring and its reflection are one
program (test Mapping.ReflectedRingIsTheSameProgram), so half of the mappings are simulated. The bound, for
the matrix, is 60 s of CPU time; the run is one thread.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from corewise import _lab
from corewise.bench.rounds import rounded
from corewise.bench.rows import Listener, Row
from corewise.data.machines import load_machine

BOUND_S = 60.0
TASKS = 8
ROUNDS = {"matrix": 60, "local_store": 100}
"""Simulated per mapping; of the local store the bound on the search for a repeat."""
CHUNK = 64


def experiment_of(layout: str) -> _lab.RingExperiment:
    """The ring on a chip on which nothing moves but the programs."""
    experiment = _lab.RingExperiment(load_machine("cell-be"))
    experiment.packet_bytes = 1024
    experiment.set("memory_refresh_interval_cycles", 0)
    experiment.set("rest_after_packets", 0)
    experiment.notify_local_store = layout == "local_store"
    experiment.most_rounds = ROUNDS[layout]
    return experiment


def different() -> list[int]:
    """Of each mapping and its reflection the first."""
    return [
        index
        for index in range(_lab.mapping_count(TASKS))
        if index <= _lab.mapping_index(_lab.reflected_mapping(_lab.mapping_at(TASKS, index)))
    ]


def measured(layout: str, every: int, progress: Callable[[float], None]) -> Row:
    """All mappings, or one in `every` of them scaled up."""
    experiment, everything = experiment_of(layout), different()
    indices = np.array(everything[::every], dtype=np.int64)
    repeating = 0
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    for start in range(0, indices.size, CHUNK):
        timings = experiment.time_mappings(np.ascontiguousarray(indices[start : start + CHUNK]))
        repeating += int(np.count_nonzero(timings.period_rounds))
        progress(min(1.0, (start + CHUNK) / indices.size))
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    ours = cpu_s * len(everything) / indices.size
    bound = BOUND_S if layout == "matrix" else None
    what = f"5040 mappings, 1 KB, jitter-free, {layout.replace('_', ' ')}, CPU time of one core"
    return Row(
        f"sim-mappings-{layout}",
        f"{what}; exact for {ROUNDS[layout]} rounds, beyond them where the state repeats",
        "s",
        rounded(ours),
        "bound" if bound else None,
        bound,
        ratio=rounded(bound / ours) if bound else None,
        demand=1.0 if bound else None,
        more={
            "timed": int(indices.size),
            "wall_s": rounded(wall_s),
            "rounds": ROUNDS[layout],
            "repeating": round(repeating / indices.size, 3),
        },
    )


def rows(every: int, listener: Listener) -> list[Row]:
    """A row per layout."""
    matrix = measured("matrix", every, listener.part(0, 0.7).progress)
    return [matrix, measured("local_store", every, listener.part(0.7, 1).progress)]
