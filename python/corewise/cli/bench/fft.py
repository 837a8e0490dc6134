"""`corewise bench fft`: a 2D transform, beside what people use now.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from pathlib import Path

import typer

from corewise.base import late
from corewise.bench.fft.study import ALL, CASES
from corewise.cli.bench import shared
from corewise.errors import InputError

with late.imports():
    from corewise.bench.fft.study import Request, run_bench

_HELP = """Measure how long a two-dimensional FFT of complex doubles takes on two cores.

rivals: corewise's fft2d, which folds the transpose into its second pass, beside FFTW MPI, FFTW's
threads, DUCC and mpi4py-fft. Every row says in which order the results of both are.
forms: the forms of paper 004 (section 8) beside its pure-MPI form: by non-blocking all-to-alls, by a
dataflow with a communicator, in shared memory, and without communication.
idle: pure MPI on all processors and on one less, in turns (section 7).
overlap: two ranks on a link that is slowed down, computing meanwhile and not.
All take turns: a contestant is started once (of overlap anew every fifth round), plans, and
waits without a core. Where FFTW is absent, fft2d is built on DUCC, whose sources pip fetches.

\b
Example:
  corewise bench fft --quick
  corewise bench fft --size 4096 --peers build/peers/bin/python --check
  corewise bench fft --cases overlap --json
"""
_CASES = typer.Option(ALL, "--cases", help=f"What is measured: {', '.join(CASES)} or {ALL}.")
_SIZE = typer.Option(None, "--size", help="Side of the matrix, 16 to 16384; may be given several times.")
_PEERS = typer.Option(
    None,
    "--peers",
    metavar="PYTHON",
    help="A Python that has ducc0 and mpi4py-fft; they are left out without.",
)
_SMALLEST, _LARGEST = 16, 16384


def register(group: typer.Typer) -> None:
    """Adds `fft` to the group `bench`."""
    group.command("fft", help=_HELP)(bench_fft)


def bench_fft(
    cases: str = _CASES,
    mpi: str | None = shared.MPI,
    size: list[int] | None = _SIZE,
    peers: Path | None = _PEERS,
    rounds: int | None = shared.ROUNDS,
    quick: bool = shared.QUICK,
    check: bool = shared.CHECK,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Measures transforms."""
    for each in size or ():
        if not _SMALLEST <= each <= _LARGEST:
            raise InputError(f"--size: found {each}, allowed: {_SMALLEST} to {_LARGEST}")
    if peers is not None and not peers.is_file():
        raise InputError(f"--peers: found '{peers}', allowed: a Python interpreter")
    request = Request(cases, mpi, peers, tuple(size or ()), rounds, quick)
    shared.measure_and_show(
        "fft", lambda listener: run_bench(listener, request), as_json=as_json, check=check
    )
