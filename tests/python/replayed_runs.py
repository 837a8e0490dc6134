"""Recordings made up call by call for the tests of replays, and what a neighbour's message takes.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import trace_writer as tw
from trace_writer import RankTrace

from corewise._core import Machine
from corewise.sim.replay import Replay, ReplayOptions, open_recording, replay

SETTINGS = {"send_ns": 100, "receive_ns": 200, "copy_gb_per_s": 5, "eager_bytes": 1000, "header_bytes": 40}
Record = Callable[[RankTrace], None]


def recorded(folder: Path, *programs: Record, finalized: bool = True) -> Path:
    """A profile whose ranks do these, between MPI_Init and MPI_Finalize."""
    ranks = []
    for rank, program in enumerate(programs):
        trace = RankTrace(rank, len(programs))
        trace.put(tw.PLAIN, "MPI_Init", ticks=70_000)
        program(trace)
        if finalized:
            trace.put(tw.PLAIN, "MPI_Finalize", ticks=9_000)
        ranks.append(trace)
    return tw.write_run(folder, ranks)


def send(trace: RankTrace, to: int, size: int, procedure: str = "MPI_Send", tag: int = 0) -> None:
    trace.put(tw.SEND, procedure, to, size, ticks=37, tag=tag)


def receive(trace: RankTrace, source: int, size: int, tag: int = 0) -> None:
    trace.put(tw.RECEIVE, "MPI_Recv", source, size, ticks=4_321, tag=tag)


def post(trace: RankTrace, source: int, size: int, tag: int = 0) -> int:
    """A receive posted; gives its start."""
    start = trace.now
    trace.put(tw.POST_RECEIVE, "MPI_Irecv", source, size, ticks=5, tag=tag)
    return start


def complete(trace: RankTrace, procedure: str, *arrivals: tuple[int, int, int]) -> None:
    """A call that completes receives: (start of the post, sender, bytes) each."""
    trace.put(tw.PLAIN, procedure, ticks=777)
    end = trace.now
    for start, source, size in arrivals:
        trace.now = start
        trace.put(tw.ARRIVAL, "MPI_Irecv", source, size, ticks=end - start)
    trace.now = end


def compute(trace: RankTrace, ns: int) -> None:
    trace.now += ns


def run(
    folder: Path, machine: str = "mesh:4x1", settings: dict[str, float] | None = None, **options: object
) -> Replay:
    recording = open_recording(folder)
    chosen = ReplayOptions(settings={**SETTINGS, **(settings or {})}, **options)  # type: ignore[arg-type]
    return replay(recording, Machine.from_synthetic(machine), list(range(recording.size)), chosen)


def link(machine: str = "mesh:4x1") -> tuple[float, float]:
    """Latency in ns and bytes per ns of a link."""
    first = Machine.from_synthetic(machine).links[0]
    return first.latency_ns, first.bandwidth_gb_per_s


def ping_pong(folder: Path, first: int = 1_000) -> Path:
    def left(trace: RankTrace) -> None:
        compute(trace, first)
        send(trace, 1, 500)
        receive(trace, 1, 500)

    def right(trace: RankTrace) -> None:
        receive(trace, 0, 500)
        compute(trace, 300)
        send(trace, 0, 500)

    return recorded(folder, left, right)


DEFAULTS = {"send_ns": 100, "receive_ns": 100, "copy_gb_per_s": 8, "eager_bytes": 4096, "header_bytes": 32}
