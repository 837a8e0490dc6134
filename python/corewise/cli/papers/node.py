"""`corewise paper node`: runs the benchmarks that paper 004 asks for, and hands their rows to its study.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import typer

from corewise.base import late
from corewise.cli import console
from corewise.errors import InputError
from corewise.papers.node import SECTIONS

with late.imports():
    from corewise.analysis.noise.records import node_noise
    from corewise.analysis.noise.spare import FEWEST_CORES
    from corewise.analysis.result import PaperResult, Progress
    from corewise.bench.copy.study import Wanted
    from corewise.bench.copy.study import run_bench as run_copy
    from corewise.bench.fft import study as fft
    from corewise.bench.fft.engines import lacks_engine
    from corewise.bench.node import study as node
    from corewise.bench.pack import study as pack
    from corewise.bench.pack.views import bench_figures
    from corewise.bench.rows import Listener, Outcome
    from corewise.data.copy_hosts import host_name
    from corewise.data.noise import TEXT, NoiseRecord, described_noise, load_noise
    from corewise.mpi.find import find_all
    from corewise.papers.node import transforms
    from corewise.papers.node.data import Found, Measured, Statement, Transformed, Underused
    from corewise.papers.node.study import run_paper, underused

HELP = """Repeat paper 004, the node itself: its figures and findings, published beside measured here.

Copies of 40 MB (section 3), packing (4, figures 1 and 2), contention for the memory (5, figure 3), static and
dynamic shares (6, figure 4), seven and eight processes a node (7, figure 5 of the text; modelled, with any
noise), the threaded FFT beside pure MPI (8; figure 8 is simulated). Says where today's hardware disagrees.
--section runs a part.

\\b
Example:
  corewise paper node --quick --out figures
  corewise paper node --section 7 --noise rate=100,length=1ms
"""
SECTION = typer.Option(
    [], "--section", metavar="N", help=f"Only this one, of {', '.join(map(str, SECTIONS))}; repeatable."
)
NOISE = typer.Option(
    None,
    "--noise",
    metavar="FILE|TEXT",
    help="Of section 7: a file of bench node --noise-file, or a text (rate=10,length=50us).",
)
PAPER_COPY = 40_000_000
"""Bytes of section 3's copies."""
_KERNELS = ("naive", "read_allocate", "four_stream")


def check(sections: list[int], noise: str | None) -> tuple[tuple[int, ...], NoiseRecord]:
    """What is to be run; an `InputError` before anything is."""
    for each in sections:
        if each not in SECTIONS:
            allowed = ", ".join(map(str, SECTIONS))
            raise InputError(f"option '--section': found {each}, allowed: {allowed}")
    text = noise or TEXT
    is_text = "=" in text and not Path(text).exists()
    record = described_noise(text, "--noise") if is_text else load_noise(Path(text))
    if 0 < record.cores < FEWEST_CORES:
        raise InputError(
            f"option '--noise': found noise of {record.cores} processors in {text}, "
            f"allowed: of {FEWEST_CORES} and more"
        )
    return _here(tuple(sorted(set(sections)))), record


def _here(named: tuple[int, ...]) -> tuple[int, ...]:
    """What this host can run: a section that is named and cannot be is an error, another one is left out."""
    lacks = {}
    if not find_all():
        lacks = {4: "no MPI", 8: "no MPI"}
    elif (not named or 8 in named) and (lack := lacks_engine(Listener(note=console.note))) is not None:
        lacks = {8: lack}
    for section in named:
        if section in lacks:
            raise InputError(
                f"option '--section': found {section}, but {lacks[section]} is here, allowed: others"
            )
    if not named and lacks:
        console.note("; ".join(f"section {section} left out: {why} here" for section, why in lacks.items()))
    return named or tuple(section for section in SECTIONS if section not in lacks)


def study(sections: tuple[int, ...], noise: NoiseRecord, quick: bool, advance: Progress) -> PaperResult:
    """Runs what is wanted."""
    parts: Mapping[int, Callable[[Listener], Outcome | None]] = {
        5: lambda listener: node.run_bench(listener, node.Request("contention", quick=quick)),
        6: lambda listener: node.run_bench(listener, node.Request("shares", quick=quick)),
        8: lambda listener: fft.run_bench(listener, fft.Request("forms", quick=quick)),
    }
    copies: Mapping[str, float] = {}
    packing: pack.BenchResult | None = None
    modelled: list[Underused] = []
    simulated: list[Transformed] = []
    rows: dict[str, Measured] = {}
    whole = Listener(advance, console.note)
    for index, section in enumerate(sections):
        listener = whole.part(index / len(sections), (index + 1) / len(sections))
        if section == 3:
            copies = _copies(quick, listener)
        elif section == 4:
            # The paper compares ways without our library: what lost with it need not be measured again.
            effort = pack.QUICK if quick else replace(pack.FULL, again=())
            packing = pack.run_bench(parts=("paper",), effort=effort, progress=listener.progress)
        elif section == 7:
            modelled = list(underused(node_noise(noise), quick=quick, progress=listener.progress))
        elif (outcome := parts[section](listener)) is not None:
            rows |= measured(outcome)
        if section == 8:
            simulated = transforms.transformed(transforms.QUICK if quick else transforms.FULL)
    figures = tuple(bench_figures(packing)) if packing else ()
    said, cores = _statements(packing), len(os.sched_getaffinity(0))
    source = node_noise(noise).source
    return run_paper(Found(host_name(), cores, copies, said, figures, rows, source, modelled, simulated))


def measured(outcome: Outcome) -> dict[str, Measured]:
    """Rows of a benchmark as the paper takes them."""
    return {row.id: Measured(row.ours, row.theirs, row.ratio, row.spread, row.more) for row in outcome.rows}


def _copies(quick: bool, listener: Listener) -> dict[str, float]:
    """MB/s of the paper's kernels and memcpy."""
    result = run_copy(Wanted(sizes=(PAPER_COPY,), kernels=_KERNELS, quick=quick), listener.progress)
    (found,) = result.copies
    medians = [statistics.median(column) for column in found.times.T.tolist()]
    return {name: 1e3 * found.bytes / ns for name, ns in zip(found.names, medians, strict=True)}


def _statements(packing: pack.BenchResult | None) -> tuple[Statement, ...]:
    claims = packing.claims if packing else ()
    return tuple(Statement(each.setting, each.what, each.reproduced, each.found) for each in claims)
