"""The overlap library from outside: installed with its CMake package, used by a program of somebody else's.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Mpi

HERE = Path(__file__).resolve().parent
NUMBERS = 1000
"""Of a block, in outside/main.cpp."""


def cmake(*words: object) -> None:
    command = [str(Path(sys.executable).parent / "cmake"), *map(str, words)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library is installed."""
    folder = tmp_path_factory.mktemp("overlap")
    cmake("-S", ROOT / "src" / "overlap", "-B", folder / "build")
    cmake("--install", folder / "build", "--prefix", folder / "installed")
    return folder / "installed"


@pytest.fixture(scope="module")
def outside(mpi: Mpi, prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, from sources that lie outside the tree."""
    folder = tmp_path_factory.mktemp(f"outside-{mpi.name}")
    for name in ("CMakeLists.txt", "main.cpp"):
        (folder / name).write_text((HERE / "outside" / name).read_text())
    cmake(
        *("-S", folder, "-B", folder / "build", f"-DCMAKE_CXX_COMPILER={mpi.mpicxx}"),
        *(f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"),
    )
    cmake("--build", folder / "build")
    return folder / "build" / "outside"


@pytest.mark.parametrize(
    ("role", "packer"), list(itertools.product(("dedicated", "mixed"), ("worker", "communicator")))
)
def test_a_program_from_outside_gets_every_block(mpi: Mpi, outside: Path, role: str, packer: str) -> None:
    ranks, blocks = 3, 8
    done = mpi.run(ranks, outside, [blocks, role, packer])
    assert done.returncode == 0, done.stdout + done.stderr
    squares = sum(i * i for i in range(NUMBERS))
    expected = blocks * sum(squares + NUMBERS * rank for rank in range(ranks))
    assert done.stdout.split() == ["sum", str(expected)]


@pytest.mark.parametrize("role", ["dedicated", "mixed"])
def test_a_communicator_that_fails_ends_all_ranks(mpi: Mpi, outside: Path, role: str, tmp_path: Path) -> None:
    """The others wait for messages that never come."""
    # A launcher that ends a job may lose what it has not yet handed on, so what is said goes into a file.
    said = tmp_path / "said"
    script = 'said=$1; shift; exec "$@" 2>>"$said"'
    words = ["-c", script, "sh", said, outside, 8, role, "worker", "fail"]
    done = mpi.run(2, "/bin/sh", words, timeout=300)
    assert done.returncode != 0
    assert "outside: rank 1: stage 'shift', block 4: the communicator has lost its way" in said.read_text()
    assert "sum" not in done.stdout
