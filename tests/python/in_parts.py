"""What tests of work in parts share: random profiles, and executors that hold results back or are gone.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import trace_writer as tw


class Here(Executor):
    """Does a job when it is given; results come at once, or the last first when there are `held_back`."""

    def __init__(self, held_back: int = 0) -> None:
        self.held_back = held_back
        self.held: list[tuple[Future[Any], Any]] = []

    def submit(self, job: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.held.append((future, job(*arguments, **more)))
        if len(self.held) >= self.held_back:
            while self.held:
                done, value = self.held.pop()
                done.set_result(value)
        return future


def random_rank(rng: random.Random, rank: int, size: int, records: int) -> tw.RankTrace:
    trace = tw.RankTrace(rank, size, host=f"host{rank % 3}", sites={1: 0x1100, 2: 0x2200, 3: 0x9900})
    trace.maps = "1000-2000 r-xp 00000000 00:00 1 /bin/flow\n2000-3000 r-xp 00001000 00:00 1 /lib/part.so\n"
    trace.node = trace.host
    trace.comms = [(name, sorted({*range(rank % 2, size, 2), rank})) for name in ("halves", "")]
    trace.put(tw.PLAIN, "MPI_Init", ticks=rng.randrange(1, 10**6), site=1)
    pairs = (
        (tw.SEND, "MPI_Send"), (tw.SEND, "MPI_Isend"), (tw.RECEIVE, "MPI_Recv"), (tw.ARRIVAL, "MPI_Irecv"),
        (tw.POST_RECEIVE, "MPI_Irecv"), (tw.COLLECTIVE, "MPI_Allreduce"), (tw.COLLECTIVE, "MPI_Bcast"),
        (tw.COLLECTIVE, "MPI_Barrier"), (tw.MISS, "MPI_Iprobe"), (tw.PROBE, "MPI_Probe"),
        (tw.PUT, "MPI_Put"), (tw.GET, "MPI_Get"), (tw.PLAIN, "MPI_Wait"), (tw.CANCEL, "MPI_Isend"),
        (tw.FILE_READ, "MPI_File_read"), (tw.FILE_WRITE, "MPI_File_write"),
    )  # fmt: skip
    for _ in range(records):
        what = rng.randrange(24)
        if what < len(pairs):
            role, procedure = pairs[what]
            peer = rng.choice([rng.randrange(size), rng.randrange(size), -1, -2])
            ticks, site, comm = rng.randrange(1, 5000), rng.randrange(4), rng.randrange(3)
            trace.put(role, procedure, peer, rng.randrange(1, 10**6), ticks, site, rng.randrange(3), comm)
        elif what < 20:
            trace.mark(rng.choice([tw.REGION_ENTER, tw.REGION_EXIT]), rng.choice("abc"))
        elif what == 20:
            trace.mark(tw.PHASE, rng.choice(["solve", "exchange", f"phase of {rank % 2}"]))
        elif what == 21:
            trace.recording(rng.randrange(2))
        else:
            trace.function(rng.choice([tw.FUNCTION_ENTER, tw.FUNCTION_EXIT]), rng.choice([0x1010, 0x2020]))
        trace.now += rng.randrange(3000)
    if rng.random() < 0.7:
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=2000)
    else:
        trace.state = rng.choice([tw.RUNNING, tw.ABORTED])
    # A clock that was measured for less than 10 ms counts with its host's best one.
    trace.end_ticks = tw.START_TICKS + rng.choice([10**6, 10**7, 3 * 10**7])
    return trace


def random_profile(folder: Path, seed: int, ranks: int = 7, records: int = 300) -> Path:
    rng = random.Random(seed)
    tw.write_run(folder, [random_rank(rng, rank, ranks, records) for rank in range(ranks)])
    for rank in range(2):
        random_rank(rng, rank, 3, records).write(folder / f"spawn17-rank-{rank:05d}.cwt")
    (folder / "rank-00002.cwt").write_bytes((folder / "rank-00002.cwt").read_bytes()[:100])
    (folder / "rank-99999.cwt").write_bytes(b"not a trace")
    return folder


class Gone(Executor):
    """Its only worker is gone."""

    def submit(self, job: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


def busy_profile(folder: Path, seed: int, ranks: int, rounds: int = 60) -> Path:
    """Ranks on two hosts that really exchange messages and meet in collectives; most wait for each other."""
    rng = random.Random(seed)
    evens = list(range(0, ranks, 2))
    traces = []
    for rank in range(ranks):
        trace = tw.RankTrace(rank, ranks, host=f"host{rank % 2}", node=f"host{rank % 2}")
        trace.sites = {1: 0x1100, 2: 0x2200}
        trace.maps = "1000-3000 r-xp 00000000 00:00 1 /bin/busy\n"
        trace.comms = [("evens", evens)]
        trace.put(tw.PLAIN, "MPI_Init", ticks=rng.randrange(1, 10**5))
        traces.append(trace)
    for step in range(rounds):
        for trace in traces:
            if rng.random() < 0.1:
                trace.mark(tw.PHASE, f"phase {step}")
            trace.now += rng.randrange(2000)
        for _ in range(ranks):
            _message(rng, *rng.sample(traces, 2))
        _meeting(rng, traces, 0)
        _meeting(rng, [traces[rank] for rank in evens], 1)
    for trace in traces:
        trace.put(tw.PLAIN, "MPI_Finalize", ticks=2000)
        trace.end_ticks = tw.START_TICKS + 3 * 10**7
    return tw.write_run(folder, traces)


def _message(rng: random.Random, source: tw.RankTrace, target: tw.RankTrace) -> None:
    """Sent by a call that blocks or not, received at once or in a wait for what was posted."""
    size, tag, site = rng.randrange(1, 10**6), rng.randrange(3), rng.randrange(3)
    cancelled = rng.random() < 0.05
    begun = source.now
    source.put(tw.SEND, rng.choice(["MPI_Send", "MPI_Ssend", "MPI_Isend"]), target.rank, size, 700, site, tag)
    if cancelled:
        now, source.now = source.now, begun
        source.put(tw.CANCEL, "MPI_Isend", target.rank, size, now - begun, tag=tag)
        source.now = now
    elif rng.random() < 0.5:
        target.put(tw.RECEIVE, "MPI_Recv", source.rank, size, rng.randrange(1, 3000), site, tag)
    else:
        peer = source.rank if rng.random() < 0.7 else -3
        posted = target.now
        target.put(tw.POST_RECEIVE, "MPI_Irecv", peer, size, 5, site, tag)
        target.put(tw.PLAIN, "MPI_Waitall", ticks=rng.randrange(1, 3000), site=site)
        now, target.now = target.now, posted
        target.put(tw.ARRIVAL, "MPI_Irecv", source.rank, size, now - posted, tag=tag)
        target.now = now


def _meeting(rng: random.Random, members: list[tw.RankTrace], comm: int) -> None:
    procedure, root = rng.choice([("MPI_Barrier", -1), ("MPI_Allreduce", -1), ("MPI_Bcast", 0)])
    for trace in members:
        ticks = rng.randrange(1, 4000)
        trace.put(tw.COLLECTIVE, procedure, root, 64, ticks, rng.randrange(3), comm=comm)
