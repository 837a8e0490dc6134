"""Memory of MPI_Alloc_mem and of shared windows, which all ranks of a node map: no byte differs.

SPDX-License-Identifier: BSD-3-Clause
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import accelerating_runs as runs
import pytest

pytestmark = pytest.mark.first_test

SHORT = (300, 100_000)
"""Calls, and the largest block in bytes."""
LONG = (1500, 1_000_000)
TIMEOUT_S = 300.0
TRAP = "traps/mapped_memory.c"
WINDOWS = "shared_windows.c"
QUIET = {"OMPI_MCA_osc": "^ucx"}
"""Open MPI complains of a device that no node needs."""
FROM_THE_FIRST = {"COREWISE_ACCELERATE_AFTER": "0"}
LENDING = (
    *("MPI_Bcast", "MPI_Allreduce", "MPI_Reduce", "MPI_Scan", "MPI_Exscan"),
    "MPI_Reduce_scatter_block",
)
"""What is done in such memory."""
OTHER_TABLE = (
    "barrier=-:dissemination;broadcast=-:root_stage;allreduce=-:one_shot;reduce=-:peer_stages/piece=4096;"
    "scan=-:chain/piece=16384;exscan=-:chain/piece=16384;reduce_scatter_block=-:pairwise/piece=4096;"
    "allgather=-:one_copy/min_piece=64;alltoall=-:one_copy/min_piece=64"
)


def lent(ran: runs.Ran) -> list[int]:
    """Calls in such memory, of each rank."""
    return [sum(ran.mapped[rank].values()) for rank in sorted(ran.mapped)]


def fitting(ran: runs.Ran) -> int:
    """How many calls the program says could be."""
    return next(int(line.split()[1]) for line in ran.done.stdout.splitlines() if line.startswith("fitting:"))


def trap(
    name: str, n: int, folder: Path, *words: str, file: str = "mapped_memory.c", **more: str
) -> runs.Ran:
    """A program of ``traps/``, which checks its own results."""
    program = runs.program(name, f"traps/{file}")
    ran = runs.run(name, n, [program, *words], folder, {**FROM_THE_FIRST, **more}, timeout=TIMEOUT_S)
    assert "right" in ran.succeeded().done.stdout.splitlines()
    return ran


def random(name: str, n: int, seed: int, sizes: tuple[int, int], folder: Path, **more: str) -> runs.Ran:
    """Random collectives in such memory and in other; no byte differs."""
    calls, most = sizes
    words = [runs.program(name, "random_collectives.cpp"), seed, calls, most, "mapped"]
    ran = runs.run(name, n, words, folder, {**FROM_THE_FIRST, **more}, timeout=TIMEOUT_S).succeeded()
    assert f"{calls} calls, 0 wrong" in ran.done.stdout
    return ran


@pytest.mark.parametrize("name", runs.NAMES)
def test_the_program_is_right_without_the_library(name: str) -> None:
    words = [runs.program(name, TRAP), "forks"]
    done = runs.run(name, 2, words, timeout=TIMEOUT_S).succeeded().done
    assert "right" in done.stdout.splitlines()


@pytest.mark.parametrize(("name", "n"), [("openmpi", 2), ("openmpi", 5), ("mpich", 3), ("mpich", 4)])
def test_calls_in_mapped_memory_are_right_and_all_are_done_there(name: str, n: int, tmp_path: Path) -> None:
    """Broadcasts whose root has such memory, reductions where all have: those, and no others."""
    ran = trap(name, n, tmp_path, "forks")
    assert fitting(ran) >= 16
    assert lent(ran) == [fitting(ran)] * n
    assert {procedure for calls in ran.mapped.values() for procedure in calls} == set(LENDING)


@pytest.mark.parametrize("name", runs.NAMES)
def test_the_program_of_windows_is_right_without_the_library(name: str) -> None:
    words = [runs.program(name, f"traps/{WINDOWS}")]
    done = runs.run(name, 3, words, env=QUIET, timeout=TIMEOUT_S).succeeded().done
    assert "right" in done.stdout.splitlines()


@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (3, 4))])
def test_segments_of_shared_windows_are_mapped_memory(name: str, n: int, tmp_path: Path) -> None:
    """In all communicators whose ranks all have the window, as long as it lives."""
    ran = trap(name, n, tmp_path, file=WINDOWS, **QUIET)
    assert fitting(ran) > 20
    assert lent(ran)[1:] == [fitting(ran)] * (n - 1)
    assert 0 < lent(ran)[0] < fitting(ran)  # alone in its part


@pytest.mark.parametrize("name", runs.NAMES)
def test_address_space_with_a_limit_is_left_to_the_program(name: str, tmp_path: Path) -> None:
    """Of one rank: it has no place for its own heap or for its peer's, so nobody lends."""
    ran = trap(name, 2, tmp_path, file="limited_space.c")
    assert lent(ran) == [0, 0]
    assert ran.taken() == runs.PROCEDURES


@pytest.mark.parametrize("name", runs.NAMES)
def test_memory_is_there_for_what_is_used(name: str, tmp_path: Path) -> None:
    """Of 512 MiB a MiB and a few pages."""
    ran = trap(name, 2, tmp_path, file="sparse_memory.c")
    said = next(line for line in ran.done.stdout.splitlines() if line.startswith("backed:"))
    assert 1024 <= int(said.split()[1]) < 4096


def test_by_other_algorithms(tmp_path: Path) -> None:
    ran = trap("mpich", 2, tmp_path, COREWISE_ACCELERATE=OTHER_TABLE)
    assert lent(ran) == [fitting(ran)] * 2


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    assert lent(trap("mpich", 2, tmp_path, COREWISE_ACCELERATE_MAPPED="off")) == [0, 0]


@pytest.mark.parametrize("name", runs.NAMES)
def test_where_one_rank_has_none_nobody_lends(name: str, tmp_path: Path) -> None:
    """Rank 1 may have no files of such length; its stage is short enough."""
    program = runs.program(name, TRAP)
    words = [program, "short-files"]
    ran = runs.run(name, 3, words, tmp_path, FROM_THE_FIRST, timeout=TIMEOUT_S).succeeded()
    assert lent(ran) == [0] * 3
    assert ran.taken() >= set(LENDING)


@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (2, 3)), ("mpich", 5), ("openmpi", 8)])
def test_no_byte_differs(name: str, n: int, tmp_path: Path) -> None:
    ran = random(name, n, 70 + n, SHORT if n < 8 else (150, 30_000), tmp_path)
    assert ran.taken() == runs.PROCEDURES
    assert n == 8 or sum(lent(ran)) > 0


def test_no_byte_differs_by_one_copy(tmp_path: Path) -> None:
    """What lies in mapped memory is copied by the rank itself, the rest by the system."""
    random("mpich", 3, 77, SHORT, tmp_path, COREWISE_ACCELERATE=OTHER_TABLE)


@pytest.mark.long_test
@pytest.mark.parametrize(("name", "n"), [*product(runs.NAMES, (2, 3, 4, 5, 8))])
def test_no_byte_differs_in_long_runs(name: str, n: int, tmp_path: Path) -> None:
    assert sum(lent(random(name, n, 500 + n, LONG, tmp_path))) > 0
