"""Runs made up byte by byte for the tests of exports, and their records decoded again with struct.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trace_writer as tw

from corewise.data.events import KINDS

PROGRAM = "/opt/none/flow"
MAPS = f"400000-500000 r-xp 00001000 08:01 42 {PROGRAM}\n"


def _arrive(trace: tw.RankTrace, posted: int, peer: int, size: int, tag: int, comm: int = 0) -> None:
    """An arrival for the receive posted then, completed by the call that has just ended."""
    now, trace.now = trace.now, posted
    trace.put(tw.ARRIVAL, "MPI_Irecv", peer, size, ticks=now - posted, tag=tag, comm=comm)
    trace.now = now


def made_up_rank(rank: int, size: int, state: int = tw.FINALIZED) -> tw.RankTrace:
    """Functions around regions around calls of every kind; messages go round the ring."""
    right, left = (rank + 1) % size, (rank - 1) % size
    trace = tw.RankTrace(rank, size, state=state, maps=MAPS, sites={1: 0x400010, 2: 0x400020})
    if size > 1:
        trace.comms = [("evens", tuple(range(0, size, 2))), ("back to front", tuple(range(size))[::-1])]
    trace.put(tw.PLAIN, "MPI_Init", ticks=500)
    trace.mark(tw.PHASE, "set-up, first")
    trace.function(tw.FUNCTION_ENTER, 0x400100)
    trace.now += 3
    for step in range(3):
        trace.mark(tw.REGION_ENTER, "step")
        posted = trace.now
        trace.put(tw.POST_RECEIVE, "MPI_Irecv", left, 4096, ticks=7, site=1, tag=step)
        trace.put(tw.SEND, "MPI_Isend", right, 100 + step, ticks=9, site=2, tag=step)
        trace.put(tw.PLAIN, "MPI_Barrier", ticks=40, site=1)
        _arrive(trace, posted, left, 100 + step, step)
        trace.put(tw.SEND, "MPI_Send", right, 10, ticks=11, tag=7)
        trace.put(tw.RECEIVE, "MPI_Recv", left, 10, ticks=90, tag=7)
        trace.mark(tw.REGION_EXIT, "step")
        trace.now += 2
    trace.function(tw.FUNCTION_ENTER, 0x400200)
    trace.put(tw.MISS, "MPI_Iprobe", size=17, ticks=300)
    trace.put(tw.PROBE, "MPI_Iprobe", left, 5, ticks=4, tag=1)
    trace.put(tw.SEND, "MPI_Send", -2, 1_000_000, ticks=3)
    cancelled = trace.now
    trace.put(tw.POST_RECEIVE, "MPI_Irecv", -3, 64, ticks=5, tag=-1)
    trace.put(tw.PLAIN, "MPI_Barrier", ticks=6)
    now, trace.now = trace.now, cancelled
    trace.put(tw.CANCEL, "MPI_Irecv", -3, 64, ticks=now - cancelled, tag=-1)
    trace.now = now
    trace.function(tw.FUNCTION_EXIT, 0x400200)
    trace.mark(tw.PHASE, "work")
    trace.put(tw.COLLECTIVE, "MPI_Allreduce", size=64, ticks=50)
    trace.put(tw.COLLECTIVE, "MPI_Bcast", 0, 32, ticks=20, comm=1 if size > 1 and rank % 2 == 0 else 0)
    if size > 1:
        trace.put(tw.PUT, "MPI_Put", right, 256, ticks=8, comm=2)
        trace.put(tw.GET, "MPI_Get", left, 128, ticks=8, comm=2)
    trace.put(tw.FILE_READ, "MPI_File_read", size=1024, ticks=80)
    trace.put(tw.FILE_WRITE, "MPI_File_write", size=2048, ticks=80)
    trace.recording(0)
    trace.recording(1)
    trace.function(tw.FUNCTION_EXIT, 0x400300)  # was entered before recording began
    if state == tw.FINALIZED:
        trace.function(tw.FUNCTION_EXIT, 0x400100)
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=30)
    return trace


def made_up_run(folder: Path, size: int = 3) -> tuple[Path, list[tw.RankTrace]]:
    """A run whose last rank was killed."""
    ranks = [
        made_up_rank(rank, size, tw.RUNNING if rank == size - 1 > 0 else tw.FINALIZED) for rank in range(size)
    ]
    return tw.write_run(folder / "flow.cw", ranks), ranks


def expected(ranks: Sequence[tw.RankTrace]) -> list[tuple[Any, ...]]:
    """Every record as (rank, start, duration, kind, name, bytes, peer, tag, comm), decoded with struct."""
    rows = []
    for trace in ranks:
        for record in trace.records:
            start, low, call, _ = struct.unpack("<QIHH", record[:16])
            role, procedure = call >> 10 & 31, call & 1023
            name: str | None = tw.PROCEDURES[procedure]
            ticks, volume, peer, tag = low, 0xFFFF << 48, -1, 0
            if role in (tw.FUNCTION_ENTER, tw.FUNCTION_EXIT):
                name, ticks = f"flow+{low - 0x400000 + 0x1000:#x}", 0
            elif role in (tw.REGION_ENTER, tw.REGION_EXIT, tw.PHASE):
                name, ticks = trace.names[low], 0
            elif role == tw.RECORDING:
                name, ticks, tag = None, 0, low
            if role not in tw.SHORT:
                volume, peer, tag = struct.unpack("<Qii", record[16:])
            size = 0 if role == tw.MISS else volume & (1 << 48) - 1
            comm = -1 if volume >> 48 == 0xFFFF else volume >> 48
            at = (trace.rank, start - tw.START_TICKS, ticks, KINDS[role], name)
            rows.append((*at, size if role not in tw.SHORT else 0, peer, tag, comm))
    return rows
