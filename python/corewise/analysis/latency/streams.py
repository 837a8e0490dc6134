"""Which cores read from which, so that the bandwidth of a level shows, alone and together.

A level's link carries what goes from one of its nodes to the node beside it. Streams from distinct cores of
the one to distinct cores of the other, more and more of them, show what they share: together they are as
quick as one alone times their number, or the link is full.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corewise.analysis.latency.groups import Group
from corewise.analysis.latency.links import LatencyTree

MOST_STREAMS = 16
FULL = 0.8
"""Streams together that reach less than this share of as many alone share something."""


@dataclass(frozen=True)
class StreamJob:
    """Cores that read together.

    Attributes
    ----------
    level : index into the tree's levels, outermost first.
    pairs : (writer, reader) of each stream, CPUs.
    both : whether the writer reads from the reader, too.
    """

    level: int
    pairs: tuple[tuple[int, int], ...]
    both: bool

    @property
    def readers(self) -> list[tuple[int, int]]:
        """As `corewise._core.time_reads` takes them: (CPU, index of the one it reads from)."""
        listed: list[tuple[int, int]] = []
        for writer, reader in self.pairs:
            at = len(listed)
            listed += [(writer, at + 1 if self.both else -1), (reader, at)]
        return listed


@dataclass(frozen=True)
class StreamRate:
    """GB/s of each stream of a job; with `both`, of each direction of each."""

    job: StreamJob
    each_gb_per_s: tuple[float, ...]

    @property
    def together_gb_per_s(self) -> float:
        """All streams at once."""
        return sum(self.each_gb_per_s)


@dataclass(frozen=True)
class LevelRate:
    """What was measured of a level's links.

    Attributes
    ----------
    alone_gb_per_s : one stream.
    both_gb_per_s : each direction of two cores that read from each other; 0 where not measured.
    together_gb_per_s : of as many streams as carried the most.
    streams : how many those are.
    shared : whether they were slower than as many alone.
    """

    level: int
    alone_gb_per_s: float
    both_gb_per_s: float
    together_gb_per_s: float
    streams: int
    shared: bool


def stream_jobs(tree: LatencyTree) -> list[StreamJob]:
    """For every level one stream alone, both ways, and 2, 4, 8 ... streams together."""
    return [job for index in range(len(tree.levels)) for job in _jobs_of(tree, index)]


def _jobs_of(tree: LatencyTree, level: int) -> Iterator[StreamJob]:
    neighbours = _two_nodes(tree, level)
    if neighbours is None:
        return
    writers, readers = (_cores(node)[:MOST_STREAMS] for node in neighbours)
    pairs = tuple(zip(writers, readers, strict=False))
    yield StreamJob(level, pairs[:1], both=False)
    yield StreamJob(level, pairs[:1], both=True)
    count = 2
    while count <= len(pairs):
        yield StreamJob(level, pairs[:count], both=False)
        count *= 2


def _two_nodes(tree: LatencyTree, level: int) -> tuple[Group, Group] | None:
    """The first two nodes that hang on one node of the level above."""
    at = 0
    for count in tree.levels[level].counts:
        if count > 1:
            return tree.levels[level].parts[at], tree.levels[level].parts[at + 1]
        at += count
    return None


def _cores(group: Group) -> list[int]:
    """One CPU of each core."""
    if group.is_core or not group.parts:
        return [group.cpus[0]]
    return [cpu for part in group.parts for cpu in _cores(part)]


def level_rates(rates: Sequence[StreamRate]) -> list[LevelRate]:
    """What the jobs say of each level; levels without a stream alone are left out."""
    found = []
    for level in sorted({rate.job.level for rate in rates}):
        own = [rate for rate in rates if rate.job.level == level]
        one_way = [rate for rate in own if not rate.job.both]
        alone = next((rate for rate in one_way if len(rate.job.pairs) == 1), None)
        if alone is None:
            continue
        both = [rate.together_gb_per_s / 2 for rate in own if rate.job.both]
        most = max(one_way, key=lambda rate: rate.together_gb_per_s)
        widest = max(one_way, key=lambda rate: len(rate.job.pairs))
        fair = alone.together_gb_per_s * len(widest.job.pairs)
        found.append(
            LevelRate(
                level,
                alone.together_gb_per_s,
                both[0] if both else 0.0,
                most.together_gb_per_s,
                len(most.job.pairs),
                widest.together_gb_per_s < FULL * fair,
            )
        )
    return found
