"""Measures this host: latencies of all pairs of CPUs, and bandwidths of the levels that they show.

Passes over all pairs take turns, each in another order; a pair's latency is the median over passes of its
fastest sample, so that somebody else's work on a processor shows only where it lasts. The plan says
beforehand how much is measured and about how long that takes; the time limit ends passes early, never in
the middle of one that is the first.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from corewise import _core
from corewise.analysis.latency.levels import Matrix
from corewise.analysis.latency.streams import MOST_STREAMS, StreamJob, StreamRate
from corewise.errors import RunError

SAMPLES, ROUND_TRIPS = 7, 150
BYTES = 128 << 10
ROUNDS = 31
MOST_PASSES = 25
STREAM_PASSES = 9
_PAIR_S = 0.0015
"""Of one pair in one pass: two threads begin and end, and 1,200 round trips of some 500 ns."""
_JOB_S = 0.03
"""Of one set of streams in one pass, threads included."""
_READ_BYTES_PER_S = 2e9
"""Of a stream whose bytes are in memory, written anew before each read."""
_LEVELS = 4
_LATENCY_SHARE = 0.7

Tell = Callable[[float], None]


@dataclass(frozen=True)
class ProbePlan:
    """How much will be measured.

    Attributes
    ----------
    cpus : those that this process may use.
    pairs : of CPUs.
    passes : over all pairs.
    jobs : sets of streams, at most: how many levels there are is known only after the latencies.
    seconds : about how long all takes.
    limit_s : when passes end early.
    read_bytes : that a stream reads at a time.
    """

    cpus: tuple[int, ...]
    pairs: int
    passes: int
    jobs: int
    seconds: float
    limit_s: float
    read_bytes: int = BYTES


def plan_for(cpus: Sequence[int], limit_s: float, read_bytes: int = BYTES) -> ProbePlan:
    """What fits into the limit; `RunError` where there is no pair to measure."""
    if len(cpus) < 2:
        only = ", ".join(map(str, cpus)) or "none"
        raise RunError(
            f"probe measures between CPUs, and this process may use only one of them ({only}); "
            "taskset and the job's launcher set which"
        )
    pairs = len(cpus) * (len(cpus) - 1) // 2
    passes = int(limit_s * _LATENCY_SHARE / (pairs * _PAIR_S))
    passes = max(1, min(MOST_PASSES, passes))
    doublings = int(np.log2(min(MOST_STREAMS, len(cpus) // 2))) if len(cpus) > 3 else 0
    jobs = min(_LEVELS, len(cpus) - 1) * (2 + doublings)
    job_s = _JOB_S + ROUNDS * read_bytes / _READ_BYTES_PER_S
    seconds = passes * pairs * _PAIR_S + STREAM_PASSES * jobs * job_s
    return ProbePlan(tuple(cpus), pairs, passes, jobs, seconds, limit_s, read_bytes)


class Deadline:
    """When passes end."""

    def __init__(self, limit_s: float) -> None:
        self._end = time.monotonic() + limit_s

    def passed(self) -> bool:
        """Whether the limit is reached."""
        return time.monotonic() >= self._end


def measure_latencies(plan: ProbePlan, deadline: Deadline, tell: Tell) -> tuple[Matrix, int]:
    """One-way nanoseconds between the plan's CPUs, in their order, and how many passes there were."""
    count = len(plan.cpus)
    one, other = np.triu_indices(count, 1)
    random = np.random.default_rng(1)
    passes: list[Matrix] = []
    for done in range(plan.passes):
        values = np.zeros(plan.pairs)
        for step, pair in enumerate(random.permutation(plan.pairs).tolist()):
            ends = (plan.cpus[one[pair]], plan.cpus[other[pair]])
            values[pair] = min(_core.time_exchanges(*ends, SAMPLES, ROUND_TRIPS))
            tell((done + (step + 1) / plan.pairs) / plan.passes)
        passes.append(values)
        if deadline.passed():
            break
    matrix = np.zeros((count, count))
    matrix[one, other] = np.median(passes, axis=0)
    return matrix + matrix.T, len(passes)


def measure_streams(
    jobs: Sequence[StreamJob], deadline: Deadline, tell: Tell, read_bytes: int = BYTES
) -> list[StreamRate]:
    """GB/s of each job's streams; jobs that the limit left no time for are left out."""
    times: list[list[list[float]]] = [[] for _ in jobs]
    random = np.random.default_rng(2)
    for done in range(STREAM_PASSES):
        for step, index in enumerate(random.permutation(len(jobs)).tolist()):
            if done and deadline.passed():
                break
            measured = _core.time_reads(jobs[index].readers, read_bytes, ROUNDS)
            times[index].append([statistics.median(row) for row in measured.tolist()])
            tell((done + (step + 1) / len(jobs)) / STREAM_PASSES)
    return [_rate(job, passes, read_bytes) for job, passes in zip(jobs, times, strict=True) if passes]


def _rate(job: StreamJob, passes: Sequence[Sequence[float]], read_bytes: int) -> StreamRate:
    """Bytes per nanosecond are GB/s; those that only write took no time."""
    medians = [statistics.median(each) for each in zip(*passes, strict=True)]
    return StreamRate(job, tuple(read_bytes / median for median in medians if median > 0))
