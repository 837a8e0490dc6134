"""`corewise bench node --cases contention`: what cores that use memory at the same time leave each other.

Every thread has matrices of its own, in memory that it touched first, and is bound. Threads are added one by
one in an order of processors: *incremental* takes them as the operating system counts them, *alternating*
takes one of each memory domain in turn (paper 004, figures 3.B and 3.A). Rows have the bandwidth in sum,
beside as many times that of one core alone in the same rounds: a ratio of 1 is no contention. Bandwidths
count a matrix once, as what is moved. Times are those of the processor in each thread.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from corewise._core import Machine
from corewise.bench.mpis import output_of
from corewise.bench.programs import SHM_CORE, TRANSPOSE_CORE, Program
from corewise.bench.rounds import beside, middle
from corewise.bench.rows import Listener, Row
from corewise.data.machines import HOST, load_machine
from corewise.errors import CorewiseError, InputError, RunError

INCREMENTAL, ALTERNATING, GIVEN = "incremental", "alternating", "given"
KERNELS: Mapping[str, str] = {
    "blocked": "transpose, blocked C",
    "read-allocate": "transpose, blocked C that reads its target first",
    "streamed": "transpose in registers, past the caches",
    "memcpy": "copy by memcpy",
    "copy-streamed": "copy past the caches",
}
"""What ``bench/node/contention.cpp`` runs."""
LIMIT_S = 600.0
MOST_COUNTS = 16
WORTH = 0.5
"""A core that brings less than this of what one brings alone lies behind the knee."""
_ELEMENT = 16
"""Bytes of a complex double."""
_MEMORY_SHARE = 0.25
"""Of this host's memory, at most, for all matrices together."""
_COPY_CORE = tuple(each for each in SHM_CORE if each.startswith("kernels/"))


@dataclass(frozen=True)
class Order:
    """Processors in the order in which threads are added; ``name`` is part of the rows' ids."""

    name: str
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class Point:
    """One count of threads: GB/s in sum and of the median core, a value per round."""

    count: int
    total: tuple[float, ...]
    per_core: tuple[float, ...]


Curves = Mapping[tuple[str, str], Sequence[Point]]
"""By the name of the order and the kernel; points by rising count, the first is one core alone."""


# ---- orders ------------------------------------------------------------------------------------------------


def memory_domains(machine: Machine, cpus: Sequence[int]) -> list[list[int]]:
    """The processors of each memory domain: NUMA nodes, else packages; one domain where there are neither."""
    found: dict[str, list[int]] = {}
    kinds = {kind for unit in machine.units for kind in ("numa", "package") if _domain(unit.domains, kind)}
    kind = "numa" if "numa" in kinds else "package"
    for unit in machine.units:
        if unit.os_index in cpus:
            found.setdefault(_domain(unit.domains, kind), []).append(unit.os_index)
    return [sorted(each) for _, each in sorted(found.items(), key=lambda item: min(item[1]))]


def _domain(domains: Sequence[str], kind: str) -> str:
    return next((name for name in domains if name.startswith(kind)), "")


def alternating(domains: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """One processor of each domain in turn; of two banks of four: the paper's (i / 2) + (i % 2) * 4."""
    rows = zip_longest(*domains)
    return tuple(cpu for row in rows for cpu in row if cpu is not None)


def orders_of(text: str | None, usable: Sequence[int]) -> list[Order]:
    """The orders to measure: both of the paper's, the one that is named, or the one that is given."""
    everyone = Order(INCREMENTAL, tuple(usable))
    if text == INCREMENTAL:
        return [everyone]
    if text is None or text == ALTERNATING:
        try:
            banked = alternating(memory_domains(load_machine(HOST), usable))
        except CorewiseError:  # no hwloc here
            banked = ()
        banked = banked if sorted(banked) == sorted(usable) else everyone.cpus
        both = [everyone] if banked == everyone.cpus else [everyone, Order(ALTERNATING, banked)]
        return both if text is None else [Order(ALTERNATING, banked)]
    return [Order(GIVEN, _given(text, usable))]


def _given(text: str, usable: Sequence[int]) -> tuple[int, ...]:
    words = text.split(",")
    usual = ", ".join(map(str, usable))
    allowed = (
        f"{INCREMENTAL}, {ALTERNATING}, or some of the processors {usual} with commas between, each once"
    )
    if not all(word.isascii() and word.isdigit() and len(word) < 9 for word in words):
        raise InputError(f"--order: found '{text}', allowed: {allowed}")
    cpus = tuple(int(word) for word in words)
    if len(set(cpus)) < len(cpus) or not set(cpus) <= set(usable):
        raise InputError(f"--order: found '{text}', allowed: {allowed}")
    return cpus


def counts_of(threads: int) -> tuple[int, ...]:
    """Every count of a small node; of a large one `MOST_COUNTS` from the first to the last."""
    if threads <= MOST_COUNTS:
        return tuple(range(1, threads + 1))
    steps = [1 + round(i * (threads - 1) / (MOST_COUNTS - 1)) for i in range(MOST_COUNTS)]
    return tuple(sorted(set(steps)))


# ---- measuring ---------------------------------------------------------------------------------------------


def contention(listener: Listener, side: int, rounds: int, order: str | None = None) -> Curves:
    """Curves of every order and kernel."""
    usable = sorted(os.sched_getaffinity(0))
    orders = orders_of(order, usable)
    counts = counts_of(len(orders[0].cpus))
    side = fitting(side, len(orders[0].cpus), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    core = (*TRANSPOSE_CORE, *_COPY_CORE)
    program = Program("node", "contention", ("contention.cpp",), core, (), ("-pthread",))
    words = [str(side), str(rounds), ",".join(map(str, counts))]
    words += [",".join(map(str, each.cpus)) for each in orders]
    text = output_of([str(program.build(listener)), *words], os.environ, limit_s=LIMIT_S)
    listener.progress(1.0)
    return curves_of(text, side, counts, [each.name for each in orders])


def fitting(side: int, threads: int, memory_bytes: int) -> int:
    """The side, halved until all threads' two matrices are a quarter of the memory at most."""
    while side > 64 and 2 * side * side * _ELEMENT * threads > _MEMORY_SHARE * memory_bytes:
        side //= 2
    return side


def curves_of(text: str, side: int, counts: Sequence[int], orders: Sequence[str]) -> Curves:
    """What the program printed."""
    head, *lines = text.splitlines() or [""]
    kernels = head.split()
    rounds = [[float(word) for word in line.split()] for line in lines]
    wanted = 2 * len(orders) * len(counts) * len(kernels)
    if not kernels or set(kernels) - set(KERNELS) or not rounds or any(len(row) != wanted for row in rounds):
        raise RunError(f"contention: found '{text[:80]}', expected: kernels, then {wanted} times a line")
    moved = 2.0 * side * side * _ELEMENT
    columns = iter(zip(*rounds, strict=True))
    found: dict[tuple[str, str], list[Point]] = {}
    for order in orders:
        for count in counts:
            for kernel in kernels:
                total = tuple(count * moved / ns for ns in next(columns))
                own = tuple(moved / ns for ns in next(columns))
                found.setdefault((order, kernel), []).append(Point(count, total, own))
    return found


# ---- what it says ------------------------------------------------------------------------------------------


def knee(points: Sequence[Point]) -> int | None:
    """The most cores of which each brought at least half of what one brings alone; None: all of them do."""
    alone = statistics.median(points[0].total)
    for before, point in pairwise(points):
        added = statistics.median(point.total) - statistics.median(before.total)
        if added < WORTH * alone * (point.count - before.count):
            return before.count
    return None


def contention_rows(curves: Curves) -> Iterator[Row]:
    """A row per order, kernel and count; then the paper's prefetch, and its banks against counting up."""
    for (order, kernel), points in curves.items():
        for point in points:
            ideal = [point.count * each for each in points[0].total]
            words = f"{KERNELS[kernel]}: {point.count} threads, {order} order"
            more = {"per_core": middle(point.per_core), "order": order, "threads": point.count}
            blank = Row(
                f"node-contention-{order}-{kernel}-{point.count}", words, "GB/s", None,
                f"{point.count} times one core alone", more={**more, "kernel": kernel, "knee": knee(points)},
            )  # fmt: skip
            yield beside(blank, point.total, ideal, more_is_better=True)
    yield from _pairs(curves)


def _pairs(curves: Curves) -> Iterator[Row]:
    for (order, kernel), points in curves.items():
        if kernel == "read-allocate":
            for point, plain in zip(points, curves[order, "blocked"], strict=True):
                words = f"target read first: {point.count} threads, {order} order"
                blank = Row(
                    f"node-contention-prefetch-{order}-{point.count}", words, "GB/s", None, "not read first"
                )
                yield beside(blank, point.total, plain.total, more_is_better=True)
        if order == ALTERNATING and (INCREMENTAL, kernel) in curves:
            for point, other in zip(points, curves[INCREMENTAL, kernel], strict=True):
                words = f"{KERNELS[kernel]}: {point.count} threads, domains in turn"
                blank = Row(
                    f"node-contention-banks-{kernel}-{point.count}", words, "GB/s", None, "as counted"
                )
                yield beside(blank, point.total, other.total, more_is_better=True)


def contention_remarks(curves: Curves) -> Iterator[str]:
    """The knees, and what cannot be seen on this host."""
    for (order, kernel), points in curves.items():
        last = points[-1]
        found = knee(points)
        best = max(statistics.median(each.total) for each in points)
        where = (
            f"no knee up to {last.count} threads" if found is None
            else f"the knee lies at {found} of {last.count} threads"
        )  # fmt: skip
        yield f"{KERNELS[kernel]}, {order} order: {where}; at most {best:.4g} GB/s"
    if not any(order == ALTERNATING for order, _ in curves) and any(
        order == INCREMENTAL for order, _ in curves
    ):
        yield "one memory domain, or several that are counted in turn: there is no other order by banks"
