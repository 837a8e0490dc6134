"""apps/fft2d under both MPIs, against NumPy: every form, awkward sizes, every setting of its flow.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import random
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from conftest import ROOT, Mpi, find_mpi

from corewise.bench.fft.engines import ducc_engine, ducc_sources
from corewise.bench.fft.study import share_of
from corewise.bench.programs import has_header
from corewise.bench.rows import Listener
from corewise.errors import RunError

pytestmark = pytest.mark.first_test

Matrix = npt.NDArray[np.complex128]
TOLERANCE = 1e-12
DISTRIBUTED = ("blocking", "nonblocking", "dataflow", "shared")
FLAGS = ("-O0", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'src'}", "-pthread")
KERNELS = [
    ROOT / "build" / "release" / "src" / room / f"libcorewise_{name}.a"
    for room, name in (("kernels", "kernels_transpose"), ("kernels", "kernels"), ("base", "base"))
]
QUIET = {"OMPI_MCA_osc": "^ucx"}
"""Not the wheel's complaint about a component of one-sided communication that is not there."""

_spec = importlib.util.spec_from_file_location("turns", ROOT / "bench" / "fft" / "turns.py")
assert _spec is not None and _spec.loader is not None
turns = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(turns)


def build(mpi: Mpi, folder: Path, flags: Sequence[str], more: Sequence[Path]) -> Path:
    sources = sorted((ROOT / "apps" / "fft2d").glob("*.cpp"))
    return mpi.build(folder / "fft2d", *sources, *more, flags=flags)


@pytest.fixture(scope="session", params=["mpich", pytest.param("openmpi", marks=pytest.mark.long_test)])
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Open MPI's launches take several times as long; `test_open_mpi_too` is its short test."""
    return find_mpi(request.param)


@pytest.fixture(scope="session")
def fft2d(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, with the kernels that `make cpp` has built."""
    if not has_header("fftw3.h"):
        pytest.skip("capability: no FFTW (libfftw3-dev)")
    return build(mpi, tmp_path_factory.mktemp(f"fft2d-{mpi.name}"), FLAGS, [*KERNELS, Path("-lfftw3")])


def run(mpi: Mpi, program: Path, ranks: int, *words: object) -> subprocess.CompletedProcess[str]:
    done = mpi.run(ranks, program, words, env=QUIET, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def original(rows: int, columns: int, seed: int) -> Matrix:
    made: Matrix = turns.part_of_input(0, rows * columns, seed).reshape(rows, columns)
    return made


def written(path: Path, rows: int, columns: int, *, natural: bool) -> Matrix:
    """The result as rows by columns; a transposed one lies column by column."""
    values = np.fromfile(path, np.complex128)
    return values.reshape(rows, columns) if natural else values.reshape(columns, rows).T


def error(found: Matrix, wanted: Matrix) -> float:
    """The largest difference, over the largest element."""
    return float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted)))


def cases() -> list[tuple[str, int, int, int, int]]:
    """Form, ranks, threads, rows, columns: random sizes, and those that leave some without work."""
    random.seed(22)
    found = [
        ("serial", 1, 1, 30, 70),
        ("serial", 1, 1, 1, 1),
        ("shared", 1, 3, 128, 64),
        ("dataflow", 1, 2, 64, 96),
    ]
    for form in DISTRIBUTED:
        found.append((form, 2, 2, 37, 41))  # primes
        found.append((form, 3, 1, random.randrange(2, 200), random.randrange(2, 200)))
        found.append((form, 5, 2, 3, 7))  # more ranks than rows
    return [*found, ("dataflow", 16, 1, 40, 33), ("shared", 16, 1, 33, 50), ("dataflow", 2, 4, 1, 255)]


@pytest.mark.parametrize(("form", "ranks", "threads", "rows", "columns"), cases())
def test_the_result_is_numpys(
    mpi: Mpi, fft2d: Path, tmp_path: Path, form: str, ranks: int, threads: int, rows: int, columns: int
) -> None:
    natural = (rows + ranks) % 2 == 0
    words = ["--size", f"{rows}x{columns}", "--form", form, "--threads", threads, "--seed", rows, "--check"]
    words += ["--order", "natural" if natural else "transposed", "--write", tmp_path / "out", "--repeat", 1]
    done = run(mpi, fft2d, ranks, *words)
    assert "check=passed" in done.stdout
    found = written(tmp_path / "out", rows, columns, natural=natural)
    assert error(found, np.fft.fft2(original(rows, columns, rows))) < TOLERANCE


@pytest.mark.parametrize("form", ["serial", *DISTRIBUTED])
def test_the_inverse_is_numpys_and_the_mask_is_a_gaussian_of_whole_distances(
    mpi: Mpi, fft2d: Path, tmp_path: Path, form: str
) -> None:
    rows, columns, width = 24, 35, 4.5
    ranks = 1 if form == "serial" else 2
    words = ["--size", f"{rows}x{columns}", "--form", form, "--inverse", "--mask", width, "--repeat", 1]
    run(mpi, fft2d, ranks, *words, "--write", tmp_path / "out")
    y = np.minimum(np.arange(rows), rows - np.arange(rows))
    x = np.minimum(np.arange(columns), columns - np.arange(columns))
    distances = np.floor(np.hypot(y[:, None], x[None, :]) + 0.5)
    wanted = np.fft.ifft2(original(rows, columns, 1)) * np.exp(-((distances / width) ** 2) / 2)
    assert error(written(tmp_path / "out", rows, columns, natural=False), wanted) < TOLERANCE


def test_open_mpi_too(tmp_path: Path) -> None:
    if not has_header("fftw3.h"):
        pytest.skip("capability: no FFTW (libfftw3-dev)")
    openmpi = find_mpi("openmpi")
    program = build(openmpi, tmp_path, FLAGS, [*KERNELS, Path("-lfftw3")])
    for form in ("dataflow", "shared"):
        run(openmpi, program, 2, "--size", "45x64", "--form", form, "--write", tmp_path / "out", "--check")
        found = written(tmp_path / "out", 45, 64, natural=False)
        assert error(found, np.fft.fft2(original(45, 64, 1))) < TOLERANCE


@pytest.mark.long_test  # compiles it all; tests/python/bench/test_fft_engines.py has the engine alone
def test_ducc_in_place_of_fftw(tmp_path: Path) -> None:
    try:
        engine = ducc_engine(ducc_sources(Listener()))
    except RunError as lack:
        pytest.skip(f"capability: no sources of DUCC: {lack}")
    mpich = find_mpi("mpich")
    flags = [each for each in FLAGS if each != "-Werror"]  # they are not all ours
    program = build(mpich, tmp_path, [*flags, *engine.flags], [*map(Path, engine.sources), *KERNELS])
    # Small factors, primes, and a length that no small factor divides.
    cases = (("shared", 1, 3, 64, 96), ("dataflow", 2, 2, 37, 41), ("blocking", 3, 1, 7, 2042))
    for form, ranks, threads, rows, columns in cases:
        words = ["--size", f"{rows}x{columns}", "--form", form, "--threads", threads, "--repeat", 1]
        done = run(mpich, program, ranks, *words, "--check", "--write", tmp_path / "out")
        assert "engine=ducc0 " in done.stdout and "check=passed" in done.stdout
        found = written(tmp_path / "out", rows, columns, natural=False)
        assert error(found, np.fft.fft2(original(rows, columns, 1))) < TOLERANCE


def settings() -> list[tuple[str, ...]]:
    names = (("dedicated", "mixed"), ("dynamic", "static"), ("blocking", "spinning"))
    found = list(
        itertools.product(*names, ("worker", "communicator"), ("messages", "collectives"), ("yes", "no"))
    )
    return found[::5]  # every value of each, with every value of its neighbours


@pytest.mark.parametrize("setting", settings(), ids="-".join)
def test_every_setting_of_the_flow_gives_the_result(mpi: Mpi, fft2d: Path, setting: tuple[str, ...]) -> None:
    options = ("--role", "--shares", "--lock", "--packer", "--transfers", "--bind")
    words = [word for pair in zip(options, setting, strict=True) for word in pair]
    done = run(mpi, fft2d, 2, "--size", "70x90", "--form", "dataflow", "--threads", 2, "--check", *words)
    assert "check=passed" in done.stdout


def test_the_timeline_has_every_block_and_the_share_that_the_program_says(
    mpi: Mpi, fft2d: Path, tmp_path: Path
) -> None:
    path = tmp_path / "timeline.json"
    words = [
        "--size",
        "256x256",
        "--form",
        "dataflow",
        "--row-blocks",
        8,
        "--link",
        "100,20",
        "--timeline",
        path,
    ]
    done = run(mpi, fft2d, 2, *words, "--repeat", 1)
    events = json.loads(path.read_text())["traceEvents"]
    names = sorted(event["name"] for event in events)
    stages = ("columns", "exchange", "exchange: pack", "exchange: unpack", "rows")
    assert names == sorted(f"{stage} {block}" for stage in stages for block in range(8))
    # Times count from the first block, finely enough to show that exchanges end before columns are computed.
    assert min(event["ts"] for event in events) == 0
    moved = max(event["ts"] + event["dur"] for event in events if event["name"].startswith("exchange"))
    assert min(event["ts"] for event in events if event["name"].startswith("columns")) >= moved - 0.01
    said = re.search(r"hidden=([\d.]+)", done.stdout)
    assert said is not None and 0 < float(said[1]) <= 1  # of both ranks; ours is rank 0's
    assert 0 < share_of(events) <= 1


def test_a_slow_link_takes_at_least_what_its_bytes_take(mpi: Mpi, fft2d: Path) -> None:
    # Each of two ranks sends half of its half: 128 x 128 of 256 x 256 numbers of 16 bytes, 100 ns each byte.
    for form in ("blocking", "dataflow", "nonblocking"):
        words = ["--size", "256x256", "--form", form, "--link", "0,100", "--repeat", 1, "--check"]
        done = run(mpi, fft2d, 2, *words)
        found = re.search(r"min_ms=([\d.]+)", done.stdout)
        assert found is not None and float(found[1]) >= 128 * 128 * 16 * 100e-6


def test_the_form_without_communication_runs(mpi: Mpi, fft2d: Path) -> None:
    done = run(mpi, fft2d, 2, "--size", "64x64", "--form", "silent", "--repeat", 2)
    assert "form=silent" in done.stdout and "check=" not in done.stdout


def test_turns_are_taken_line_by_line(mpi: Mpi, fft2d: Path) -> None:
    command = [str(mpi.mpiexec), "-n", "2", str(fft2d), "--size", "32x32", "--turns"]
    environment = {**os.environ, **mpi.env, **QUIET}
    done = subprocess.run(
        command,
        input="go\n" * 3 + "end\n",
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"ready\n(turn ms=\d+\.\d+\n){3}", done.stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--size", "8"], "--size: found '8'; allowed: 1 to 1048576 each"),
        (["--form", "fast"], "--form: found 'fast'; allowed: serial, blocking"),
        (["--link", "5"], "--link: found '5'"),
        (["--threads", "0"], "--threads: found '0'; allowed: threads of a rank that compute, 1 to 256"),
        (["--form", "serial"], "--form serial: runs on 1 rank"),
        (["--form", "silent", "--check"], "--check: found with --form silent"),
    ],
)
def test_wrong_arguments_are_one_clear_error(mpi: Mpi, fft2d: Path, words: list[str], said: str) -> None:
    done = mpi.run(2, fft2d, words, env=QUIET)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_a_result_that_cannot_be_written_is_an_error(mpi: Mpi, fft2d: Path, tmp_path: Path) -> None:
    done = mpi.run(2, fft2d, ["--size", "8x8", "--write", tmp_path / "none" / "out"], env=QUIET)
    assert done.returncode == 1
    assert "cannot be written: No such file" in done.stderr
