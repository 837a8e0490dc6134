"""The programs in apps/, run for real: right results, right counts of what they send, clear errors.

What a program should send is computed here cell by cell and packet by packet, by other means than the
program's own.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import csv
import itertools
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import ROOT, Mpi

APPS = ROOT / "apps"
DOUBLE_BYTES = 8
WARNINGS = ("-Wall", "-Wextra", "-Werror")
QUICK_BUILD = ("-O0",)
Matrix = dict[tuple[int, int], tuple[int, int]]  # (from, to) -> (bytes, messages)
Vector = tuple[int, int, int]

VELOCITIES = [c for c in itertools.product((-1, 0, 1), repeat=3) if sum(map(abs, c)) <= 2]


def build_app(mpi: Mpi, name: str, folder: Path, apps: Path = APPS, flags: Sequence[str] = WARNINGS) -> Path:
    """Build one program the way the README of apps/ says."""
    return mpi.build(folder / name, *sorted((apps / name).glob("*.cpp")), flags=flags)


def build_all(mpi: Mpi, folder: Path) -> dict[str, Path]:
    """Build both programs at once."""
    names = ("lbm", "ring")
    with ThreadPoolExecutor() as pool:
        return dict(zip(names, pool.map(lambda name: build_app(mpi, name, folder), names), strict=True))


@pytest.fixture(scope="session")
def programs(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both programs, built with this MPI library."""
    return build_all(mpi, tmp_path_factory.mktemp(mpi.name))


def read_matrix(path: Path) -> Matrix:
    """Read a count file; every ordered pair of ranks must be there exactly once."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    matrix = {(int(row["from"]), int(row["to"])): (int(row["bytes"]), int(row["count"])) for row in rows}
    ranks = 1 + max(pair[0] for pair in matrix)
    assert len(rows) == len(matrix) == ranks * ranks
    return matrix


def nonzero(matrix: Matrix) -> Matrix:
    """The pairs that exchange anything."""
    return {pair: sent for pair, sent in matrix.items() if sent != (0, 0)}


def summary(done: subprocess.CompletedProcess[str], program: str) -> dict[str, str]:
    """Read the key=value words of the one line a program ends with."""
    lines = [line for line in done.stdout.splitlines() if line.startswith(f"{program} ")]
    assert len(lines) == 1, done.stdout + done.stderr
    return dict(word.split("=", 1) for word in lines[0].split()[1:])


def extents(text: str) -> Vector:
    """Read NXxNYxNZ."""
    x, y, z = (int(number) for number in text.split("x"))
    return x, y, z


def halo_matrix(size: Vector, dims: Vector, steps: int) -> Matrix:
    """Walk every population of every cell one step and note those that change ranks."""
    part_of: list[list[int]] = []  # per axis, of each cell
    for cells, parts_along in zip(size, dims, strict=True):
        sizes = [cells // parts_along + (part < cells % parts_along) for part in range(parts_along)]
        part_of.append([part for part, many in enumerate(sizes) for _ in range(many)])

    def rank_of(parts: list[int]) -> int:
        return (parts[0] * dims[1] + parts[1]) * dims[2] + parts[2]

    sent_bytes: Counter[tuple[int, int]] = Counter()
    messages: set[tuple[int, int, tuple[int, ...]]] = set()
    for cell in itertools.product(*map(range, size)):
        parts = [part_of[axis][cell[axis]] for axis in range(3)]
        for c in VELOCITIES:
            target = [cell[axis] + c[axis] for axis in range(3)]
            target_parts = [part_of[axis][target[axis] % size[axis]] for axis in range(3)]
            pair = (rank_of(parts), rank_of(target_parts))
            if pair[0] == pair[1]:
                continue
            leaves = [
                not 0 <= target[axis] < size[axis] or part_of[axis][target[axis]] != parts[axis]
                for axis in range(3)
            ]
            sent_bytes[pair] += DOUBLE_BYTES * steps
            messages.add((*pair, tuple(c[axis] if leaves[axis] else 0 for axis in range(3))))
    counts = Counter((source, to) for source, to, _ in messages)
    return {pair: (sent_bytes[pair], counts[pair] * steps) for pair in sent_bytes}


LBM_CASES = [
    # ranks, size, dims asked for, dims expected
    (1, "8x9x7", None, "1x1x1"),
    (2, "9x8x7", None, "2x1x1"),
    (2, "4x5x6", "1x2x1", "1x2x1"),
    (3, "5x10x11", None, "1x1x3"),
    (3, "3x1x1", None, "3x1x1"),  # one cell per rank, and a cell that is its own neighbour in y and z
    (5, "13x9x10", None, "5x1x1"),
    (8, "11x9x7", None, "2x2x2"),
    (8, "2x2x2", None, "2x2x2"),  # every population leaves
    (8, "9x5x8", "2x1x4", "2x1x4"),
]


@pytest.mark.parametrize(("ranks", "size", "dims", "expected_dims"), LBM_CASES)
def test_lbm_equals_the_serial_reference_and_counts_what_crosses(
    mpi: Mpi,
    programs: dict[str, Path],
    tmp_path: Path,
    ranks: int,
    size: str,
    dims: str | None,
    expected_dims: str,
) -> None:
    steps = 7
    file = tmp_path / "counts.csv"
    arguments = ["--size", size, "--steps", steps, "--check", f"--count-file={file}"]
    done = mpi.run(ranks, programs["lbm"], arguments + (["--dims", dims] if dims else []))
    assert done.returncode == 0, done.stdout + done.stderr
    said = summary(done, "lbm")
    assert said["dims"] == expected_dims
    assert said["check"] == "passed"
    assert float(said["max_error"]) <= 1e-14
    assert nonzero(read_matrix(file)) == halo_matrix(extents(size), extents(expected_dims), steps)


def test_lbm_counts_by_hand(mpi: Mpi, programs: dict[str, Path], tmp_path: Path) -> None:
    """Two halves of an 8x8x8 box: 5 of 19 velocities cross each of the two faces of 8x8 cells."""
    file = tmp_path / "counts.csv"
    done = mpi.run(2, programs["lbm"], ["--size", "8x8x8", "--steps", 3, "--count-file", file])
    assert done.returncode == 0, done.stdout + done.stderr
    populations = 2 * 5 * 8 * 8
    messages = 2 * (1 + 4)  # a face and its four edges, on both sides
    sent = (3 * populations * DOUBLE_BYTES, 3 * messages)
    assert nonzero(read_matrix(file)) == {(0, 1): sent, (1, 0): sent}


def test_lbm_has_the_viscosity_of_the_theory(mpi: Mpi, programs: dict[str, Path]) -> None:
    """The vortex decays with viscosity (tau - 1/2)/3, wrong by the square of the cell size."""
    errors = []
    for cells, steps in ((16, 50), (32, 200)):
        arguments = ["--size", f"{cells}x{cells}x2", "--steps", steps, "--tau", 0.9, "--check"]
        done = mpi.run(2, programs["lbm"], arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        errors.append(abs(float(summary(done, "lbm")["viscosity"]) / (0.4 / 3) - 1))
    assert errors[1] < 0.005
    assert errors[0] > 3 * errors[1]


def ring_matrix(permutation: list[int], size_bytes: int, rounds: int, both: bool) -> Matrix:
    """Send each task's packets to its neighbours' ranks, hop by hop."""
    tasks = len(permutation)
    sent: Counter[tuple[int, int]] = Counter()
    for task, step in itertools.product(range(tasks), (1, -1) if both else (1,)):
        for hop in range(rounds):
            here, there = (task + hop * step) % tasks, (task + (hop + 1) * step) % tasks
            sent[permutation.index(here), permutation.index(there)] += 1
    return {pair: (count * size_bytes, count) for pair, count in sent.items()}


RING_CASES = [
    # ranks, bytes, rounds, direction, permutation
    (1, 1024, 37, "bi", None),
    (2, 512, 37, "bi", None),
    (2, 2048, 1, "uni", [1, 0]),
    (3, 1024, 38, "bi", [0, 2, 1]),
    (3, 300_001, 11, "bi", None),  # too large to be sent before the receiver is ready
    (5, 16, 104, "uni", [3, 0, 4, 2, 1]),
    (8, 512, 37, "bi", [0, 5, 2, 7, 4, 1, 6, 3]),
]


@pytest.mark.parametrize(("ranks", "size_bytes", "rounds", "direction", "permutation"), RING_CASES)
def test_ring_delivers_every_packet_and_counts_its_hops(
    mpi: Mpi,
    programs: dict[str, Path],
    tmp_path: Path,
    ranks: int,
    size_bytes: int,
    rounds: int,
    direction: str,
    permutation: list[int] | None,
) -> None:
    file = tmp_path / "counts.csv"
    arguments = ["--bytes", size_bytes, "--rounds", rounds, "--direction", direction, "--count-file", file]
    if permutation:
        arguments += ["--permutation", ",".join(map(str, permutation))]
    done = mpi.run(ranks, programs["ring"], arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    said = summary(done, "ring")
    tasks = permutation or list(range(ranks))
    assert said["wrong_packets"] == "0"
    assert said["permutation"] == ",".join(map(str, tasks))
    rank_lines = [line.split() for line in done.stdout.splitlines() if line.startswith("rank ")]
    assert [(int(line[1]), int(line[3])) for line in rank_lines] == list(enumerate(tasks))
    assert all(float(line[5]) > 0 for line in rank_lines)
    assert nonzero(read_matrix(file)) == ring_matrix(tasks, size_bytes, rounds, direction == "bi")


WRONG = [
    ("lbm", ["--size", "8x8"], "--size: found '8x8'"),
    ("lbm", ["--size", "8x0x8"], "--size: found '8x0x8'"),
    ("lbm", ["--steps"], "--steps: a value is missing"),
    ("lbm", ["--steps", "-1"], "--steps: found '-1'"),
    ("lbm", ["--tau", "0.5"], "--tau: found '0.5'"),
    ("lbm", ["--tau=nan"], "--tau: found 'nan'"),
    ("lbm", ["--dims", "2x2x1"], "--dims: 2x2x1 is 4 ranks, the program has 2"),
    ("lbm", ["--dims", "1x2x1", "--size", "8x1x8"], "leave some without cells"),
    ("lbm", ["--check=yes"], "--check: takes no value"),
    ("lbm", ["--sizes", "8x8x8"], "unknown option '--sizes', known are --size,"),
    ("ring", ["--bytes", "15"], "--bytes: found '15'"),
    ("ring", ["--bytes", "1k"], "--bytes: found '1k'"),
    ("ring", ["--rounds", "0"], "--rounds: found '0'"),
    ("ring", ["--direction", "both"], "--direction: found 'both'; allowed: bi"),
    ("ring", ["--permutation", "0,0"], "--permutation: found '0,0'"),
    ("ring", ["--permutation", "0,2"], "--permutation: found '0,2'"),
    ("ring", ["--permutation", "0,1,2"], "--permutation: found '0,1,2'"),
    ("ring", ["fast"], "unknown option 'fast'"),
]


@pytest.mark.parametrize(("program", "arguments", "message"), WRONG)
def test_wrong_arguments_give_one_error(
    mpi: Mpi, programs: dict[str, Path], program: str, arguments: list[str], message: str
) -> None:
    done = mpi.run(2, programs[program], arguments, timeout=600)
    errors = [line for line in done.stderr.splitlines() if line.startswith(f"{program}: ")]
    assert done.returncode == 2
    assert len(errors) == 1, done.stderr
    assert message in errors[0]


@pytest.mark.parametrize("program", ["lbm", "ring"])
def test_a_count_file_that_cannot_be_created_is_refused_before_the_run(
    mpi: Mpi, programs: dict[str, Path], tmp_path: Path, program: str
) -> None:
    file = tmp_path / "missing" / "counts.csv"
    done = mpi.run(2, programs[program], ["--count-file", file], timeout=600)
    assert done.returncode == 2
    assert f"{program}: --count-file: cannot create '{file}'" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("program", ["lbm", "ring"])
def test_a_count_file_that_cannot_be_written_fails_the_run(
    mpi: Mpi, programs: dict[str, Path], program: str
) -> None:
    small = {"lbm": ["--size", "4x4x4"], "ring": ["--rounds", "4"]}[program]
    done = mpi.run(2, programs[program], [*small, "--count-file", "/dev/full"], timeout=600)
    assert done.returncode == 1
    assert f"{program}: --count-file: cannot write '/dev/full'" in done.stderr


def test_programs_build_and_run_on_the_standard_abi(mpi_abi: Mpi, tmp_path: Path) -> None:
    programs = build_all(mpi_abi, tmp_path)
    counts = tmp_path / "counts.csv"
    done = mpi_abi.run(
        4, programs["lbm"], ["--size", "6x7x5", "--check", "--steps", 3, "--count-file", counts]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert nonzero(read_matrix(counts)) == halo_matrix((6, 7, 5), extents(summary(done, "lbm")["dims"]), 3)
    done = mpi_abi.run(3, programs["ring"], ["--rounds", 100])
    assert done.returncode == 0, done.stdout + done.stderr


MUTATIONS = [
    ("lbm", "halo.cpp", "link.incoming[i]", "link.incoming[0]", ["--size", "8x8x8", "--check"]),
    ("ring", "stream.hpp", "std::swap(sent_, received_);", "", ["--rounds", "4"]),
]


@pytest.mark.parametrize(("program", "file", "right", "wrong", "arguments"), MUTATIONS)
def test_the_programs_own_checks_can_fail(
    mpi_abi: Mpi, tmp_path: Path, program: str, file: str, right: str, wrong: str, arguments: list[str]
) -> None:
    """With one line of its communication spoilt, a program says so."""
    apps = Path(shutil.copytree(APPS, tmp_path / "apps"))
    source = apps / program / file
    assert source.read_text().count(right) == 1
    source.write_text(source.read_text().replace(right, wrong))
    done = mpi_abi.run(2, build_app(mpi_abi, program, tmp_path, apps, QUICK_BUILD), arguments)
    assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.parametrize("program", ["lbm", "ring"])
def test_help_lists_every_option_once(mpi: Mpi, programs: dict[str, Path], program: str) -> None:
    done = mpi.run(2, programs[program], ["--help"])
    assert done.returncode == 0
    assert done.stdout.count("usage:") == 1
    assert done.stdout.count("--count-file") == 1
