"""`corewise bench node`: transposes in registers, and work that threads share out.

``transpose``: complex doubles on one thread, against blocked C; power-of-two rows and padded ones. Times are
those of the processor in that thread, so that other programs count only by what they do to caches. Floor: a
copy of as many bytes past the caches.

``shares``: the same transpose by several threads, each way of sharing against static blocks in the same
round. These are wall times.

``contention``: the same on one core and on more, in `corewise.bench.node.contention`.

``noise``: what the system takes from cores that only compute, in `corewise.bench.node.noise`.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corewise.base import late
from corewise.base.files import check_target
from corewise.bench.node import ALL, CASES
from corewise.bench.peers import Peer
from corewise.bench.programs import SHM_CORE
from corewise.errors import InputError, RunError

with late.imports():
    from corewise.bench.mpis import output_of
    from corewise.bench.node.contention import contention, contention_remarks, contention_rows
    from corewise.bench.node.noise import measure_noise, noise_remarks, noise_rows
    from corewise.bench.programs import TRANSPOSE_CORE, Program, has_header
    from corewise.bench.rounds import beside, middle, rounded
    from corewise.bench.rows import Listener, Outcome, Row
    from corewise.data.noise import save_noise

ONETBB = Peer("oneTBB", "apt install libtbb-dev (Debian)")
PADDING = 4
"""Elements that a padded row has more."""
TRANSPOSE_DEMAND = 2.0
UNIFORM_DEMAND = round(1 / 1.05, 3)
DISTURBED_DEMAND = 1.5
LIMIT_S = 600.0
_COPY_CORE = tuple(each for each in SHM_CORE if each.startswith("kernels/"))
BLOCKED = "blocked C, 32x32"
STATIC = "static blocks"
_BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY")


@dataclass(frozen=True)
class Effort:
    """How much is measured: rounds, sides of transposed matrices, and of shared ones."""

    rounds: int
    sides: tuple[int, ...]
    shared_side: int
    cached_side: int = 256
    """Source and target take 2 MB together: what a core touched is still in its cache the next time."""


FULL = Effort(21, (1024, 2048, 4096), 2048)
QUICK = Effort(7, (1024,), 1024)
KINDS: Mapping[str, str] = {
    "uniform": "blocks of one length",
    "uneven": "the last blocks take four times as long as the first",
    "disturbed": "two other threads on the first processor",
    "loaded": "another thread, bound nowhere, takes a tenth of a processor",
    "repeated": "a matrix that fits the caches, eight times over",
    "empty": "no work: the sharing alone",
}
"""What ``bench/node/bench_shares.cpp`` does."""
WAYS: Mapping[str, str] = {
    "counter": "a shared counter",
    "mutex": "a counter under a mutex (paper 004)",
    "deques": "deques with stealing",
    "flow-static": "overlap's flow, static",
    "flow-dynamic": "overlap's flow, dynamic",
    "openmp": "OpenMP, schedule(dynamic)",
    "onetbb": "oneTBB, parallel_for",
}
DEMANDED = ("counter", "deques", "flow-dynamic")
"""Ours among the dynamic ways."""
GRANULES = (16, 32, 64)
"""Rows of a block: the paper's halves and doubles (section 6)."""


@dataclass(frozen=True)
class Request:
    """What is measured.

    Attributes
    ----------
    cases : one of `CASES`, or all.
    rounds : of each contestant; None for what the effort has.
    quick : whether little is measured.
    order : of processors, for contention; None for the paper's two.
    noise_file : where the noise is written; None for nowhere.
    """

    cases: str = ALL
    rounds: int | None = None
    quick: bool = False
    order: str | None = None
    noise_file: Path | None = None


def run_bench(listener: Listener, request: Request) -> Outcome:
    """Rows of the cases that are wanted."""
    if request.cases not in (ALL, *CASES):
        raise InputError(f"--cases: found '{request.cases}', allowed: {', '.join((*CASES, ALL))}")
    effort = QUICK if request.quick else FULL
    effort = replace(effort, rounds=request.rounds) if request.rounds else effort
    wanted = CASES if request.cases == ALL else (request.cases,)
    if request.order is not None and "contention" not in wanted:
        raise InputError(f"--order: found with --cases {request.cases}, allowed: with contention")
    if request.noise_file is not None:
        _check_noise_file(request.noise_file, wanted)
    rows: list[Row] = []
    remarks: list[str] = []
    for index, case in enumerate(wanted):
        part = listener.part(index / len(wanted), (index + 1) / len(wanted))
        found = _case(case, part, effort, request)
        rows += found.rows
        remarks += found.remarks
    absent = () if "shares" not in wanted or _has_onetbb() else (ONETBB,)
    return Outcome("node", tuple(rows), absent, tuple(remarks))


def _case(case: str, listener: Listener, effort: Effort, request: Request) -> Outcome:
    if case == "contention":
        curves = contention(listener, effort.shared_side, effort.rounds, request.order)
        return Outcome("node", tuple(contention_rows(curves)), (), tuple(contention_remarks(curves)))
    if case == "noise":
        return _noise(listener, effort, request)
    rows = transposes(listener, effort) if case == "transpose" else shares(listener, effort)
    return Outcome("node", tuple(rows))


def _check_noise_file(file: Path, wanted: Sequence[str]) -> None:
    if "noise" not in wanted:
        raise InputError(f"--noise-file: found with --cases {wanted[0]}, allowed: with noise")
    if len(os.sched_getaffinity(0)) < 2:
        raise InputError(
            f"--noise-file: found '{file}' on one processor, allowed: where one can be left idle"
        )
    check_target(file)


def _noise(listener: Listener, effort: Effort, request: Request) -> Outcome:
    study = measure_noise(listener, effort.rounds, quick=request.quick)
    record = study.record()
    if request.noise_file is not None and record is not None:
        save_noise(record, request.noise_file)
        listener.note(f"{request.noise_file} written")
    return Outcome("node", tuple(noise_rows(study)), (), tuple(noise_remarks(study)))


# ---- transposes --------------------------------------------------------------------------------------------


def transposes(listener: Listener, effort: Effort) -> Iterator[Row]:
    """Rows by side and padding."""
    core = (*TRANSPOSE_CORE, *_COPY_CORE)
    program = Program("node", "bench_transpose", ("bench_transpose.cpp",), core).build(listener)
    shapes = [(side, side + padding) for side in effort.sides for padding in (0, PADDING)]
    for index, (side, stride) in enumerate(shapes):
        text = output_of(
            [str(program), str(side), str(stride), str(effort.rounds)], os.environ, limit_s=LIMIT_S
        )
        yield from transpose_rows(side, stride, numbers(text.splitlines()))
        listener.progress((index + 1) / len(shapes))


def transpose_rows(side: int, stride: int, rounds: Sequence[Sequence[float]]) -> Iterator[Row]:
    """The kernel past the caches, the one through them, and the paper's prefetch."""
    blocked, touched, cached, streamed, copied = (
        [ns / 1e6 for ns in each] for each in zip(*rounds, strict=True)
    )
    shape = f"{side}x{side} complex doubles, rows {stride} apart"
    floor = middle(copied)

    def row(kind: str, ours: Sequence[float], words: str, demand: float | None = None) -> Row:
        median = middle(ours)
        share = rounded(floor / median) if floor and median else None
        name = f"node-transpose-{side}{'-padded' if stride > side else ''}{kind}"
        blank = Row(name, f"{words}, {shape}", "ms of a processor", None, BLOCKED, floor=floor, demand=demand)
        return replace(beside(blank, ours, blocked), more={"share_of_copy": share})

    yield row("", streamed, "transpose in registers, past the caches", TRANSPOSE_DEMAND)
    yield row("-cached", cached, "transpose in registers, through the caches")
    yield row("-read-allocate", touched, "blocked C with the target read first (paper 004, section 8.3)")


def numbers(lines: Sequence[str]) -> list[list[float]]:
    """A list per line."""
    return [[float(word) for word in line.split()] for line in lines]


# ---- shares ------------------------------------------------------------------------------------------------


def _has_onetbb() -> bool:
    return has_header("tbb/parallel_for.h")


def shares_program(listener: Listener) -> Path:
    """With oneTBB among the ways where it is installed."""
    flags = ("-fopenmp", *(("-DCOREWISE_TBB",) if _has_onetbb() else ()))
    libraries = ("-fopenmp", "-pthread", *(("-ltbb",) if _has_onetbb() else ()))
    return Program("node", "bench_shares", ("bench_shares.cpp",), TRANSPOSE_CORE, flags, libraries).build(
        listener
    )


@dataclass(frozen=True)
class Sharing:
    """One launch: what is shared, its side, by how many threads, in blocks of how many rows."""

    kind: str
    side: int
    threads: int
    granule: int


def sharings(effort: Effort, processors: int) -> list[Sharing]:
    """All kinds with all processors; uniform work with fewer threads and other granules, too."""
    middle_granule = GRANULES[1]
    found = [
        Sharing(
            kind, effort.cached_side if kind == "repeated" else effort.shared_side, processors, middle_granule
        )
        for kind in KINDS
    ]
    found += [
        Sharing("uniform", effort.shared_side, threads, middle_granule)
        for threads in sorted({1, processors // 2, 3 * processors // 4} - {0, processors})
    ]
    return found + [
        Sharing("uniform", effort.shared_side, processors, each)
        for each in GRANULES
        if each != middle_granule
    ]


def shares(listener: Listener, effort: Effort) -> Iterator[Row]:
    """Rows by what is shared and by the way."""
    program = shares_program(listener)
    wanted = sharings(effort, len(os.sched_getaffinity(0)))
    # Where OpenMP binds threads it binds the first one before main, and all others inherit that.
    environment = {name: value for name, value in os.environ.items() if name not in _BINDING}
    environment["OMP_WAIT_POLICY"] = "passive"
    for index, each in enumerate(wanted):
        words = [each.kind, each.side, each.threads, each.granule, effort.rounds]
        text = output_of([str(program), *map(str, words)], environment, limit_s=LIMIT_S)
        yield from sharing_rows(each, text)
        listener.progress((index + 1) / len(wanted))


def sharing_rows(sharing: Sharing, text: str) -> Iterator[Row]:
    """A row per way, beside static blocks in the same rounds."""
    names, *lines = text.splitlines()
    ways = names.split()
    if not ways or ways[0] != "static":
        raise RunError(f"bench_shares: found '{names}' in its first line, expected: static and other ways")
    times = list(zip(*numbers(lines), strict=True))
    fixed = [ns / 1e6 for ns in times[0]]
    end = f"{sharing.kind}-{sharing.threads}-{sharing.granule}"
    for way, measured in list(zip(ways, times, strict=True))[1:]:
        what = (
            f"{WAYS[way]}: {sharing.threads} threads, {KINDS[sharing.kind]}, "
            f"blocks of {sharing.granule} rows of {sharing.side}"
        )
        demand = demanded(sharing, way)
        blank = Row(f"node-shares-{way}-{end}", what, "ms", None, STATIC, demand=demand)
        yield beside(blank, [ns / 1e6 for ns in measured], fixed)


def demanded(sharing: Sharing, way: str) -> float | None:
    """Of dynamic ways: little loss where static is best, much gain where a core is disturbed."""
    if way not in DEMANDED or sharing.threads < 2:
        return None
    return {"uniform": UNIFORM_DEMAND, "disturbed": DISTURBED_DEMAND}.get(sharing.kind)
